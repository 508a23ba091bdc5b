// Comparisons of bytes, eight at a time.
extension JSONText {
    /// The number of equal bytes at the beginning.
    static func equalBeginning(_ one: [UInt8], _ other: [UInt8]) -> Int {
        equalCount(one, from: 0, other, from: 0, upTo: min(one.count, other.count))
    }

    /// The number of equal bytes at the end, at most `limit`.
    static func equalEnd(_ one: [UInt8], _ other: [UInt8], below limit: Int) -> Int {
        unsafe one.withUnsafeBytes { one in
            unsafe other.withUnsafeBytes { other in
                var count = 0
                while count + 8 <= limit,
                    unsafe one.loadUnaligned(
                        fromByteOffset: one.count - count - 8, as: UInt64.self)
                        == other.loadUnaligned(
                            fromByteOffset: other.count - count - 8, as: UInt64.self)
                {
                    count += 8
                }
                while count < limit,
                    unsafe one[one.count - count - 1] == other[other.count - count - 1]
                {
                    count += 1
                }
                return count
            }
        }
    }

    static func areEqual(
        _ one: [UInt8], _ range: Range<Int>, _ other: [UInt8], _ range2: Range<Int>
    ) -> Bool {
        range.count == range2.count
            && equalCount(
                one, from: range.lowerBound, other, from: range2.lowerBound, upTo: range.count)
                == range.count
    }

    /// The number of equal bytes from two places on.
    ///
    /// - Precondition: both arrays have `limit` bytes there.
    private static func equalCount(
        _ one: [UInt8], from start: Int, _ other: [UInt8], from start2: Int, upTo limit: Int
    ) -> Int {
        unsafe one.withUnsafeBytes { one in
            unsafe other.withUnsafeBytes { other in
                var count = 0
                while count + 8 <= limit,
                    unsafe one.loadUnaligned(fromByteOffset: start + count, as: UInt64.self)
                        == other.loadUnaligned(fromByteOffset: start2 + count, as: UInt64.self)
                {
                    count += 8
                }
                while count < limit, unsafe one[start + count] == other[start2 + count] {
                    count += 1
                }
                return count
            }
        }
    }

    /// A hash for which a peer cannot choose collisions: `Hasher` is seeded per process.
    static func hash(_ bytes: [UInt8], _ range: Range<Int>) -> Int {
        var hasher = Hasher()
        unsafe bytes[range].withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}
