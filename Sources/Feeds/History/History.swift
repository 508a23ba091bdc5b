internal import DequeModule
package import Storage

/// The part of a session's history that memory keeps: each record and note once, with their encoded
/// events.
///
/// Design: every stream of the session is framed from it. ``Retention`` bounds it; a reader of
/// dropped entries reads the journal, or gets a `reset`. Records and notes are dropped at
/// different times, so each kind has a list of its own; ``entries(after:through:notes:)`` merges
/// them in order.
///
/// Why a class with few properties that only its own methods set: a property that other code may
/// access during a call is checked for overlapping access at run time (ADR-0013).
package final class History {
    private let records = EntryList()
    /// Nil while the action log is unused: the journal keeps none and no client has read it.
    private var notes: EntryList?
    private var ends = Ends()

    /// Why values of one struct, read through the properties below: a property that another module
    /// may set or read in place is checked for overlapping access at run time (ADR-0013).
    private struct Ends {
        var newest = HistoryEnd()
        var committed = HistoryEnd()
        var keptAfter: UInt64 = 0
        var keptVersion: UInt64 = 0
    }

    /// The record at which `keptVersion` was reached; nil if that was before the session woke.
    private var keptVersionNumber: UInt64? = 0
    /// Notes after this position are kept, if they were made.
    private var notesKeptAfter = HistoryPosition(0)
    /// The weight of dropped entries whose versions the machine still keeps.
    private(set) var droppedWeight = 0

    /// Removes every entry, when the session is loaded into memory or leaves it.
    ///
    /// - Parameters:
    ///   - end: the session's newest position; only the journal has the entries up to it.
    ///   - keepsNotes: whether the journal keeps notes.
    package func restart(at end: HistoryEnd, keepsNotes: Bool) {
        records.removeAll()
        notes = keepsNotes ? EntryList() : nil
        ends.newest = end
        ends.committed = end
        ends.keptAfter = end.number
        ends.keptVersion = end.version
        keptVersionNumber = end.version == 0 ? 0 : nil
        notesKeptAfter = end.notes > 0 ? end.position : HistoryPosition(0)
        droppedWeight = 0
    }

    // MARK: Adding

    /// Begins the next record; its events follow.
    ///
    /// - Parameter cause: the `Idempotency-Key` of the request that leaves the record,
    ///   if it has one.
    package func begin(
        _ kind: HistoryEntry.Kind, action: UInt64 = 0, time: Int64 = 0, cause: String? = nil
    ) {
        ends.newest.number += 1
        if kind == .mutation { ends.newest.version += 1 }
        ends.newest.notes = 0
        records.begin(
            HistoryEntry.Head(
                kind, at: HistoryPosition(newest.number), version: newest.version, action: action,
                time: time), cause: cause)
    }

    /// Adds an event to the newest record.
    ///
    /// - Parameter data: one line of JSON. The state is the last event of a record.
    package func append(_ source: EventSource, _ data: [UInt8]) { records.append(source, data) }

    /// Adds to the newest record's weight the size of its mutation or its state, which the machine
    /// keeps.
    package func weigh(_ bytes: Int) { records.weigh(bytes) }

    /// Whether notes are kept.
    package var keepsNotes: Bool { notes != nil }

    /// Keeps notes from now on. Earlier ones do not exist.
    package func keepNotes() { notes = notes ?? EntryList() }

    /// Adds a note before the next record.
    ///
    /// - Precondition: notes are kept.
    package func appendNote(action: UInt64, time: Int64, _ content: [UInt8]) {
        guard let notes else { return }
        ends.newest.notes += 1
        notes.begin(
            HistoryEntry.Head(
                .note, at: newest.position, version: newest.version, action: action, time: time))
        notes.append(.content, content)
    }

    // MARK: Ends

    /// The newest record and the notes after it, committed or not.
    package var newest: HistoryEnd { ends.newest }

    /// Entries up to here may be shown. Invariant: not after `newest`.
    package var committed: HistoryEnd { ends.committed }

    /// Records after this one are kept.
    package var keptAfter: UInt64 { ends.keptAfter }

    /// The version of the state at `keptAfter`.
    package var keptVersion: UInt64 { ends.keptVersion }

    /// The journal has everything up to `end`.
    package func commit(_ end: HistoryEnd) { ends.committed = end }

    /// Removes every entry after `end`. None of them was committed.
    package func rollBack(to end: HistoryEnd) {
        records.removeAll(after: HistoryPosition(end.number))
        notes?.removeAll(after: end.position)
        ends.newest = end
    }

    // MARK: Reading

    /// The position after which every entry is kept for a reader.
    ///
    /// - Parameter notes: whether the reader reads notes, too.
    package func keptPosition(notes wantsNotes: Bool) -> HistoryPosition {
        let records = HistoryPosition(keptAfter)
        return wantsNotes && keepsNotes ? max(records, notesKeptAfter) : records
    }

    /// The newest position that may be shown to a reader.
    package func committedPosition(notes wantsNotes: Bool) -> HistoryPosition {
        wantsNotes ? committed.position : HistoryPosition(committed.number)
    }

    enum Answer {
        case entries(HistorySlice)
        /// The first of the entries was dropped.
        case trimmed
    }

    /// The entries after `start` up to `end`, in order.
    func entries(
        after start: HistoryPosition, through end: HistoryPosition, notes wantsNotes: Bool
    ) -> Answer {
        guard start >= keptPosition(notes: wantsNotes) else { return .trimmed }
        return .entries(
            HistorySlice(
                records, wantsNotes ? notes : nil, after: start,
                through: min(end, newest.position)))
    }

    /// The kept entries after `start` up to `end`, with notes.
    package func slice(after start: HistoryPosition, through end: HistoryPosition) -> HistorySlice {
        HistorySlice(records, notes, after: start, through: end)
    }

    /// A record with its events; nil if it is not kept.
    package func record(_ number: UInt64) -> HistorySlice.Element? {
        guard number > keptAfter, number <= newest.number else { return nil }
        return records.entry(Int(number - keptAfter) - 1)
    }

    /// The version at a record; nil if the record is not kept.
    package func version(at number: UInt64) -> UInt64? {
        if number >= newest.number { return newest.version }
        guard number > keptAfter else { return number == keptAfter ? keptVersion : nil }
        return records.item(Int(number - keptAfter) - 1).head.version
    }

    /// The record at which a kept version was reached; nil if memory does not know it.
    package func number(of version: UInt64) -> UInt64? {
        guard version > keptVersion else { return version < keptVersion ? nil : keptVersionNumber }
        let index = records.firstIndex { $0.version >= version }
        return index < records.count ? records.item(index).head.position.number : nil
    }

    // MARK: Trimming

    /// About how many bytes the history has beyond its limits. If there are any, ``trim(to:)`` may
    /// drop entries.
    func excess(over retention: Retention) -> Int {
        records.excess(over: retention) + (notes?.excess(over: retention) ?? 0)
    }

    /// Drops the oldest entries until each list is within the limits. Entries that are not
    /// committed, and the newest record, are kept.
    package func trim(to retention: Retention) {
        while records.exceeds(retention), records.count > 1 {
            let (head, weight) = records.first
            guard head.position.number < committed.number else { break }
            ends.keptVersion = head.version
            if head.kind == .mutation { keptVersionNumber = head.position.number }
            ends.keptAfter = head.position.number
            droppedWeight += weight
            records.removeFirst()
        }
        guard let notes else { return }
        while notes.count > 0 {
            let position = notes.first.head.position
            guard position <= committed.position,
                position.number <= keptAfter || notes.exceeds(retention)
            else { break }
            notesKeptAfter = position
            notes.removeFirst()
        }
    }

    /// The machine no longer keeps the versions of dropped entries.
    func forgetDroppedWeight() { droppedWeight = 0 }
}

/// The source of an event of a record.
package enum EventSource: Sendable, Equatable {
    /// A pulse, by its index in the reactor's declaration order.
    case pulse(Int)
    /// An activity, by its index in the session's table of activity names.
    case activity(Int)
    /// The whole state, encoded because a stream showed states when the record was made.
    case state
    /// The content of a note or of a failure, which only the action log shows.
    case content
}

/// The limits of a session's history in memory. A reader at an older position gets a `reset`.
package struct Retention: Sendable, Equatable {
    /// The number of records per session, at least 1.
    package var records: Int
    /// Bytes of history per session, and of framed events per stream. The newest record is kept
    /// even if it alone is larger.
    ///
    /// A session's history is its encoded events and its mutations (of a Cycler, its states), each
    /// measured as JSON. If the journal keeps records, each is measured. Otherwise only some
    /// mutations of requests are; the others count as much as the last measured one, or as the
    /// request's body if that is larger.
    package var bytes: Int

    package init(records: Int = 1_000, bytes: Int = 1_048_576) {
        self.records = max(1, records)
        self.bytes = max(0, bytes)
    }
}
