package import Storage

/// The part of a feed that exists only with an archive of the journal.
package final class FeedArchive {
    /// When the session was loaded, the journal had everything after this record. It may have
    /// trimmed more since.
    package private(set) var keptAfter: UInt64
    package private(set) var keptVersion: UInt64
    /// The size of the largest snapshot that was read to rebuild a state: earlier states may be
    /// larger than the present one.
    private(set) var rebuiltBytes = 0
    /// The number of reads that are under way. The session stays in memory meanwhile.
    package var reads = 0
    /// The tokens of requests that are answered from the archive.
    package var readers: Set<UInt64> = []
    /// Slices for subscribers that catch up.
    var slices = CatchUpCache()
    /// Records that no subscriber has to read from the archive.
    var received = ReceivedRecords()
    /// Whether the feed is among the loop's ``HeldRecords``.
    var holdsRecords = false
    /// Whether the journal has lost history of this generation. Only the readers are left, and they
    /// wait for the next generation.
    package var isVoid = false
    private var present: (any FeedUpkeep)?

    /// Nil if a session of this process continues the feed, or wakes for its readers.
    package var upkeep: (any FeedUpkeep)? {
        get { present }
        set { present = newValue }
    }

    init(_ saved: SavedSession?) {
        keptAfter = saved?.keptAfter ?? 0
        keptVersion = saved?.keptVersion ?? 0
    }

    /// Takes the values of a session that wakes.
    package func wake(_ saved: SavedSession) {
        keptAfter = saved.keptAfter
        keptVersion = saved.keptVersion
    }

    /// The journal has newer records of the feed.
    package func advance(to head: SavedHead) {
        keptAfter = head.keptAfter
        keptVersion = head.keptVersion
    }

    /// A snapshot of this size was read to rebuild a state.
    func noteRebuilt(_ bytes: Int) { rebuiltBytes = max(rebuiltBytes, bytes) }
}

// Reads of the archive.
extension Feed {
    /// Begins a read. The session stays in memory until ``endArchiveRead()``.
    package func beginArchiveRead() { archive?.reads += 1 }

    package func endArchiveRead() { archive?.reads -= 1 }

    /// Reads the archive. The session stays in memory until `act` has returned, unless one of its
    /// commits fails meanwhile.
    package func askArchive<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void,
        then act: @escaping (Result<Value, JournalFailure>) -> Void
    ) {
        beginArchiveRead()
        loop.journal.ask(question) { [self] result in
            act(result)
            endArchiveRead()
        }
    }

    /// Reads the records or snapshots, even of a followed session that has ended. Otherwise the
    /// same as ``askArchive(_:then:)``.
    func askHistory<Value: Sendable>(
        _ question: (any HistoryArchive, @escaping ArchiveAnswer<Value>) -> Void,
        then act: @escaping (Result<Value, JournalFailure>) -> Void
    ) {
        let ended = isOver ? loop.journal.journal.ownership?.endedSessions : nil
        askArchive({ archive, answer in question(ended ?? archive, answer) }, then: act)
    }
}
