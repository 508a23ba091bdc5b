internal import DequeModule
internal import Storage

/// Where an event of a record comes from.
package enum EventSource: Sendable, Equatable {
    /// A pulse, by its place in the reactor's declaration order.
    case pulse(Int)
    /// An activity, by its place in the session's table of activity names.
    case activity(Int)
    /// The whole state, encoded because somebody was reading states when it was made.
    case state
    /// What is to be told of a record of a failure.
    case failure
}

/// A session's kept history: each record once, with its events' JSON encoded once.
///
/// Design: this is what every stream of the session is made of. It is bounded by
/// ``Retention``; what is dropped here answers `reset` to whoever asks for it.
final class RecordLog {
    /// One record; its events are `events[firstEvent ..< next record's firstEvent]`.
    struct Entry {
        var number: UInt64
        /// Mutations up to and including this record.
        var version: UInt64
        var kind: HistoryEntry.Kind
        /// The action that led to it; 0 for none.
        var action: UInt64
        /// Milliseconds since 1970 (UTC).
        var time: Int64
        fileprivate var firstEvent: Int
        /// Bytes that memory keeps for it besides its events.
        fileprivate var weight = 0

        var isMutation: Bool { kind == .mutation }
    }

    struct Event {
        var source: EventSource
        fileprivate var data: Range<Int>
    }

    /// Law: numbers are consecutive; the last one is `lastNumber`.
    private var entries: Deque<Entry> = []
    private var events: Deque<Event> = []
    /// The absolute index of `events.first`.
    private var firstEvent = 0
    /// Invariant: `nextEvent`.
    private var nextEvent = 0
    private var payload = ByteLog()
    /// What the session's kept history takes of memory: encoded events, and mutations or states.
    ///
    /// Invariant: the sum of the entries' weights and the events' bytes.
    private(set) var keptBytes = 0
    /// What the entries weighed that were dropped and whose versions are not forgotten yet.
    private(set) var droppedWeight = 0
    /// The newest record's number; 0 while there is only the creation.
    private(set) var lastNumber: UInt64
    private(set) var lastVersion: UInt64
    /// Everything after this number is kept. Invariant: `lastNumber - entries.count`.
    private(set) var keptAfter: UInt64
    /// The version that the state has at `keptAfter`.
    private(set) var keptVersion: UInt64
    /// The record at which `keptVersion` was reached; nil if that was before the session woke.
    private var keptVersionNumber: UInt64?

    init(lastNumber: UInt64 = 0, lastVersion: UInt64 = 0) {
        self.lastNumber = lastNumber
        keptAfter = lastNumber
        self.lastVersion = lastVersion
        self.keptVersion = lastVersion
        keptVersionNumber = lastVersion == 0 ? 0 : nil
    }

    var count: Int { Int(lastNumber - keptAfter) }

    /// One access, where both are wanted.
    var newest: (number: UInt64, version: UInt64) { (lastNumber, lastVersion) }

    /// Whether ``trim(to:keeping:)`` would find too much.
    func exceeds(_ retention: Retention) -> Bool {
        count > retention.records || keptBytes > retention.bytes
    }

    /// Begins the next record; its events follow with ``append(_:_:)``.
    func begin(_ kind: HistoryEntry.Kind, action: UInt64 = 0, time: Int64 = 0) {
        lastNumber += 1
        if kind == .mutation { lastVersion += 1 }
        entries.append(
            Entry(
                number: lastNumber, version: lastVersion, kind: kind, action: action, time: time,
                firstEvent: nextEvent))
    }

    /// Adds an event to the newest record. `data` is one line of JSON.
    func append(_ source: EventSource, _ data: [UInt8]) {
        let start = payload.append(data)
        events.append(Event(source: source, data: start..<(start + data.count)))
        nextEvent += 1
        keptBytes += data.count
    }

    /// Memory keeps as many bytes more for the newest record: its mutation, or its state.
    func weigh(_ bytes: Int) {
        if entries.addToLast(bytes) { keptBytes += bytes }
    }

    /// The versions of all entries that were dropped are forgotten.
    func noteForgotten() { droppedWeight = 0 }

    /// The record with this number. Precondition: `keptAfter < number <= lastNumber`.
    func entry(_ number: UInt64) -> Entry {
        entries[index(of: number)]
    }

    /// The record at which a version was reached that is kept; nil if nobody here knows.
    func number(of version: UInt64) -> UInt64? {
        guard version > keptVersion else { return version < keptVersion ? nil : keptVersionNumber }
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].version < version { low = middle + 1 } else { high = middle }
        }
        return low < entries.count ? entries[low].number : nil
    }

    func events(of entry: Entry) -> some RandomAccessCollection<Event> {
        let range = eventRange(of: entry)
        return events[(range.lowerBound - firstEvent)..<(range.upperBound - firstEvent)]
    }

    /// The events of a record, for ``event(_:)``. They stay valid until something is dropped.
    func eventRange(of entry: Entry) -> Range<Int> {
        let next = index(of: entry.number) + 1
        let end = next < entries.count ? entries[next].firstEvent : nextEvent
        return entry.firstEvent..<end
    }

    func event(_ index: Int) -> Event { events[index - firstEvent] }

    func data(of event: Event) -> ArraySlice<UInt8> {
        payload.piece(event.data)
    }

    /// Drops the oldest records until both limits hold, but never one after `number` and never
    /// the newest.
    func trim(to retention: Retention, keeping number: UInt64) {
        while entries.count > 1, let first = entries.first, first.number < number,
            entries.count > retention.records || keptBytes > retention.bytes
        {
            keptVersion = first.version
            if first.isMutation { keptVersionNumber = first.number }
            keptBytes -= first.weight
            droppedWeight += first.weight
            keptAfter = first.number
            entries.removeFirst()
            dropEvents(before: entries[0].firstEvent)
        }
    }

    /// Unsays everything after `number`: its commit failed.
    func rollBack(to number: UInt64) {
        while let last = entries.last, last.number > number {
            while nextEvent > last.firstEvent {
                let data = events.removeLast().data
                payload.drop(from: data.lowerBound)
                nextEvent -= 1
                keptBytes -= data.count
            }
            lastNumber -= 1
            if last.isMutation { lastVersion -= 1 }
            keptBytes -= last.weight
            entries.removeLast()
        }
    }

    private func dropEvents(before index: Int) {
        while firstEvent < index, let event = events.popFirst() {
            firstEvent += 1
            payload.drop(before: event.data.upperBound)
            keptBytes -= event.data.count
        }
    }

    private func index(of number: UInt64) -> Int {
        precondition(number > keptAfter && number <= lastNumber, "the record is not kept")
        return Int(number - keptAfter - 1)
    }
}

extension Deque<RecordLog.Entry> {
    /// False: there is no last one.
    fileprivate mutating func addToLast(_ bytes: Int) -> Bool {
        guard !isEmpty else { return false }
        self[count - 1].weight += bytes
        return true
    }
}

/// How much of a session's history stays in memory. What is older answers `reset`.
package struct Retention: Sendable, Equatable {
    /// Records kept per session, at least 1.
    package var records: Int
    /// Bytes of history kept per session, and of framed events per stream; the newest record is
    /// kept even if it alone is larger. A session's history is its encoded events, and its
    /// mutations, or, where it is a Cycler's, its states, each measured by its JSON. Where the
    /// journal has them encoded each is; elsewhere those of requests are measured every eighth
    /// time, and between count as much as the last one or as the body that brought them.
    package var bytes: Int

    package init(records: Int = 1_000, bytes: Int = 1_048_576) {
        self.records = max(1, records)
        self.bytes = max(0, bytes)
    }
}
