// This module's coder reads and writes a JSONValue directly. The code below is for other coders,
// which have no text for a number and may not keep the order of members.

extension JSONValue: Decodable {
    package init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: JSONPathKey.self) {
            self = .object(
                try container.allKeys.map {
                    Member(
                        key: $0.stringValue,
                        value: try container.decode(JSONValue.self, forKey: $0))
                })
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
            self = .array(elements)
        } else {
            self = try Self.scalar(try decoder.singleValueContainer())
        }
    }

    // Uses `try?`: Codable has no other way to determine the kind of a value.
    private static func scalar(
        _ container: any SingleValueDecodingContainer
    ) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(String.self) { return .string(value) }
        if let value = try? container.decode(Int64.self) { return .number(String(value)) }
        if let value = try? container.decode(UInt64.self) { return .number(String(value)) }
        return .number(try container.decode(Double.self).description)
    }
}

extension JSONValue: Encodable {
    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .object(let members):
            var container = encoder.container(keyedBy: JSONPathKey.self)
            for member in members {
                try container.encode(member.value, forKey: JSONPathKey(member.key))
            }
        default:
            var container = encoder.singleValueContainer()
            try encodeScalar(to: &container)
        }
    }

    private func encodeScalar(to container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .bool(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .number(let text):
            if let value = Int64(text) {
                try container.encode(value)
            } else if let value = UInt64(text) {
                try container.encode(value)
            } else if let value = Double(text) {
                try container.encode(value)
            } else {
                throw EncodingError.invalidValue(
                    text,
                    .init(codingPath: container.codingPath, debugDescription: "not a number"))
            }
        default: try container.encodeNil()
        }
    }
}
