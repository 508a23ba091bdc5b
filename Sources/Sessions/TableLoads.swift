internal import DequeModule
internal import Feeds

/// The loads and deletions of a table's sessions.
///
/// Design: of the loads that no request waits for, a few are under way at a time, so that requests
/// for other sessions wait for no more than these.
final class TableLoads {
    var operations = PendingOperations()
    /// Sessions that no request waits for. The call gets nil if the session needs no load when its
    /// turn has come.
    private var waiting: Deque<(id: SessionID, ended: (SessionLookup?) -> Void)> = []
    /// Their loads that were begun. At most ``limit``.
    private(set) var underWay = 0
    /// Sessions to load with the next tick: they have left memory with work to do, or have
    /// subscribers that wait for them.
    var dueAtNextTick: Set<SessionID> = []
    /// The sessions that were woken so far because they act without a request.
    private(set) var wokenCount: UInt64 = 0

    private static let limit = 16

    /// Wakes sessions that act without a request. What cannot be loaded now is found again by a
    /// later search.
    func wakeWorking(
        _ ids: [SessionID], in table: SessionTable, then done: @escaping () -> Void
    ) {
        guard !ids.isEmpty else { return done() }
        var left = ids.count
        load(ids, in: table) { [unowned self] _, found in
            if case .session? = found { wokenCount += 1 }
            left -= 1
            if left == 0 { done() }
        }
    }

    func tickBegan(in table: SessionTable) {
        let due = dueAtNextTick
        dueAtNextTick = []
        reload(due, in: table)
    }

    /// Loads sessions that have left memory with work to do, or that have subscribers which wait
    /// for them. While the journal cannot be read or memory is full, the load is repeated with each
    /// tick.
    func reload(_ ids: some Sequence<SessionID>, in table: SessionTable) {
        load(ids, in: table) { [unowned self, unowned table] id, found in
            switch found {
            case .unreadable?, .noRoom?, .overBudget?: dueAtNextTick.insert(id)
            case .quarantined?, .noNode?: break
            default: return
            }
            // After lost history its subscribers reconnect with their last ids, and get the reason
            // or a `reset` then.
            if let feed = table.asleep(id), feed.isVoid, !feed.isFollowed { feed.abandonReaders() }
        }
    }

    private func load(
        _ ids: some Sequence<SessionID>, in table: SessionTable,
        then ended: @escaping (SessionID, SessionLookup?) -> Void
    ) {
        for id in ids { waiting.append((id, { ended(id, $0) })) }
        loadSome(in: table)
    }

    private func loadSome(in table: SessionTable) {
        while underWay < Self.limit, let (id, ended) = waiting.popFirst() {
            guard needsLoad(id, in: table) else {
                ended(nil)
                continue
            }
            underWay += 1
            SessionLoader(table: table).load(id) { [unowned self, unowned table] found in
                underWay -= 1
                ended(found)
                loadSome(in: table)
            }
        }
    }

    private func needsLoad(_ id: SessionID, in table: SessionTable) -> Bool {
        // Among several nodes another one may be able to rebuild it, and `find` says nothing of it;
        // this node has tried.
        if case .quarantined? = table.absent.find(id) { return false }
        if case .notInMemory = table.find(id) { return true }
        return false
    }

    func removeAll() {
        operations.removeAll()
        waiting = []
        dueAtNextTick = []
    }
}
