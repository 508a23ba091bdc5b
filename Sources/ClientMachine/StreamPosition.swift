/// `<generation>.<number>[.<part>]`: a position in a session's history, as a client reads it
/// (contract §1).
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

    /// Nil for a text that no server writes: a generation of another form, signs, leading zeros,
    /// overflow, further parts.
    package init?(_ text: some StringProtocol) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fields.count == 2 || fields.count == 3, Self.isGeneration(fields[0]),
            let number = Self.decimal(fields[1], as: UInt64.self)
        else { return nil }
        var part: UInt32 = 0
        if fields.count == 3 {
            guard let value = Self.decimal(fields[2], as: UInt32.self), value > 0 else {
                return nil
            }
            part = value
        }
        self.init(String(fields[0]), number, part: part)
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

    private static func isGeneration(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 8
            && text.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }

    private static func decimal<Number: FixedWidthInteger>(
        _ text: some StringProtocol, as type: Number.Type
    ) -> Number? {
        guard let first = text.utf8.first, text.utf8.count == 1 || first != UInt8(ascii: "0"),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Number(text)
    }
}
