internal import DequeModule
internal import Feeds

/// Ids of ended sessions, up to a limit; the oldest are forgotten first.
///
/// The id of a session that is created again stays here: a look-up finds the session in memory
/// first, and if its creation fails the id is still that of an ended session.
struct EndedSessions {
    private var ids: Set<SessionID> = []
    private var order: Deque<SessionID> = []

    func contains(_ id: SessionID) -> Bool { ids.contains(id) }

    mutating func insert(_ id: SessionID, limit: Int) {
        guard ids.insert(id).inserted else { return }
        order.append(id)
        while ids.count > limit, let oldest = order.popFirst() { ids.remove(oldest) }
    }
}
