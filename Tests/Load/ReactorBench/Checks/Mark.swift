// A publisher writes a mark into an action, and a subscriber finds it in the event's data: `#` +
// time (8 hex digits, µs, wraps after 71 minutes) + publisher (4) + sequence number (8). The width
// is fixed, so that a body's length depends on neither publisher nor time. The bytes need no escape
// in JSON, in a URL or in `data:`, so any server passes them through unchanged.

/// Identifies an event: its publisher, its number on that stream, and when it was sent.
struct Mark: Equatable {
    /// The number of bytes a mark takes.
    static let length = 21
    /// The number of publishers that can be distinguished.
    static let publisherLimit = 1 << 16

    /// Microseconds on the tool's own clock, truncated to 32 bits.
    var microseconds: UInt32
    var publisher: UInt16
    /// Starts at 0 and rises by 1 with each event of this publisher on this stream.
    var sequence: UInt32

    /// Appends the mark's bytes.
    func append(to bytes: inout [UInt8]) {
        bytes.append(0x23)
        bytes.appendHexadecimal(UInt64(microseconds), digits: 8)
        bytes.appendHexadecimal(UInt64(publisher), digits: 4)
        bytes.appendHexadecimal(UInt64(sequence), digits: 8)
    }

    /// The first mark in `range` of `bytes`, or nil where there is none.
    @inline(__always)
    static func find(in bytes: Span<UInt8>, range: Range<Int>) -> Mark? {
        var from = range.lowerBound
        while let start = bytes.firstOffset(of: 0x23, from: from) {
            guard start + length <= range.upperBound else { return nil }
            if let time = bytes.hexadecimal(in: start + 1..<start + 9),
                let publisher = bytes.hexadecimal(in: start + 9..<start + 13),
                let sequence = bytes.hexadecimal(in: start + 13..<start + 21)
            {
                return Mark(
                    microseconds: UInt32(truncatingIfNeeded: time),
                    publisher: UInt16(truncatingIfNeeded: publisher),
                    sequence: UInt32(truncatingIfNeeded: sequence))
            }
            from = start + 1
        }
        return nil
    }

    /// Nanoseconds from the mark's time to `now`, both on the same clock.
    @inline(__always)
    func age(atNanoseconds now: UInt64) -> UInt64 {
        let nowMicroseconds = UInt32(truncatingIfNeeded: now / 1000)
        return UInt64(nowMicroseconds &- microseconds) * 1000
    }
}
