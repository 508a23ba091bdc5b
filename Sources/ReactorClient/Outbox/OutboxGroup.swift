// The form of the file (ADR-0042): groups of lines, one after the other. A group is what one flush has
// written, and it is valid as a whole or not at all. Its head is one line of three numbers with eight
// hexadecimal digits each: the length of its content, the checksum of its content, and the checksum
// of the two before it. With a checksum of its own the length can be trusted, so a group that reaches
// over the end of the file was cut off, and anything else that does not fit is damage.

/// One group of an outbox's file.
enum OutboxGroup {
    static let headLength = 27

    static func encoded(_ content: [UInt8]) -> [UInt8] {
        var head = hex(UInt32(content.count)) + [space] + hex(Checksum.of(content[...]))
        head += [space] + hex(Checksum.of(head[...])) + [UInt8(ascii: "\n")]
        return head + content
    }

    enum Reading: Equatable {
        /// The range of the content.
        case group(Range<Int>)
        /// The file ends here.
        case end
        /// The file ends within a group: it was cut off in a write that nothing has followed.
        case cutOff
        case damaged(String)
    }

    /// Reads the group that begins at an offset.
    ///
    /// - Parameter bytes: the file without zeros at its end.
    static func read(_ bytes: ArraySlice<UInt8>, at offset: Int) -> Reading {
        let rest = bytes[offset...]
        if rest.isEmpty { return .end }
        guard rest.count >= headLength else { return .cutOff }
        let head = rest.prefix(headLength)
        let start = head.startIndex
        guard head.last == UInt8(ascii: "\n"), head[start + 8] == space, head[start + 17] == space,
            let length = number(head[start..<start + 8]),
            let checksum = number(head[start + 9..<start + 17]),
            let own = number(head[start + 18..<start + 26]), own == Checksum.of(head.prefix(17))
        else { return .damaged("the head of a group does not have its checksum") }
        let content = rest.dropFirst(headLength).prefix(Int(length))
        guard content.count == Int(length) else { return .cutOff }
        guard checksum == Checksum.of(content) else {
            return .damaged("a group does not have its checksum")
        }
        return .group(content.startIndex..<content.endIndex)
    }

    private static let space = UInt8(ascii: " ")

    private static func hex(_ value: UInt32) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return (0..<8).map { digits[Int(value >> UInt32(28 - $0 * 4) & 15)] }
    }

    /// Only as it is written: lower case, without a sign.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt32? {
        let isWritten = digits.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
        return isWritten ? UInt32(String(decoding: digits, as: UTF8.self), radix: 16) : nil
    }
}
