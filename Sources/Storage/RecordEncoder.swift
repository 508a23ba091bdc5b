/// Encodes entries as ``HistoryCodec`` describes: begin, fill, finish. Its buffers are reused.
package struct RecordEncoder {
    private var head = HistoryEntry.Head(.created, at: HistoryPosition(0))
    private var traceparent: String?
    /// The byte counts of the name and of the data of each event.
    private var lengths: [Int] = []
    private var events: [UInt8] = []
    /// The buffer of the line of numbers, which is written from its end backwards.
    private var line: [UInt8] = Array(repeating: HistoryCodec.space, count: 256)

    package var content: [UInt8] = []

    package init() {}

    package mutating func begin(_ head: HistoryEntry.Head, traceparent: String?) {
        self.head = head
        self.traceparent = traceparent
        // Buffers that have grown beyond `keptBytes` are released.
        content.removeAll(keepingCapacity: content.capacity <= Self.keptBytes)
        events.removeAll(keepingCapacity: events.capacity <= Self.keptBytes)
        lengths.removeAll(keepingCapacity: lengths.capacity <= Self.keptBytes)
    }

    private static let keptBytes = 65_536

    mutating func begin(_ entry: HistoryEntry) {
        begin(entry.head, traceparent: entry.traceparent)
        content = entry.content
        for event in entry.events { write(event.name, event.data) }
    }

    /// Adds an event of the entry, in the order in which subscribers receive them.
    package mutating func write(_ name: String, _ data: [UInt8]) {
        let start = events.count
        events.append(contentsOf: name.utf8)
        lengths.append(events.count - start)
        lengths.append(data.count)
        events.append(contentsOf: data)
    }

    /// Adds the entry to a batch that it continues.
    package mutating func finish(in batch: inout RecordBatch) {
        batch.append(head, content) { finish(&$0) }
    }

    mutating func finish(_ text: inout [UInt8]) {
        var start = line.count - 1
        line[start] = HistoryCodec.lineFeed
        for length in lengths.reversed() { write(UInt64(length), before: &start) }
        write(UInt64(traceparent?.utf8.count ?? 0), before: &start)
        write(UInt64(content.count), before: &start)
        // Any bit pattern of a time survives encoding and decoding.
        write(UInt64(bitPattern: head.time), before: &start)
        write(head.action, before: &start)
        write(head.version, before: &start)
        write(UInt64(head.kind.rawValue), before: &start)
        write(UInt64(head.position.part), before: &start)
        write(head.position.number, before: &start)
        text.append(contentsOf: line[start...])
        text.append(contentsOf: content)
        if let traceparent { text.append(contentsOf: traceparent.utf8) }
        text.append(contentsOf: events)
        text.append(HistoryCodec.lineFeed)
    }

    private mutating func write(_ number: UInt64, before start: inout Int) {
        // 2^64 has twenty digits.
        if start < 21 {
            line.insert(contentsOf: repeatElement(HistoryCodec.space, count: line.count), at: 0)
            start += line.count / 2
        }
        if line[start] != HistoryCodec.lineFeed {
            start -= 1
            line[start] = HistoryCodec.space
        }
        var rest = number
        repeat {
            start -= 1
            line[start] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        } while rest > 0
    }
}
