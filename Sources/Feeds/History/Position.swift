package import Storage
internal import Wire

/// 8 random characters `[a-z0-9]` that identify the life of a session that a position belongs to
/// (contract §1).
///
/// Stored as the eight bytes of one integer, the first character in the highest byte.
package struct Generation: Hashable, Sendable {
    private let packed: UInt64
    package static let byteCount = 8

    package init(using generator: inout some RandomNumberGenerator) {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var packed: UInt64 = 0
        for _ in 0..<8 {
            packed = packed << 8 | UInt64(alphabet.randomElement(using: &generator) ?? 0x61)
        }
        self.packed = packed
    }

    /// Nil unless there are exactly eight characters of the alphabet.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 8 else { return nil }
        var packed: UInt64 = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                packed = packed << 8 | UInt64(byte)
            default: return nil
            }
        }
        self.packed = packed
    }

    package func append(to out: inout [UInt8]) {
        var shift: UInt64 = 64
        while shift > 0 {
            shift -= 8
            out.append(UInt8(truncatingIfNeeded: packed >> shift))
        }
    }

    package var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// `<generation>.<number>[.<part>]`: the token in SSE `id:`, `ETag`, `If-Match`, `?after=` and
/// replies (contract §1).
package struct Position: Hashable, Sendable {
    package var generation: Generation
    /// The position without its generation. On a stream of events the part is the index of an
    /// event of the record, from 1; on the action log it is the index of a note before the record.
    /// Part 0 is the form without a part: everything up to the record is seen. Record 0 is the
    /// session's creation.
    package var inHistory: HistoryPosition

    package var number: UInt64 { inHistory.number }
    package var part: UInt32 { inHistory.part }

    package init(_ generation: Generation, _ number: UInt64, part: UInt32 = 0) {
        self.init(generation, HistoryPosition(number, part: part))
    }

    package init(_ generation: Generation, _ inHistory: HistoryPosition) {
        self.generation = generation
        self.inHistory = inHistory
    }

    /// Nil for a text that this service does not write: a generation with other characters, signs,
    /// leading zeros, overflow, further parts, or a part of the creation, which has no events.
    package init?(_ text: some StringProtocol) {
        let fields = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard fields.count == 2 || fields.count == 3,
            let generation = Generation(fields[0]),
            let number = Self.decimal(fields[1])
        else { return nil }
        var part: UInt32 = 0
        if fields.count == 3 {
            guard number > 0, let value = Self.decimal(fields[2]), value > 0,
                let small = UInt32(exactly: value)
            else { return nil }
            part = small
        }
        self.init(generation, number, part: part)
    }

    package func append(to out: inout [UInt8]) {
        generation.append(to: &out)
        out.append(UInt8(ascii: "."))
        Decimal.append(number, to: &out)
        guard part > 0 else { return }
        out.append(UInt8(ascii: "."))
        Decimal.append(UInt64(part), to: &out)
    }

    /// The number of bytes that ``append(to:)`` appends.
    package var byteCount: Int {
        let bare = Generation.byteCount + 1 + Decimal.count(number)
        return part == 0 ? bare : bare + 1 + Decimal.count(UInt64(part))
    }

    package var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func decimal(_ digits: some Collection<UInt8>) -> UInt64? {
        guard let first = digits.first, digits.count == 1 || first != UInt8(ascii: "0") else {
            return nil
        }
        var value: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit - UInt8(ascii: "0")))
            guard !overflow, !carry else { return nil }
            value = sum
        }
        return value
    }
}

extension Generation {
    /// The generation of a saved session.
    package init(saved key: SessionKey) throws(RecoveryFault) {
        guard let generation = Generation(key.generation.utf8) else {
            throw RecoveryFault(place: "the generation", reason: key.generation)
        }
        self = generation
    }
}
