// The only three places in this module that access memory directly: reading eight bytes at once,
// appending bytes at once, and the text of a literal.

extension Span<UInt8> {
    /// Eight bytes as a number, the first byte lowest; traps if fewer than eight are left.
    ///
    /// The library checks the load against the span's bounds, and any bit pattern is valid. It is
    /// marked unsafe because the same call could read a type with invalid bit patterns.
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        unsafe UInt64(
            littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Up to eight bytes as a number, padded with zeros after the last.
    @inline(__always)
    func word(at offset: Int, count wanted: Int) -> UInt64 {
        if offset + 8 <= count {
            let all = word(at: offset)
            return wanted >= 8 ? all : all & ((1 &<< UInt64(wanted &* 8)) &- 1)
        }
        var word: UInt64 = 0
        var index = Swift.min(wanted, 8)
        while index > 0 {
            index -= 1
            word = word &<< 8 | UInt64(self[offset + index])
        }
        return word
    }
}

extension [UInt8] {
    /// Appends all bytes of the span: one copy.
    @inline(__always)
    package mutating func append(copying span: Span<UInt8>) {
        unsafe span.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}

/// Tests of eight bytes at once.
///
/// Each returns a word whose lowest set bit is the top bit of the first byte that matches; higher
/// bits may be wrong, so only "none" and "the first" can be derived from it.
enum Lanes {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    static func equal(_ word: UInt64, to byte: UInt8) -> UInt64 {
        let difference = word ^ (ones &* UInt64(byte))
        return (difference &- ones) & ~difference & tops
    }

    /// The word with its capital letters A to Z in lower case, and no other change.
    @inline(__always)
    static func lowered(_ word: UInt64) -> UInt64 {
        // The sum of two seven-bit values never carries into the next byte.
        let sevens = word & ~tops
        let fromA = sevens &+ ones &* UInt64(0x80 - 0x41)
        let pastZ = sevens &+ ones &* UInt64(0x80 - 0x5b)
        return word | (((fromA & ~pastZ & ~word) & tops) &>> 2)
    }

    /// - Parameter bound: at most 128.
    @inline(__always)
    static func less(_ word: UInt64, than bound: UInt8) -> UInt64 {
        (word &- (ones &* UInt64(bound))) & ~word & tops
    }

    /// The number of bytes before the first match; the word must have a match.
    @inline(__always)
    static func index(_ matches: UInt64) -> Int {
        matches.trailingZeroBitCount &>> 3
    }
}

extension Span<UInt8> {
    func first(_ byte: UInt8, in range: Range<Int>) -> Int? {
        var index = range.lowerBound
        while index &+ 8 <= range.upperBound {
            let matches = Lanes.equal(word(at: index), to: byte)
            if matches != 0 { return index &+ Lanes.index(matches) }
            index &+= 8
        }
        while index < range.upperBound {
            if self[index] == byte { return index }
            index &+= 1
        }
        return nil
    }

    /// Whether the range is this ASCII text.
    ///
    /// - Parameter ignoringCase: Upper and lower case are equal; `text` is in lower case.
    func equals(_ text: StaticString, in range: Range<Int>, ignoringCase: Bool) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { buffer in
            let wanted = unsafe Span(_unsafeElements: buffer)
            var index = 0
            while index < range.count {
                let count = Swift.min(8, range.count &- index)
                let word = word(at: range.lowerBound + index, count: count)
                let shown = ignoringCase ? Lanes.lowered(word) : word
                guard shown == wanted.word(at: index, count: count) else { return false }
                index &+= 8
            }
            return true
        }
    }
}
