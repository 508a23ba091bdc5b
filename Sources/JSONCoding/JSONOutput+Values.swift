#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

extension JSONOutput {
    mutating func append(_ value: Bool) {
        JSONText.append(value, to: &out)
    }

    mutating func append(_ value: String) {
        JSONText.append(value, to: &out)
    }

    mutating func appendNull() {
        out.append(contentsOf: "null".utf8)
    }

    mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        JSONText.append(value, to: &out)
    }

    /// The shortest text that reads back as the same number; `1.0` is `1`.
    mutating func append<Value: BinaryFloatingPoint & LosslessStringConvertible>(_ value: Value)
        throws
    {
        guard value.isFinite else { throw invalid(value, "\(value) is not a JSON number") }
        if value.magnitude < 0x1p53, value == value.rounded(.towardZero),
            !(value == 0 && value.sign == .minus)
        {
            return append(Int64(value))
        }
        let text = value.description
        out.append(contentsOf: (text.hasSuffix(".0") ? text.dropLast(2) : text[...]).utf8)
    }

    /// The types that have another form in JSON than their own `Codable` produces.
    static func isSpecial<Value>(_ type: Value.Type) -> Bool {
        type == Data.self || type == URL.self || type == Decimal.self || type == Date.self
            || type == JSONValue.self
    }

    mutating func appendSpecial<Value: Encodable>(_ value: Value) throws {
        switch value {
        case let data as Data: append(data.base64EncodedString())
        case let url as URL: append(url.absoluteString)
        case let decimal as Decimal:
            guard decimal.isFinite else { throw invalid(decimal, "NaN is not a JSON number") }
            out.append(contentsOf: decimal.description.utf8)
        case let date as Date: try append(date)
        case let tree as JSONValue: try append(tree, depth: depth)
        default: preconditionFailure("isSpecial lists it")
        }
    }

    /// RFC 3339 in UTC with milliseconds; seconds since 2001 for dates outside its range.
    private mutating func append(_ date: Date) throws {
        let seconds = date.timeIntervalSinceReferenceDate
        guard !JSONDate.append(seconds, to: &out) else { return }
        try append(seconds)
    }

    /// - Parameter depth: The number of arrays and objects around it.
    private mutating func append(_ tree: JSONValue, depth: Int) throws {
        switch tree {
        case .array, .object:
            guard depth < JSONScanner.depthLimit else { throw invalid(tree, Self.tooDeep) }
        default: break
        }
        switch tree {
        case .null: appendNull()
        case .bool(let value): append(value)
        case .string(let text): append(text)
        case .number(let text): try appendNumber(text)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (place, element) in elements.enumerated() {
                if place > 0 { out.append(UInt8(ascii: ",")) }
                try append(element, depth: depth + 1)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (place, member) in members.enumerated() {
                if place > 0 { out.append(UInt8(ascii: ",")) }
                append(member.key)
                out.append(UInt8(ascii: ":"))
                try append(member.value, depth: depth + 1)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    private mutating func appendNumber(_ text: String) throws {
        var scanner = JSONScanner(Array(text.utf8))
        do throws(JSONRefusal) {
            try scanner.scan()
        } catch {
            throw invalid(text, "\"\(text)\" is not a number")
        }
        guard scanner.nodes[0].kind == .number, scanner.nodes[0].end == text.utf8.count,
            scanner.nodes[0].start == 0
        else { throw invalid(text, "\"\(text)\" is not a number") }
        out.append(contentsOf: text.utf8)
    }
}
