internal import Feeds
internal import Sessions
internal import Storage

/// A session that was read from the archive for readers. It is charged to the work budget while it
/// waits for the loop, and until its state has been made.
enum LoadedSession: Sendable {
    /// The charge is for the bytes that were read and the state that is made of them; nil if these
    /// are small.
    case saved(SavedSession?, WorkCharge?)
    /// There is no room for the answer, and its bytes are released.
    case overBudget

    /// Called on the archive's thread, so that answers that wait for the loop are charged, too.
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

/// Limits the number of simultaneous loads.
///
/// Design: the size of a session is not known before the journal has answered. If there is no room
/// for several loads together, fewer are sent at a time, and those without room are sent again.
///
/// Bound: a load is sent again at most ``repeatLimit`` times. Otherwise a load that finds no room
/// because of what its own client holds would be repeated for as long as other loads are under way.
struct LoadPace {
    /// States may be large, so only this many are loaded at the same time.
    private static let limit = 64
    /// If there is room for one load at a time, about a third of those that wait are sent again,
    /// and a third of these once more. So this is enough for thousands.
    private static let repeatLimit = 8
    private var limit = Self.limit
    private var underWay = 0
    private var sent: UInt64 = 0

    /// A load that was sent.
    struct Ticket {
        fileprivate let number: UInt64
        fileprivate let isFirst: Bool
    }

    var hasRoom: Bool { underWay < limit }

    mutating func send() -> Ticket {
        underWay += 1
        sent += 1
        return Ticket(number: sent, isFirst: underWay == 1)
    }

    /// Ends a load, because the journal has answered.
    ///
    /// - Parameter repeats: how often the load was sent again until now.
    /// - Returns: whether to send the load again, because it found no room while others were under
    ///   way.
    mutating func end(
        _ ticket: Ticket, _ result: Result<LoadedSession, JournalFailure>, after repeats: Int
    ) -> Bool {
        underWay -= 1
        guard case .success(.overBudget) = result else {
            limit = min(limit + 1, Self.limit)
            return false
        }
        limit = max(limit / 2, 1)
        return repeats < Self.repeatLimit && (!ticket.isFirst || ticket.number < sent)
    }
}

extension JournalFailure {
    /// For a load that no client has requested: subscribers of a followed session need it.
    static let noRoom = JournalFailure(
        reason: .unavailable, detail: "the budget for answers has no room for the session's state")
}
