/// `<generation>.<number>[.<part>]`: a position in a session's history (contract §1).
///
/// The generation is opaque here: a client compares it and sends it back.
package struct StreamPosition: Hashable, Sendable {
    package let generation: String
    package let number: UInt64
    /// The index of an event within its record, from 1; 0 is the position of the whole record.
    package let part: UInt32

    package init(_ generation: String, _ number: UInt64, part: UInt32 = 0) {
        self.generation = generation
        self.number = number
        self.part = part
    }

    /// Nil for a text that no server writes.
    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        var index = bytes.startIndex
        guard bytes.count > Self.generationCount + 1 else { return nil }
        for _ in 0..<Self.generationCount {
            guard Self.isOfGeneration(bytes[index]) else { return nil }
            bytes.formIndex(after: &index)
        }
        let generation = text[..<index]
        guard let number = Self.decimal(bytes, &index, as: UInt64.self) else { return nil }
        var part: UInt32 = 0
        if index < bytes.endIndex {
            guard let value = Self.decimal(bytes, &index, as: UInt32.self), value > 0,
                index == bytes.endIndex
            else { return nil }
            part = value
        }
        self.init(String(generation), number, part: part)
    }

    package var text: String {
        part == 0 ? "\(generation).\(number)" : "\(generation).\(number).\(part)"
    }

    /// Whether everything up to `other` is seen when everything up to this position is; false
    /// between two generations (R7).
    package func reaches(_ other: StreamPosition) -> Bool {
        guard generation == other.generation else { return false }
        guard number == other.number else { return number > other.number }
        return part == 0 || (other.part != 0 && part >= other.part)
    }

    /// The newest record that is wholly seen when everything up to this position is. A part counts
    /// something else in an action log than on other streams; a record's number is the same.
    package var recordBefore: StreamPosition {
        part == 0 ? self : StreamPosition(generation, number > 0 ? number - 1 : 0)
    }

    private static let generationCount = 8

    private static func isOfGeneration(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }

    /// Reads a dot and the number after it, up to another dot or the end.
    private static func decimal<Number: FixedWidthInteger, Bytes: Collection<UInt8>>(
        _ bytes: Bytes, _ index: inout Bytes.Index, as type: Number.Type
    ) -> Number? {
        let dot = UInt8(ascii: ".")
        guard bytes[index] == dot else { return nil }
        bytes.formIndex(after: &index)
        var (number, count, hasZero) = (Number.zero, 0, false)
        while index < bytes.endIndex, bytes[index] != dot {
            let byte = bytes[index]
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte), !hasZero else {
                return nil
            }
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = tens.addingReportingOverflow(Number(byte - UInt8(ascii: "0")))
            guard !isTooLarge, !overflows else { return nil }
            (number, count) = (sum, count + 1)
            hasZero = count == 1 && number == 0
            bytes.formIndex(after: &index)
        }
        return count > 0 ? number : nil
    }
}
