internal import Storage

/// Per-session state used only when the journal stores records; nil otherwise.
final class PersistenceState {
    /// The record of the newest snapshot.
    var snapshotNumber: UInt64
    /// Whether the newest snapshot says that the session listens to sources; nil: it is not known.
    var snapshotListens: Bool?
    /// The state that a fork begins with, until its first snapshot.
    var first: [UInt8]?
    /// The bytes of mutations and activities since the newest snapshot, counted from when the session
    /// woke.
    private var bytesSinceSnapshot = 0
    /// The bytes of the state in the newest snapshot.
    private var snapshotBytes = 0
    /// The journal had everything after this record when the session woke. It trims independently.
    private(set) var keptAfter: UInt64
    private(set) var keptVersion: UInt64
    private(set) var hasStoredAnswers: Bool
    /// The epoch of this node's ownership; 0 for a journal without owners.
    var epoch: Int64
    /// When a question was sent to which the journal has answered that memory has its newest state, by
    /// ``LoopServices/uptime``. Only for a journal with owners.
    var confirmed: Int64 = 0
    /// The number of reads of the archive that are under way. The session stays in memory meanwhile.
    var archiveReads = 0
    /// The size of the largest snapshot that was read to rebuild a state: earlier states may be
    /// larger than the present one.
    private(set) var rebuiltBytes = 0
    /// The tokens of requests that are answered from the archive.
    var readers: Set<UInt64> = []
    /// Slices of the archive for subscribers that catch up.
    var slices = CatchUpCache()
    /// Records that no subscriber has to read from the archive.
    var received = ReceivedRecords()
    /// Whether the session is among the loop's ``HeldRecords``.
    var holdsRecords = false
    /// Whether a commit has succeeded since the session woke.
    var hasCommitted = false
    /// Whether the journal has lost history of this generation. The session never wakes again: only its
    /// subscribers are left, which wait for the next generation.
    var isVoid = false
    /// Nil unless the session is followed.
    var following: Following?
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
        keptAfter = saved?.keptAfter ?? 0
        keptVersion = saved?.keptVersion ?? 0
        hasStoredAnswers = saved?.hasStoredAnswers ?? false
        epoch = saved?.epoch ?? 0
    }

    /// Takes the values of a session that wakes.
    func wake(_ saved: SavedSession) {
        snapshotNumber = saved.snapshot?.number ?? 0
        snapshotListens = saved.snapshot?.listens ?? false
        keptAfter = saved.keptAfter
        keptVersion = saved.keptVersion
        hasStoredAnswers = saved.hasStoredAnswers
        epoch = saved.epoch
        hasCommitted = false
    }

    /// Takes the values of a session that is followed, and of which the journal has more.
    func advance(to head: SavedHead) {
        keptAfter = head.keptAfter
        keptVersion = head.keptVersion
    }

    // MARK: Snapshots

    /// A snapshot of this size was read to rebuild a state.
    func noteRebuilt(_ bytes: Int) { rebuiltBytes = max(rebuiltBytes, bytes) }

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
