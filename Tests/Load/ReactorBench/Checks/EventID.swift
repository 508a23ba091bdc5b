// The event ids of different servers in a comparable form: an epoch that may change, a number that
// rises, and a part within the number.

/// One parsed event id.
struct EventID: Equatable {
    /// The generation's eight bytes, or 0 where the scheme has none.
    var epoch: UInt64 = 0
    var number: UInt64 = 0
    /// nchan's sequence number within its second; or the part of a record, `whole` for the bare
    /// position.
    var part: UInt64 = 0

    /// Stands for "the whole record": sorts after each of its parts.
    static let whole = UInt64.max

    /// The id before every other id.
    init() {}

    /// Reads `range` of `bytes`; nil when it is no id of that scheme.
    @inline(__always)
    init?(_ bytes: Span<UInt8>, range: Range<Int>, scheme: IDScheme) {
        switch scheme {
        case .consecutive, .rising:
            guard let id = Self.position(bytes, range: range) else { return nil }
            self = id
        case .nchan:
            guard let colon = bytes.firstOffset(of: 0x3A, from: range.lowerBound),
                colon < range.upperBound,
                let time = bytes.decimal(in: range.lowerBound..<colon),
                let sequence = bytes.decimal(in: colon + 1..<range.upperBound)
            else { return nil }
            number = time
            part = sequence
        case .number:
            guard let value = bytes.decimal(in: range) else { return nil }
            number = value
        case .none:
            return nil
        }
    }

    @inline(__always)
    private static func position(_ bytes: Span<UInt8>, range: Range<Int>) -> EventID? {
        guard range.count >= 10 else { return nil }
        var id = EventID()
        var index = range.lowerBound
        while index < range.lowerBound + 8 {
            let byte = bytes[index]
            guard byte &- 0x30 <= 9 || byte &- 0x61 <= 25 else { return nil }
            id.epoch = id.epoch << 8 | UInt64(byte)
            index += 1
        }
        guard bytes[index] == 0x2E else { return nil }
        index += 1
        let numberStart = index
        while index < range.upperBound, bytes[index] != 0x2E { index += 1 }
        guard let value = bytes.decimal(in: numberStart..<index) else { return nil }
        id.number = value
        id.part = whole
        guard index < range.upperBound else { return id }
        guard let part = bytes.decimal(in: index + 1..<range.upperBound) else { return nil }
        id.part = part
        return id
    }

    /// Appends the id as the server wrote it, for `Last-Event-ID`.
    func append(to bytes: inout [UInt8], scheme: IDScheme) {
        switch scheme {
        case .consecutive, .rising:
            var shift: UInt64 = 56
            for _ in 0..<8 {
                bytes.append(UInt8(truncatingIfNeeded: epoch >> shift))
                shift &-= 8
            }
            bytes.append(0x2E)
            bytes.appendDecimal(number)
            if part != Self.whole {
                bytes.append(0x2E)
                bytes.appendDecimal(part)
            }
        case .nchan:
            bytes.appendDecimal(number)
            bytes.append(0x3A)
            bytes.appendDecimal(part)
        case .number:
            bytes.appendDecimal(number)
        case .none:
            break
        }
    }
}
