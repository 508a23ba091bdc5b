@testable import Feeds
import Storage

@testable import Sessions

// Each session has an owner, or none, by its id. The clients may own few sessions, or many.
extension WholeLife {
    private static let clients: [ExactText] = ["ada", "eve"]

    static func owner(of id: String) -> ExactText? {
        let number = id.utf8.reduce(0) { $0 + Int($1) } % 3
        return number < clients.count ? clients[number] : nil
    }

    /// The counts with which a server starts on this journal.
    static func owners(in journal: ScriptedJournal, limit: Int) -> SessionOwners {
        SessionOwners(limit: limit, counts: owned(in: journal))
    }

    static func owned(in journal: ScriptedJournal) -> [ExactText: Int] {
        var living: [SessionKey: ExactText] = [:]
        for entry in journal.all {
            switch entry.kind {
            case .created: living[entry.key] = SessionCreation(content: entry.content).owner
            case .deleted: living[entry.key] = nil
            default: break
            }
        }
        return living.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    /// A count is never below the number of sessions in the journal.
    ///
    /// - Parameter isOver: whether nothing is under way: then the count is exact, unless the
    ///   outcome of a commit of this process is unknown.
    func checkOwners(isOver: Bool = false) {
        guard recounts == 0 else { return }
        for feed in rig.table.sessions.all.map(\.feed)
        where feed.id.topic == nil && feed.owner != Self.owner(of: feed.id.text) {
            blame("\(feed.id.text) belongs to \(feed.owner ?? "nobody")")
        }
        let owned = Self.owned(in: rig.journal)
        for client in Self.clients {
            let (count, real) = (owners.count(of: client), owned[client] ?? 0)
            let isExact = isOver && !mayOwnMore
            if count < real || (isExact && count > real) {
                blame("\(client) has \(count) sessions by count, and \(real) in the journal")
            }
        }
    }
}
