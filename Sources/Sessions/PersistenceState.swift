internal import Storage

/// Per-session state used only when the journal stores records; nil otherwise.
final class PersistenceState {
    /// The newest snapshot is of this record.
    var snapshotNumber: UInt64
    /// Bytes of mutations and activities since, as far as this life has seen them.
    var bytesSince = 0
    /// Bytes of the state that it has.
    var snapshotBytes = 0
    /// Everything after this record was kept when the session woke; the journal trims on its own.
    private(set) var keptAfter: UInt64
    private(set) var keptVersion: UInt64
    private(set) var hasStoredAnswers: Bool
    /// Reads of the archive that are under way: the session stays in memory.
    var archiveReads = 0
    /// Requests for states that are read from the archive.
    var readers: Set<UInt64> = []
    /// Slices of the archive for its readers.
    var slices = CatchUpCache()
    /// The journal has taken something since the session woke.
    var hasCommitted = false
    /// The table's tick when the session was last used.
    var lastUse: UInt64 = 0
    /// Its place in the table's ``IdleSessions``; nil while it is asleep.
    var idlePosition: IdleSessions.Place?

    init(_ saved: SavedSession?) {
        snapshotNumber = saved?.snapshot?.number ?? 0
        keptAfter = saved?.keptAfter ?? 0
        keptVersion = saved?.keptVersion ?? 0
        hasStoredAnswers = saved?.hasStoredAnswers ?? false
    }

    /// The session comes back into memory.
    func wake(_ saved: SavedSession) {
        snapshotNumber = saved.snapshot?.number ?? 0
        keptAfter = saved.keptAfter
        keptVersion = saved.keptVersion
        hasStoredAnswers = saved.hasStoredAnswers
        hasCommitted = false
    }
}
