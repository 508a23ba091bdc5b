#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

extension JSONDocument {
    /// A value of any type. Some types have another form in JSON than their own `Codable` produces:
    /// the default form of `JSONEncoder`, except that a `Date` is text (RFC 3339).
    func value<Value: Decodable>(_ type: Value.Type, at node: Int) throws -> Value {
        if isSpecial(type) { return try special(type, at: node) }
        do {
            return try Value(from: JSONNodeDecoder(document: self, node: UInt32(node), type: type))
        } catch {
            if let tagError {
                self.tagError = nil
                throw tagError
            }
            blame(node)
            throw error
        }
    }

    private func isSpecial(_ type: any Any.Type) -> Bool {
        type == Data.self || type == URL.self || type == Decimal.self || type == Date.self
            || type == JSONValue.self
    }

    private func special<Value>(_ type: Value.Type, at node: Int) throws -> Value {
        let value: Any =
            if type == Data.self {
                try data(at: node)
            } else if type == URL.self {
                try url(at: node)
            } else if type == Decimal.self {
                try decimal(at: node)
            } else if type == Date.self {
                try date(at: node)
            } else {
                tree(at: node)
            }
        guard let value = value as? Value else { preconditionFailure("isSpecial lists it") }
        return value
    }

    func string(at node: Int) throws -> String {
        guard nodes[node].kind == .string else { throw mismatch(String.self, "a string", at: node) }
        return text(at: node)
    }

    func bool(at node: Int) throws -> Bool {
        switch nodes[node].kind {
        case .true: true
        case .false: false
        default: throw mismatch(Bool.self, "a boolean", at: node)
        }
    }

    func isNull(at node: Int) -> Bool {
        nodes[node].kind == .null
    }

    private func data(at node: Int) throws -> Data {
        guard let data = Data(base64Encoded: try string(at: node)) else {
            throw corrupted("the string is not Base64", at: node)
        }
        return data
    }

    private func url(at node: Int) throws -> URL {
        guard let url = URL(string: try string(at: node)) else {
            throw corrupted("the string is not a URL", at: node)
        }
        return url
    }

    private func decimal(at node: Int) throws -> Decimal {
        guard nodes[node].kind == .number else {
            throw mismatch(Decimal.self, "a number", at: node)
        }
        guard let decimal = Decimal(string: text(at: node)), decimal.isFinite else {
            throw corrupted("the number is out of the range of Decimal", at: node)
        }
        return decimal
    }

    /// A date as RFC 3339, or as seconds since 2001 as Foundation writes it.
    private func date(at node: Int) throws -> Date {
        guard nodes[node].kind == .string else {
            guard nodes[node].kind == .number else {
                throw mismatch(Date.self, "a date as in RFC 3339, or a number", at: node)
            }
            return Date(timeIntervalSinceReferenceDate: try double(at: node))
        }
        guard let seconds = JSONDate.seconds(text(at: node)) else {
            throw corrupted("the string is not a date as in 2026-11-22T07:30:00.000Z", at: node)
        }
        return Date(timeIntervalSinceReferenceDate: seconds)
    }

    func tree(at index: Int) -> JSONValue {
        let node = nodes[index]
        switch node.kind {
        case .null: return .null
        case .false: return .bool(false)
        case .true: return .bool(true)
        case .number: return .number(text(at: index))
        case .string: return .string(text(at: index))
        case .array:
            var elements: [JSONValue] = []
            var place = index + 1
            while place < Int(node.next) {
                elements.append(tree(at: place))
                place = Int(nodes[place].next)
            }
            return .array(elements)
        case .object:
            var members: [JSONValue.Member] = []
            var place = index + 1
            while place < Int(node.next) {
                members.append(.init(key: text(at: place), value: tree(at: place + 1)))
                place = Int(nodes[place + 1].next)
            }
            return .object(members)
        }
    }
}
