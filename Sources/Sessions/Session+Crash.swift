internal import Feeds
internal import JSONCoding
internal import Storage

// Records the work that is being carried out. If the process ends in it, the next start logs it; if
// it takes long, it is logged when it ends.
extension Session {
    /// Called before the reactor's code is called; ``endWork()`` is called when it has returned.
    func beginWork(_ work: CrashSlot.Work, _ action: UInt64 = 0) {
        let turns = table.turns
        if turns.isOpen { endWork() }
        if !turns.slot.names(incarnation) {
            turns.slot.name(id.text, registration.name, owner: incarnation)
        }
        turns.begin(work, action: action)
    }

    func endWork() {
        if let turn = table.turns.end() { ended(turn) }
    }

    /// Begins the next action of the batch that is being received.
    @usableFromInline
    func beginAction(_ number: UInt64) {
        // The turn of the first one began with the request.
        if !table.turns.isOpen(for: number) { beginWork(.action, number) }
    }

    private func ended(_ turn: Turn) {
        table.output.timeHasPassed()
        guard turn.nanoseconds >= table.limits.slowTurnNanoseconds else { return }
        report(.slow(turn, actionCase: turn.work == .action ? caseName(of: turn.action) : nil))
    }

    /// The case of an action of the request that is being received, as the client named it; nil if it
    /// has none.
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
