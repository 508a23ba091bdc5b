internal import DequeModule
package import Storage

/// Consecutive entries of one kind, records or notes, with their events.
final class EntryList {
    /// An entry. Its events end before the next entry's `firstEvent`.
    struct Item {
        let head: HistoryEntry.Head
        fileprivate let firstEvent: Int
        /// Bytes that the machine keeps for the entry.
        fileprivate var weight = 0
    }

    private struct Event {
        let source: EventSource
        let data: Range<Int>
    }

    /// The `Idempotency-Key` of the request that has left an entry.
    private struct Cause {
        let number: UInt64
        let key: String
    }

    /// Invariant: ascending by position.
    private var items: Deque<Item> = []
    private var events: Deque<Event> = []
    private var payload = ChunkedBytes()
    /// Few entries have one. Invariant: ascending by number, and each is of an item.
    private var causes: Deque<Cause> = []
    private(set) var count = 0
    /// The absolute index of the first kept event, and the index after the last one.
    private var firstEvent = 0
    private var nextEvent = 0
    /// Invariant: the sum of the weights, and of the bytes of the events and of the causes.
    private(set) var bytes = 0

    func exceeds(_ retention: Retention) -> Bool {
        count > retention.records || bytes > retention.bytes
    }

    /// About how many bytes of memory the entries take beyond the limits.
    func excess(over retention: Retention) -> Int {
        max(0, bytes - retention.bytes)
            + max(0, count - retention.records) * MemoryLayout<Item>.stride
    }

    // MARK: Adding

    /// - Parameter cause: the key of the request that leaves the entry, if it has one.
    func begin(_ head: HistoryEntry.Head, cause: String? = nil) {
        items.append(Item(head: head, firstEvent: nextEvent))
        count += 1
        guard let cause else { return }
        causes.append(Cause(number: head.position.number, key: cause))
        bytes += cause.utf8.count
    }

    /// Adds an event to the newest entry.
    func append(_ source: EventSource, _ data: [UInt8]) {
        let start = payload.append(data)
        events.append(Event(source: source, data: start..<(start + data.count)))
        nextEvent += 1
        bytes += data.count
    }

    /// Adds to the weight of the newest entry, if there is one.
    func weigh(_ weight: Int) {
        if items.addToLast(weight) { bytes += weight }
    }

    // MARK: Reading

    func item(_ index: Int) -> Item { items[index] }

    /// - Precondition: there is an entry.
    var first: (head: HistoryEntry.Head, weight: Int) { (items[0].head, items[0].weight) }

