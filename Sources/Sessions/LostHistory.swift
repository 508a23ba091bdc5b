internal import Feeds
internal import Storage

/// Forgets what a loop has in memory, because the journal has lost history (ADR-0047, rule 3):
/// records that were acknowledged may be gone, and others may have their numbers.
///
/// Design: every session leaves memory, and requests that wait for it get `outcome_unknown`. Its
/// subscribers keep their connections. Sessions that have subscribers or were at work are loaded
/// again at once; the next generation takes the subscribers over, and begins with a `reset`.
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
        var needed: [SessionID] = []
        let asleep = table.sessions.asleep
        for session in Array(table.sessions.all) {
            let (works, isCreated) = (session.isWorking, !session.isBeingCreated)
            FailedCommit(session: session, failure: Self.failure, isHistoryLost: true).forget()
            if isCreated, forget(session.feed) || works { needed.append(session.id) }
        }
        for feed in asleep where forget(feed) { needed.append(feed.id) }
        table.commits.abandonDeletions(in: table, Self.failure)
        table.commits.forgetUndecided()
        table.loads.reload(needed, in: table)
    }

    /// - Returns: whether the session has to be claimed for its subscribers.
    private func forget(_ feed: Feed) -> Bool {
        // A session that has ended keeps its end.
        guard !feed.isOver else { return false }
        guard !feed.streams.isEmpty else {
            table.forget(feed)
            return false
        }
        feed.strandReaders()
        // A followed session is read again, but not claimed.
        guard !feed.isElsewhere else {
            table.placement?.loadState(of: feed)
            return false
        }
        // Another node may own the session by now. If this node still owns it, it follows the
        // session only until it has loaded the session again.
        table.placement?.carryOn(feed, in: table)
        return true
    }
}
