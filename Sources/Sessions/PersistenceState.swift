internal import Feeds
internal import Storage

/// Per-session state used only when the journal stores records; nil otherwise. The state of its
/// readers is in ``FeedArchive``.
final class PersistenceState {
    /// The record of the newest snapshot.
    var snapshotNumber: UInt64
    /// Whether the newest snapshot says that the session listens to sources; nil: it is not known.
    var snapshotListens: Bool?
    /// The state that a fork begins with, until its first snapshot.
    var first: [UInt8]?
    /// The bytes of mutations and activities since the newest snapshot, counted from when the
    /// session woke.
    private var bytesSinceSnapshot = 0
    /// The bytes of the state in the newest snapshot.
    private var snapshotBytes = 0
    let hasStoredAnswers: Bool
    /// The epoch of this node's ownership; 0 for a journal without owners.
    var epoch: Int64
    /// When a question was sent to which the journal has answered that memory has its newest state,
    /// by ``LoopServices/uptime``. Only for a journal with owners.
    var confirmed: Int64 = 0
    /// Whether a commit has succeeded since the session woke.
    var hasCommitted = false
    /// The table's tick when the session was last used.
    var lastUse: UInt64 = 0
    /// Whether the session was used since ``Eviction`` last looked whether it may go to its home.
    var isUsed = true
    /// When it was found unused, by ``LoopServices/uptime``. Only if ``isUsed`` is false.
    var unusedSince: Int64 = 0
    /// The place in the table's ``IdleSessions``; nil while the session is asleep.
    var idlePosition: IdleSessions.Place?

    init(_ saved: SavedSession?) {
        snapshotNumber = saved?.snapshot?.number ?? 0
        snapshotListens = saved?.snapshot?.listens ?? false
        hasStoredAnswers = saved?.hasStoredAnswers ?? false
        epoch = saved?.epoch ?? 0
    }

    // MARK: Snapshots

    /// Counts the bytes of a record.
    ///
    /// - Parameter number: the number of the record.
    /// - Returns: whether a snapshot is due.
    func recordWritten(_ bytes: Int, at number: UInt64, _ limits: SessionLimits) -> Bool {
        bytesSinceSnapshot += bytes
        let records = number > snapshotNumber ? number - snapshotNumber : 0
        return records >= UInt64(limits.snapshotEvery)
            || bytesSinceSnapshot >= max(limits.snapshotBytes, snapshotBytes)
    }

    /// The newest snapshot may not be in the journal: another one is due.
    func forgetSnapshot() {
        snapshotNumber = 0
        snapshotListens = nil
    }

    /// Records that a snapshot was taken.
    func snapshotTaken(_ bytes: Int, at number: UInt64, listens: Bool) {
        snapshotNumber = number
        snapshotListens = listens
        bytesSinceSnapshot = 0
        snapshotBytes = bytes
    }
}