    /// The index of the first entry for which `predicate` holds.
    ///
    /// - Precondition: it holds for all later entries, too.
    func firstIndex(where predicate: (HistoryEntry.Head) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if predicate(items[middle].head) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The index of the first entry after `position`. Most readers are at the end.
    func index(after position: HistoryPosition) -> Int {
        guard count > 0, items[count - 1].head.position > position else { return count }
        guard count > 1, items[count - 2].head.position > position else { return count - 1 }
        return firstIndex { $0.position > position }
    }

    func events(at index: Int) -> KeptEvents {
        let end = index + 1 < count ? items[index + 1].firstEvent : nextEvent
        return KeptEvents(self, items[index].firstEvent..<end, ofItem: index)
    }

    /// The key of the request that has left an entry.
    fileprivate func cause(ofItem index: Int) -> String? {
        guard !causes.isEmpty else { return nil }
        let number = items[index].head.position.number
        var (low, high) = (0, causes.count)
        while low < high {
            let middle = (low + high) / 2
            if causes[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < causes.count && causes[low].number == number ? causes[low].key : nil
    }

    func entry(_ index: Int) -> HistorySlice.Element { (items[index].head, events(at: index)) }

    fileprivate func source(ofEvent index: Int) -> EventSource { events[index - firstEvent].source }

    fileprivate func data(ofEvent index: Int) -> ArraySlice<UInt8> {
        payload.piece(events[index - firstEvent].data)
    }

    // MARK: Removing

    /// - Precondition: there is an entry.
    func removeFirst() {
        let end = count > 1 ? items[1].firstEvent : nextEvent
        let item = items.removeFirst()
        bytes -= item.weight
        count -= 1
        if let cause = causes.first, cause.number == item.head.position.number {
            bytes -= cause.key.utf8.count
            causes.removeFirst()
        }
        while firstEvent < end, let event = events.popFirst() {
            firstEvent += 1
            payload.drop(before: event.data.upperBound)
            bytes -= event.data.count
        }
    }

    /// Frees all memory.
    func removeAll() {
        items = []
        events = []
        payload = ChunkedBytes()
        causes = []
        count = 0
        firstEvent = 0
        nextEvent = 0
        bytes = 0
    }

    func removeAll(after position: HistoryPosition) {
        while let last = items.last, last.head.position > position {
            while nextEvent > last.firstEvent {
                let data = events.removeLast().data
                payload.drop(from: data.lowerBound)
                nextEvent -= 1
                bytes -= data.count
            }
            items.removeLast()
            count -= 1
            bytes -= last.weight
            if let cause = causes.last, cause.number == last.head.position.number {
                bytes -= cause.key.utf8.count
                causes.removeLast()
            }
        }
    }
}

extension Deque<EntryList.Item> {
    /// - Returns: false if there is no item.
    fileprivate mutating func addToLast(_ weight: Int) -> Bool {
        guard !isEmpty else { return false }
        self[count - 1].weight += weight
        return true
    }
}

/// The events of one kept entry. Valid until the history changes.
package struct KeptEvents: RecordEvents {
    private let list: EntryList
    private let item: Int
    private let first: Int
    package let count: Int
    private let hasState: Bool

    fileprivate init(_ list: EntryList, _ events: Range<Int>, ofItem item: Int) {
        self.list = list
        self.item = item
        first = events.lowerBound
        hasState = !events.isEmpty && list.source(ofEvent: events.upperBound - 1) == .state
        count = hasState ? events.count - 1 : events.count
    }

    package func source(at offset: Int) -> EventSource? { list.source(ofEvent: first + offset) }

    package func data(at offset: Int) -> ArraySlice<UInt8> { list.data(ofEvent: first + offset) }

    package var cause: String? { list.cause(ofItem: item) }

    /// The state after the record, if it was encoded when the record was made.
    package var state: ArraySlice<UInt8>? { hasState ? list.data(ofEvent: first + count) : nil }

    /// The content of an entry other than a mutation: its only event.
    package var content: ArraySlice<UInt8> { count > 0 ? data(at: 0) : [] }
}

/// Consecutive entries of a history, in order. Valid until the history changes.
package struct HistorySlice: Sequence {
    package typealias Element = (head: HistoryEntry.Head, events: KeptEvents)

    private let records: EntryList
    private let notes: EntryList?
    private let start: HistoryPosition
    private let end: HistoryPosition

    init(
        _ records: EntryList, _ notes: EntryList?, after start: HistoryPosition,
        through end: HistoryPosition
    ) {
        self.records = records
        self.notes = notes
        self.start = start
        self.end = end
    }

    package func makeIterator() -> Iterator {
        Iterator(
            records: records, notes: notes, end: end, record: records.index(after: start),
            note: notes?.index(after: start) ?? 0)
    }

    package struct Iterator: IteratorProtocol {
        fileprivate let records: EntryList
        fileprivate let notes: EntryList?
        fileprivate let end: HistoryPosition
        fileprivate var record: Int
        fileprivate var note: Int

        package mutating func next() -> Element? {
            let next = record < records.count ? records.item(record).head : nil
            if let notes, note < notes.count {
                let head = notes.item(note).head
                if next.map({ head.position < $0.position }) ?? true {
                    guard head.position <= end else { return nil }
                    defer { note += 1 }
                    return (head, notes.events(at: note))
                }
            }
            guard let next, next.position <= end else { return nil }
            defer { record += 1 }
            return (next, records.events(at: record))
        }
    }
}
