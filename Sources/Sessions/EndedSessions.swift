internal import DequeModule

/// Ids of sessions that have ended, up to a limit; the oldest are forgotten first.
///
/// An id that lives again stays here: a look finds the living session first, and if its
/// creation fails it is still the id of one that has ended.
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
