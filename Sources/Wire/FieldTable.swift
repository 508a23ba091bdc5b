/// The field lines of a head: the ranges of each name and value in the head's bytes.
///
/// Design: a few integers per line, in an array that keeps its capacity from message to message;
/// known names are recognised once, while they are read.
struct FieldTable: Sendable {
    /// One field line; offsets into the head's bytes.
    struct Entry: Sendable {
        let nameStart: UInt32
        let nameEnd: UInt32
        let valueStart: UInt32
        let valueEnd: UInt32
        let known: KnownField?

        var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
        /// The value without the white space around it.
        var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
    }

    private(set) var entries: [Entry] = []
    /// Invariant: bit n is set iff an entry is the known field with raw value n.
    private var present: UInt64 = 0

    mutating func reset() {
        entries.removeAll(keepingCapacity: true)
        present = 0
    }

    @inline(__always)
    func contains(_ field: KnownField) -> Bool {
        present & (1 &<< UInt64(field.rawValue)) != 0
    }

    /// The value of the first line with that name.
    func first(_ field: KnownField) -> Range<Int>? {
        guard contains(field) else { return nil }
        for entry in entries where entry.known == field { return entry.value }
        return nil
    }

    mutating func append(
        _ line: Range<Int>, number: Int, in bytes: Span<UInt8>
    ) throws(RequestRefusal) {
        let nameEnd = try Self.readName(line, number: number, in: bytes)
        let name = line.lowerBound..<nameEnd
        let known = Self.recognise(name, in: bytes)
        var start = nameEnd + 1
        var end = line.upperBound
        while start < end, ByteClass.isSpace(bytes[start]) { start += 1 }
        while end > start, ByteClass.isSpace(bytes[end - 1]) { end -= 1 }
        if let fault = Self.firstForbidden(start..<end, in: bytes) {
            throw .field(
                bytes[fault] == 0x0d ? .bareCarriageReturn : .forbiddenValueCharacter,
                line: number, known)
        }
        if let known { present |= 1 &<< UInt64(known.rawValue) }
        entries.append(
            Entry(
                nameStart: UInt32(truncatingIfNeeded: name.lowerBound),
                nameEnd: UInt32(truncatingIfNeeded: name.upperBound),
                valueStart: UInt32(truncatingIfNeeded: start),
                valueEnd: UInt32(truncatingIfNeeded: end),
                known: known))
    }

    /// The offset of the colon after a well-formed name.
    @inline(__always)
    private static func readName(
        _ line: Range<Int>, number: Int, in bytes: Span<UInt8>
    ) throws(RequestRefusal) -> Int {
        var index = line.lowerBound
        while index < line.upperBound, ByteClass.token.contains(bytes[index]) { index += 1 }
        if index < line.upperBound, index > line.lowerBound, bytes[index] == 0x3a {
            return index
        }
        throw .field(
            nameFault(at: index, line, in: bytes), line: number,
            recognise(line.lowerBound..<index, in: bytes))
    }

    /// The fault of a name that is not followed by a colon.
    private static func nameFault(
        at index: Int, _ line: Range<Int>, in bytes: Span<UInt8>
    ) -> FieldFault {
        guard index < line.upperBound else { return .missingColon }
        let byte = bytes[index]
        if byte == 0x0d { return .bareCarriageReturn }
        if byte == 0x3a { return .emptyName }
        guard ByteClass.isSpace(byte) else { return .forbiddenNameCharacter }
        if index == line.lowerBound { return .folded }
        var next = index
        while next < line.upperBound, ByteClass.isSpace(bytes[next]) { next += 1 }
        let colon = next < line.upperBound && bytes[next] == 0x3a
        return colon ? .spaceBeforeColon : .forbiddenNameCharacter
    }

    /// - Parameter name: A token; only for tokens does setting a bit change letters only.
    @inline(__always)
    private static func recognise(_ name: Range<Int>, in bytes: Span<UInt8>) -> KnownField? {
        guard !name.isEmpty, name.count <= KnownField.longestName else { return nil }
        let start = name.lowerBound
        let count = name.count
        var packed = KnownField.PackedName(first: lowered(start, count, in: bytes))
        if count > 8 { packed.second = lowered(start + 8, count - 8, in: bytes) }
        if count > 16 { packed.third = lowered(start + 16, count - 16, in: bytes) }
        if count > 24 { packed.fourth = lowered(start + 24, count - 24, in: bytes) }
        return KnownField.named(packed, length: count)
    }

    @inline(__always)
    private static func lowered(_ start: Int, _ count: Int, in bytes: Span<UInt8>) -> UInt64 {
        let spaces: UInt64 = 0x2020_2020_2020_2020
        let mask = count >= 8 ? spaces : spaces & ((1 &<< UInt64(count &* 8)) &- 1)
        return bytes.word(at: start, count: count) | mask
    }

    @inline(__always)
    static func firstForbidden(_ value: Range<Int>, in bytes: Span<UInt8>) -> Int? {
        var index = value.lowerBound
        while index &+ 8 <= value.upperBound {
            if mayBeForbidden(bytes.word(at: index)) {
                // A tab is allowed, and rare: check these eight bytes one by one.
                for place in index..<(index &+ 8)
                where !ByteClass.isFieldValue(bytes[place]) {
                    return place
                }
            }
            index &+= 8
        }
        // Checking the last eight bytes again costs less than the last few one by one.
        if value.count >= 8, !mayBeForbidden(bytes.word(at: value.upperBound &- 8)) { return nil }
        while index < value.upperBound {
            if !ByteClass.isFieldValue(bytes[index]) { return index }
            index &+= 1
        }
        return nil
    }

    /// Whether any of eight bytes is a control character, including the tab.
    @inline(__always)
    private static func mayBeForbidden(_ word: UInt64) -> Bool {
        Lanes.less(word, than: 0x20) | Lanes.equal(word, to: 0x7f) != 0
    }
}
