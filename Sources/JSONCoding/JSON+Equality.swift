extension JSON {
    /// Whether two texts are one JSON value.
    ///
    /// The order of members does not matter. Numbers are compared by their exact decimal value:
    /// `1`, `1.0` and `10e-1` are equal, `0.1` and `0.1000000000000000055` are not. Texts and the
    /// names of members are compared byte by byte, after their escapes are resolved. Bytes that are
    /// not JSON are equal only to the same bytes.
    package static func areSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        if one == other { return true }
        guard let one = try? decode(JSONValue.self, stored: one),
            let other = try? decode(JSONValue.self, stored: other)
        else { return false }
        return one.isSame(as: other)
    }
}

extension JSONValue {
    fileprivate func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number(let one), .number(let other)):
            JSONDecimal(Array(one.utf8)[...]).isSame(as: JSONDecimal(Array(other.utf8)[...]))
        case (.array(let one), .array(let other)):
            one.elementsEqual(other) { $0.isSame(as: $1) }
        case (.object(let one), .object(let other)):
            Self.sorted(one).elementsEqual(Self.sorted(other)) {
                $0.key.utf8.elementsEqual($1.key.utf8) && $0.value.isSame(as: $1.value)
            }
        default: self == other
        }
    }

    private static func sorted(_ members: [Member]) -> [Member] {
        members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }
}
