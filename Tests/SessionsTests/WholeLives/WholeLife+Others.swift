import Storage

@testable import Feeds
@testable import Sessions

// Other processes that write to the journal, and verdicts that are neither success nor failure.
extension WholeLife {
    /// Another process continues a session, which this one may have in memory, with
    /// commits under way.
    func writeAsOther() throws {
        guard scope.hasArchive, chance(1, in: 2) else { return }
        let id = anyID()
        guard reactors[id] == "ledger", !stubbed.contains(id) else { return }
        let other = ForeignWriter(journal: rig.journal)
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: other.annotate(id, time: rig.clock.milliseconds)
            case 1:
                try other.mutate(
                    id, by: Ledger.Mutation.touch, [], time: rig.clock.milliseconds)
            default:
                lastForeign += 1
                let event = HistoryEntry.Event(name: "a", data: Array("\(lastForeign)".utf8))
                try other.mutate(
                    id, by: Ledger.Mutation.set(a: lastForeign, b: nil), [event],
                    time: rig.clock.milliseconds)
            }
        }
        overtaken.insert(id)
        foreign.insert(id)
        refusable.insert(id)
    }

    /// A journal refuses nothing while all commits succeed and nobody else writes.
    func checkRefusals() {
        for key in rig.journal.refusedKeys where !refusable.contains(key.session) {
            blame("\(key) was refused without a reason")
        }
    }

    /// Sessions that others have continued find that out with their next commit.
    func findOutAboutOthers() {
        for id in overtaken {
            guard let name = SessionID(id), case .session(let session) = rig.table.find(name),
                session.isRunning
            else { continue }
            session.takeSnapshot()
        }
        overtaken = []
    }
}
