internal import Feeds
internal import JSONCoding
internal import Storage

// Records the work that is being carried out. If the process ends in it, the next start logs it; if
// it takes long, it is logged when it ends.
extension Session {
    /// Called before the reactor's code is called; ``endWork()`` is called when it has returned.
    func beginWork(_ work: CrashSlot.Work, _ action: UInt64 = 0) {
        if table.turns.isOpen { endWork() }
        table.beginWork(work, action, of: feed, incarnation)
    }

    func endWork() {
        table.endWork(of: feed) { $0.work == .action ? caseName(of: $0.action) : nil }
    }

    /// Begins the next action of the batch that is being received.
    @usableFromInline
    func beginAction(_ number: UInt64) {
        // The turn of the first one began with the request.
        if !table.turns.isOpen(for: number) { beginWork(.action, number) }
    }

    /// The case of an action of the request that is being received, as the client named it; nil
    /// if it has none.
    private func caseName(of action: UInt64) -> String? {
        struct Case: Decodable {
            let type: String
        }
        guard let posted = arrival.posted, action >= posted.first else { return nil }
        let index = Int(clamping: action - posted.first)
        let cases =
            JSON.isArray(posted.body)
            ? try? JSON.decode([Case].self, from: posted.body)
            : (try? JSON.decode(Case.self, from: posted.body)).map { [$0] }
        // A body without cases, or one that is refused: the log has the action's number.
        guard let cases, index < cases.count else { return nil }
        return String(cases[index].type.prefix(128))
    }
}

extension SessionTable {
    /// - Parameter owner: the owner of the crash slot: the session's incarnation.
    func beginWork(
        _ work: CrashSlot.Work, _ action: UInt64 = 0, of feed: Feed, _ owner: UInt64
    ) {
        if turns.isOpen { endWork(of: feed) }
        if !turns.slot.names(owner) { turns.slot.name(feed.id.text, feed.reactor, owner: owner) }
        turns.begin(work, action: action)
    }

    /// - Parameter actionCase: returns the case of the action of a slow turn.
    func endWork(of feed: Feed, _ actionCase: (Turn) -> String? = { _ in nil }) {
        guard let turn = turns.end() else { return }
        output.timeHasPassed()
        guard turn.nanoseconds >= limits.slowTurnNanoseconds else { return }
        output.report(.slow(turn, actionCase: actionCase(turn)), of: feed)
    }
}
