internal import DequeModule
package import Storage

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
package struct RecordLog {
    /// One record; its events are `events[firstEvent ..< next record's firstEvent]`.
    package struct Entry {
        package var number: UInt64
        /// Mutations up to and including this record.
        package var version: UInt64
        package var kind: HistoryEntry.Kind
        /// The action that led to it; 0 for none.
        package var action: UInt64
        /// Milliseconds since 1970 (UTC).
        package var time: Int64
        fileprivate var firstEvent: Int
        /// Bytes that memory keeps for it besides its events.
        fileprivate var weight = 0

        package var isMutation: Bool { kind == .mutation }
    }

    package struct Event {
        package var source: EventSource
        fileprivate var data: Range<Int>
    }

    /// Law: numbers are consecutive; the last one is `lastNumber`.
    private var entries: Deque<Entry> = []
    private var events: Deque<Event> = []
    /// The absolute index of `events.first`.
    private var firstEvent = 0
    private var payload = ByteLog()
    /// Invariant: the sum over `entries`.
    private var weight = 0
    /// What the entries weighed that were dropped and whose versions are not forgotten yet.
    private(set) var droppedWeight = 0
    /// The newest record's number; 0 while there is only the creation.
    package private(set) var lastNumber: UInt64
    package private(set) var lastVersion: UInt64
    /// The version that the state has at `keptAfter`.
    package private(set) var keptVersion: UInt64
    /// The record at which `keptVersion` was reached; nil if that was before the session woke.
    private var keptVersionNumber: UInt64?

    package init(lastNumber: UInt64 = 0, lastVersion: UInt64 = 0) {
        self.lastNumber = lastNumber
        self.lastVersion = lastVersion
        self.keptVersion = lastVersion
        keptVersionNumber = lastVersion == 0 ? 0 : nil
    }

    /// Everything after this number is kept.
    package var keptAfter: UInt64 { lastNumber - UInt64(entries.count) }
    package var count: Int { entries.count }
    /// What the session's kept history takes of memory: encoded events, and mutations or states.
    package var keptBytes: Int { payload.count + weight }

    /// One access, where both are wanted.
    var newest: (number: UInt64, version: UInt64) { (lastNumber, lastVersion) }

    /// Whether ``trim(to:keeping:)`` would find too much.
    func exceeds(_ retention: Retention) -> Bool {
        entries.count > retention.records || keptBytes > retention.bytes
    }

    /// Begins the next record; its events follow with ``append(_:_:)``.
    package mutating func begin(_ kind: HistoryEntry.Kind, action: UInt64 = 0, time: Int64 = 0) {
        lastNumber += 1
        if kind == .mutation { lastVersion += 1 }
        entries.append(
            Entry(
                number: lastNumber, version: lastVersion, kind: kind, action: action, time: time,
                firstEvent: firstEvent + events.count))
    }

    /// Adds an event to the newest record. `data` is one line of JSON.
    package mutating func append(_ source: EventSource, _ data: [UInt8]) {
        let start = payload.append(data)
        events.append(Event(source: source, data: start..<(start + data.count)))
    }

    /// Memory keeps as many bytes more for the newest record: its mutation, or its state.
    package mutating func weigh(_ bytes: Int) {
        guard !entries.isEmpty else { return }
        entries[entries.count - 1].weight += bytes
        weight += bytes
    }

    /// The versions of all entries that were dropped are forgotten.
    mutating func noteForgotten() { droppedWeight = 0 }

    /// The record with this number. Precondition: `keptAfter < number <= lastNumber`.
    package func entry(_ number: UInt64) -> Entry {
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

    package func events(of entry: Entry) -> some RandomAccessCollection<Event> {
        let next = index(of: entry.number) + 1
        let end = next < entries.count ? entries[next].firstEvent : firstEvent + events.count
        return events[(entry.firstEvent - firstEvent)..<(end - firstEvent)]
    }

    package func data(of event: Event) -> ArraySlice<UInt8> {
        payload.piece(event.data)
    }

    /// Drops the oldest records until both limits hold, but never one after `number` and never
    /// the newest.
    package mutating func trim(to retention: Retention, keeping number: UInt64) {
        while entries.count > 1, let first = entries.first, first.number < number,
            entries.count > retention.records || keptBytes > retention.bytes
        {
            keptVersion = first.version
            if first.isMutation { keptVersionNumber = first.number }
            weight -= first.weight
            droppedWeight += first.weight
            entries.removeFirst()
            dropEvents(before: entries[0].firstEvent)
        }
    }

    /// Unsays everything after `number`: its commit failed.
    package mutating func rollBack(to number: UInt64) {
        while let last = entries.last, last.number > number {
            while firstEvent + events.count > last.firstEvent {
                payload.drop(from: events.removeLast().data.lowerBound)
            }
            lastNumber -= 1
            if last.isMutation { lastVersion -= 1 }
            weight -= last.weight
            entries.removeLast()
        }
    }

    private mutating func dropEvents(before index: Int) {
        while firstEvent < index, let event = events.popFirst() {
            firstEvent += 1
            payload.drop(before: event.data.upperBound)
        }
    }

    private func index(of number: UInt64) -> Int {
        precondition(number > keptAfter && number <= lastNumber, "the record is not kept")
        return Int(number - keptAfter - 1)
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
