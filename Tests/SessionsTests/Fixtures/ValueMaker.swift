import JSONCoding
import TestRandomness

/// Makes values that fit a schema: the bounds of ranges, the unusual texts, missing and additional
/// members. It reads keywords alone, and knows nothing of the types that the schema is of.
struct ValueMaker {
    private var random: SeededGenerator
    private let root: JSONValue

    init(seed: UInt64, root: JSONValue) {
        random = SeededGenerator(seed: seed)
        self.root = root
    }

    mutating func value() -> JSONValue { value(root, depth: 0) }

    private mutating func value(_ schema: JSONValue, depth: Int) -> JSONValue {
        if case .string(let reference)? = schema["$ref"] {
            let name = String(reference.dropFirst("#/$defs/".count))
            return value(root["$defs"]?[name] ?? .null, depth: depth)
        }
        if let constant = schema["const"] { return constant }
        if case .array(let values)? = schema["enum"] { return pick(values) }
        if case .array(let parts)? = schema["oneOf"] ?? schema["anyOf"] {
            return value(pick(parts), depth: depth)
        }
        let types: [JSONValue]
        switch schema["type"] {
        case .array(let several)?: types = several
        case let one?: types = [one]
        case nil: types = ["null", "boolean", "string", "integer", "number"]
        }
        switch pick(types) {
        case "null": return .null
        case "boolean": return .bool(Bool.random(using: &random))
        case "integer": return integer(schema)
        case "number": return number(schema)
        case "array": return array(schema, depth)
        case "object": return object(schema, depth)
        default: return .string(text())
        }
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    private mutating func integer(_ schema: JSONValue) -> JSONValue {
        let least = bound(schema["minimum"]) ?? -(1 << 100)
        let most = bound(schema["maximum"]) ?? 1 << 100
        let few = [least, least + 1, -1, 0, 1, most - 1, most]
        let number = pick(
            few.filter { (least...most).contains($0) } + [.random(in: least...most, using: &random)]
        )
        return .number(Bool.random(using: &random) ? "\(number)" : "\(number).0")
    }

    private func bound(_ value: JSONValue?) -> Int128? {
        guard case .number(let text)? = value else { return nil }
        return Int128(text)
    }

    private mutating func number(_ schema: JSONValue) -> JSONValue {
        if case .number(let least)? = schema["minimum"], case .number(let most)? = schema["maximum"]
        {
            return .number(pick([least, most, "0", "-0.0", "1.5e-9"]))
        }
        return .number(
            pick(["0", "-0.0", "3.25", "1e300", "-1.7976931348623157e308", "12345678901234567890"]))
    }

    private mutating func text() -> String {
        pick([
            "", " ", "a", "null", "\0", "\u{7F}\u{85}", "\"\\/\n", "ä€𝄞e\u{301}", "\u{FFFF}",
            String(repeating: "x", count: 300),
        ])
    }

    private mutating func array(_ schema: JSONValue, _ depth: Int) -> JSONValue {
        let count = depth > 6 ? 0 : Int.random(in: 0...3, using: &random)
        return .array(
            (0..<count).map { _ in value(schema["items"] ?? .object([]), depth: depth + 1) })
    }

    private mutating func object(_ schema: JSONValue, _ depth: Int) -> JSONValue {
        var members: [JSONValue.Member] = []
        var required: [JSONValue] = []
        if case .array(let names)? = schema["required"] { required = names }
        if case .object(let properties)? = schema["properties"] {
            for property in properties
            where required.contains(.string(property.key)) || Bool.random(using: &random) {
                members.append(
                    .init(key: property.key, value: value(property.value, depth: depth + 1)))
            }
        }
        if schema["additionalProperties"] != false, depth <= 6 {
            for name in names(schema).shuffled(using: &random).prefix(2)
            where !(members.contains { $0.key == name }) && schema["properties"]?[name] == nil {
                let part = schema["additionalProperties"] ?? .object([])
                members.append(.init(key: name, value: value(part, depth: depth + 1)))
            }
        }
        return .object(members.shuffled(using: &random))
    }

    /// Names for additional members.
    private func names(_ schema: JSONValue) -> [String] {
        guard let limits = schema["propertyNames"] else { return ["", "additional", "_0", "x y"] }
        guard case .array(let values)? = limits["enum"] else { return ["0", "-7", "123456"] }
        return values.compactMap {
            guard case .string(let name) = $0 else { return nil }
            return name
        }
    }
}
