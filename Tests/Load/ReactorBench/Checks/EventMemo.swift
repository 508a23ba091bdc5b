// All subscribers of a stream receive the same bytes. The first subscriber's event is parsed,
// checked in full and remembered. If another subscriber's kth event equals the remembered kth byte
// for byte after the same last id, it needs no parsing: equal bytes in an equal state have an equal
// verdict. The check then costs a `memcmp`, which keeps the tool an order of magnitude cheaper than
// a server that sends such an event to thousands.

/// The latest events of every stream, with the results of parsing them.
struct EventMemo {
    /// One remembered event.
    struct Entry {
        /// The event's index in the stream, from 0; `UInt64.max` while the entry is empty.
        var ordinal = UInt64.max
        /// The subscriber's last id before the event and after it.
        var before: EventID?
        var after: EventID?
        var mark: Mark?
        var length = 0
    }

    /// Longer events are not remembered: parsing is a small part of their cost.
    static let lengthLimitBytes = 128
    private static let slotsInAll = 4096

    private let slotsPerStream: Int
    private var entries: [Entry]
    private var bytes: [UInt8]

    /// A memo for `streams` streams.
    init(streams: Int) {
        // A power of two, so that a mask maps an ordinal to its slot; at least 16, because
        // subscribers of one stream lag behind each other by the events that one socket buffer
        // holds.
        let share = max(16, Self.slotsInAll / max(streams, 1))
        slotsPerStream = 1 << (Int.bitWidth - 1 - share.leadingZeroBitCount)
        entries = [Entry](repeating: Entry(), count: slotsPerStream * streams)
        bytes = [UInt8](repeating: 0, count: entries.count * Self.lengthLimitBytes)
    }

    /// The remembered event at the start of `received`, if it is the stream's `ordinal`th.
    @inline(__always)
    func match(
        _ received: Span<UInt8>, at position: Int, stream: Int, ordinal: UInt64
    ) -> Entry? {
        let slot = index(stream, ordinal)
        let entry = entries[slot]
        guard entry.ordinal == ordinal, position + entry.length <= received.count,
            received.equals(
                bytes.span, at: position, from: slot * Self.lengthLimitBytes,
                count: entry.length)
        else { return nil }
        return entry
    }

    /// Remembers the stream's `ordinal`th event; its bytes are `range` of `received`.
    mutating func remember(
        _ received: Span<UInt8>, range: Range<Int>, stream: Int, entry: Entry
    ) {
        guard range.count <= Self.lengthLimitBytes else { return }
        let slot = index(stream, entry.ordinal)
        entries[slot] = entry
        entries[slot].length = range.count
        let start = slot * Self.lengthLimitBytes
        for offset in 0..<range.count {
            bytes[start + offset] = received[range.lowerBound + offset]
        }
    }

    @inline(__always)
    private func index(_ stream: Int, _ ordinal: UInt64) -> Int {
        stream * slotsPerStream + Int(truncatingIfNeeded: ordinal) & (slotsPerStream - 1)
    }
}
