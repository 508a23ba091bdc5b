internal import DequeModule
internal import Feeds
internal import Storage

/// Forgets what a loop has in memory, because the journal has lost history (ADR-0047, rule 3): records
/// that were acknowledged may be gone, and others may have their numbers.
///
/// Design: every session leaves memory, and requests that wait for it get `outcome_unknown`. Its
/// subscribers keep their connections. Sessions that have subscribers or were at work are loaded again
/// at once; the next generation takes the subscribers over, and begins with a `reset`.
struct LostHistory {
    let table: SessionTable

    private static let failure = JournalFailure(
        reason: .outcomeUnknown,
        detail: "the journal has lost history: what was acknowledged before may be lost")

    /// Forgets everything, and begins to load what is needed.
    func forget() {
        table.feeds.journal.losses += 1
        table.absent.removeAll()
        table.dropShown()
        let asleep = table.sessions.asleep
        for session in Array(table.sessions.all) {
            let (works, isCreated) = (session.isWorking, !session.isBeingCreated)
            FailedCommit(session: session, failure: Self.failure, isHistoryLost: true).forget()
            if isCreated { forget(session.feed, works: works) }
        }
        for feed in asleep { forget(feed) }
        table.commits.abandonDeletions(in: table, Self.failure)
        table.commits.forgetUndecided()
        loadSome()
    }

    private func forget(_ feed: Feed, works: Bool = false) {
        // A followed session is read again, and not claimed; one that has ended keeps its end.
        guard !feed.isOver else { return }
        let isFollowed = feed.isFollowed
        if !isFollowed, works || !feed.streams.isEmpty { table.loads.losses.append(feed.id) }
        guard !feed.streams.isEmpty else { return table.forget(feed) }
        feed.strandReaders()
        if isFollowed {
            table.cluster?.followed.loadState(of: feed)
        } else {
            // Another node may own the session by now. If this one still does, the claim ends that.
            table.cluster?.followed.carryOn(feed, in: table)
        }
    }

    // MARK: Loading again

    private func loadSome() {
        while let id = table.loads.losses.beginNext() {
            // A request may have loaded the session meanwhile.
            guard case .notInMemory = table.find(id) else {
                table.loads.losses.endOne()
                continue
            }
            SessionLoader(table: table).load(id) { loaded in
                loadEnded(id, loaded)
                table.loads.losses.endOne()
                loadSome()
            }
        }
    }

    private func loadEnded(_ id: SessionID, _ loaded: SessionLookup) {
        switch loaded {
        case .session, .copy, .ended, .nothing, .notInMemory, .elsewhere: return
        case .unreadable, .noRoom, .overBudget: table.loads.reopenings.addForNextTick(id)
        case .quarantined, .noNode: break
        }
        // The subscribers reconnect with their last ids, and get the reason or a `reset` then.
        if let feed = table.asleep(id), feed.isVoid, !feed.isFollowed { feed.abandonReaders() }
    }
}

/// The sessions that a loop loads again after losses of history.
struct HistoryLosses {
    private var waiting: Deque<SessionID> = []
    private var underWay = 0

    /// Loads at a time: requests for other sessions wait for no more than these.
    private static let limit = 16

    mutating func append(_ id: SessionID) { waiting.append(id) }

    /// - Returns: a session to load; nil if there is none, or if enough are being loaded.
    mutating func beginNext() -> SessionID? {
        guard underWay < Self.limit, let next = waiting.popFirst() else { return nil }
        underWay += 1
        return next
    }

    mutating func endOne() { underWay -= 1 }

    mutating func removeAll() { waiting = [] }
}
