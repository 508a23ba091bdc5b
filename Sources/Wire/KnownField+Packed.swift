/// Finds a known field by the bytes of its name.
///
/// Design: a name is at most four words of eight lower-case bytes, first byte lowest, padded with
/// zeros; so one comparison covers eight letters, without hashing or allocation.
extension KnownField {
    /// A lower-cased name of up to 32 bytes, packed.
    struct PackedName: Equatable {
        var first: UInt64 = 0
        var second: UInt64 = 0
        var third: UInt64 = 0
        var fourth: UInt64 = 0
    }

    static let longestName = 32

    /// The known names by their lengths; at most five have the same.
    private static let byLength: [[(name: PackedName, field: KnownField)]] = {
        var fields = [[(name: PackedName, field: KnownField)]](
            repeating: [], count: longestName + 1)
        for field in allCases {
            let bytes = Array(field.name.lowercased().utf8)
            let words = [0, 8, 16, 24].map { start in
                start < bytes.count
                    ? bytes.span.word(at: start, count: min(8, bytes.count - start)) : 0
            }
            let name = PackedName(
                first: words[0], second: words[1], third: words[2], fourth: words[3])
            fields[bytes.count].append((name, field))
        }
        return fields
    }()

    /// Finds the field; returns nil if the name is not known.
    ///
    /// - Parameter length: The name's length in bytes, at most ``longestName``.
    static func named(_ name: PackedName, length: Int) -> KnownField? {
        let candidates = byLength[length]
        for index in candidates.indices where candidates[index].name == name {
            return candidates[index].field
        }
        return nil
    }
}
