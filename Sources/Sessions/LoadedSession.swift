internal import Feeds
internal import Storage

/// A session as the archive has it, for readers. It counts while it waits for the loop, and until
/// its state has been made.
enum LoadedSession: Sendable {
    /// The charge is for the bytes that were read and the state that is made of them; nil if these
    /// are small.
    case saved(SavedSession?, WorkCharge?)
    /// There is no room for the answer, and its bytes are released.
    case overBudget

    /// Called on the archive's thread, so that answers that wait for the loop are counted.
    fileprivate init(_ saved: SavedSession?, _ work: WorkBudget, for client: WorkClient?) {
        let bytes = RebuildQueue.factor * (saved?.stateBytes ?? 0)
        guard bytes > WorkBudget.smallestBytes else {
            self = .saved(saved, nil)
            return
        }
        self = work.charge(bytes, for: client).map { .saved(saved, $0) } ?? .overBudget
    }
}

extension SessionTable {
    /// Loads a session that this node does not own, at the cost of a client.
    func load(
        _ id: SessionID, for client: WorkClient?,
        then act: @escaping (Result<LoadedSession, JournalFailure>) -> Void
    ) {
        let work = services.work
        ask { archive, answer in
            archive.load(id.text) { saved in
                answer(saved.map { LoadedSession($0, work, for: client) })
            }
        } then: { loaded in
            act(loaded)
        }
    }
}

extension JournalFailure {
    /// For subscribers of a followed session, which no client's request has loaded.
    static let noRoom = JournalFailure(
        reason: .unavailable, detail: "the budget for answers has no room for the session's state")
}
