/// Any JSON value, unchanged: for tests, examples and untyped use.
///
/// Numbers keep their text and members their order, also for equality: `1` is not `1.0`, and
/// `{"a":1,"b":2}` is not `{"b":2,"a":1}`. Texts are equal byte by byte (RFC 8259 §8.3).
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    /// The number's text, by the grammar of RFC 8259 §6; any other text cannot be encoded.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    package struct Member: Sendable, Hashable {
        package var key: String
        package var value: JSONValue

        package init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }

        package static func == (one: Member, other: Member) -> Bool {
            one.key.utf8.elementsEqual(other.key.utf8) && one.value == other.value
        }
    }

    /// The value of an object's first member with that name; nil for any other value.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key.utf8.elementsEqual(key.utf8) }?.value
    }

    /// An array's element; nil for any other value, and for an index past the end.
    package subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else {
            return nil
        }
        return elements[index]
    }
}

// Hashing still uses Swift's strings: equal values have equal hashes.
extension JSONValue {
    package static func == (one: JSONValue, other: JSONValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)), (.string(let one), .string(let other)):
            one.utf8.elementsEqual(other.utf8)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    package init(nilLiteral: ()) { self = .null }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int) { self = .number(String(value)) }
    package init(stringLiteral value: String) { self = .string(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(members.map { Member(key: $0.0, value: $0.1) })
    }
}

// Only this module's coder supports JSONValue, and it does so directly. Another coder does not give
// the text of a number, and might not keep the order of members.
extension JSONValue: Codable {
    /// Fails.
    package init(from decoder: any Decoder) throws {
        throw DecodingError.typeMismatch(
            JSONValue.self,
            .init(codingPath: decoder.codingPath, debugDescription: Self.otherCoder))
    }

    /// Fails.
    package func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            self, .init(codingPath: encoder.codingPath, debugDescription: Self.otherCoder))
    }

    private static let otherCoder = "only this package's JSON coder supports JSONValue"
}
