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
    /// Whether both are the same value, as in ``JSON/areSame(_:_:)``.
    func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number(let one), .number(let other)):
            JSONDecimal(Array(one.utf8)[...]).isSame(as: JSONDecimal(Array(other.utf8)[...]))
        case (.array(let one), .array(let other)):
            one.count == other.count && one.elementsEqual(other) { $0.isSame(as: $1) }
        case (.object(let one), .object(let other)): Self.areSame(one, other)
        default: self == other
        }
    }

    private static func areSame(_ one: [Member], _ other: [Member]) -> Bool {
        guard one.count == other.count else { return false }
        // Most objects have their members in the same order.
        let equal = zip(one, other).prefix { JSONText.areEqual($0.key, $1.key) }.count
        guard zip(one[..<equal], other).allSatisfy({ $0.value.isSame(as: $1.value) }) else {
            return false
        }
        return equal == one.count || haveSame(one[equal...], other[equal...])
    }

    /// Whether members in different orders are the same; false if a name occurs twice.
    private static func haveSame(_ one: ArraySlice<Member>, _ other: ArraySlice<Member>) -> Bool {
        var table = JSONKeyTable(forKeys: one.count)
        for (index, member) in one.enumerated() {
            let isNew = table.add(index + 1, JSONKeyTable.hash(of: member.key)) {
                JSONText.areEqual(one[one.startIndex + $0 - 1].key, member.key)
            }
            guard isNew else { return false }
        }
        var isFound = Array(repeating: false, count: one.count)
        return other.allSatisfy { member in
            let found = table.first(JSONKeyTable.hash(of: member.key)) {
                JSONText.areEqual(one[one.startIndex + $0 - 1].key, member.key)
            }
            guard let found, !isFound[found - 1] else { return false }
            isFound[found - 1] = true
            return one[one.startIndex + found - 1].value.isSame(as: member.value)
        }
    }
}
