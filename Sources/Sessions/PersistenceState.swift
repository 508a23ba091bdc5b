internal import Feeds
internal import Storage

/// Per-session state used only when the journal stores records; nil otherwise. The state of its
/// readers is in ``FeedArchive``.
package final class PersistenceState {
    var snapshots: SnapshotTally
    /// How far the session has read its topics.
    var topics: TopicReads
    /// The state that a fork begins with, until its first snapshot.
    var first: [UInt8]?
    let hasStoredAnswers: Bool
    /// The data of the table's ``SessionPlacement`` about this stay in memory; nil without one.
    package var placed: AnyObject?
    /// Whether a commit has succeeded since the session woke.
    var hasCommitted = false
    /// The table's tick when the session was last used.
    var lastUse: UInt64 = 0
    /// Whether the session was used since ``takeUse()`` was last called.
    var isUsed = true
    /// The place in the table's ``IdleSessions``; nil while the session is asleep.
    var idlePosition: IdleSessions.Place?

    init(_ saved: SavedSession?) {
        snapshots = SnapshotTally(
            number: saved?.snapshot?.number ?? 0, listens: saved?.snapshot?.listens ?? false)
        hasStoredAnswers = saved?.hasStoredAnswers ?? false
        topics = TopicReads(saved)
    }

    /// Whether the session was used since the last call. A function for the reason of ADR-0013.
    package func takeUse() -> Bool {
        defer { isUsed = false }
        return isUsed
    }
}

/// The newest snapshot, and the bytes that were written after it.
struct SnapshotTally {
    /// The record of the snapshot.
    private(set) var number: UInt64
    /// Whether it says that the session listens to sources; nil: it is not known.
    var listens: Bool?
    /// The bytes of its state.
    private var stateBytes = 0
    /// The bytes of mutations and activities, counted from when the session woke.
    private var recordBytes = 0
    /// The bytes of notes and failures, counted from the same time.
    private var entryBytes = 0

    init(number: UInt64, listens: Bool) { (self.number, self.listens) = (number, listens) }

    /// Counts the bytes of a record.
    ///
    /// - Parameter number: the number of the record.
    /// - Returns: whether a snapshot is due.
    mutating func recordWritten(_ bytes: Int, at number: UInt64, _ limits: SessionLimits) -> Bool {
        recordBytes += bytes
        let records = number > self.number ? number - self.number : 0
        return records >= UInt64(limits.snapshotEvery)
            || recordBytes >= max(limits.snapshotBytes, stateBytes)
    }

    /// Counts work of mutations, as bytes of records.
    mutating func worked(_ bytes: Int) { recordBytes += bytes }

    /// Counts the bytes of a note or a failure, and 64 more for its overhead in the journal.
    mutating func entryWritten(_ bytes: Int) { entryBytes += bytes + 64 }

    /// Whether notes and failures make a snapshot due. Each such snapshot may need a record of its
    /// own, so it becomes due only after a mebibyte or more.
    func areEntriesDue(_ limits: SessionLimits) -> Bool {
        entryBytes >= max(1 << 20, limits.snapshotBytes, stateBytes)
    }

    /// Whether the history ends with too many notes for the session to leave memory without a
    /// closing record. Why: when the session wakes, the bytes of these notes are not counted.
    func mustClose(_ end: HistoryEnd) -> Bool {
        end.notes > 0 && entryBytes > 0 && (entryBytes >= 262_144 || end.notes >= 1_000)
    }

    /// The newest snapshot may not be in the journal: another one is due.
    mutating func forget() {
        number = 0
        listens = nil
    }

    /// Records that a snapshot was taken.
    mutating func taken(_ bytes: Int, at number: UInt64, listens: Bool) {
        self.number = number
        self.listens = listens
        recordBytes = 0
        entryBytes = 0
        stateBytes = bytes
    }
}
