internal import DequeModule
package import Feeds

/// The loads and deletions of a table's sessions.
///
/// Design: only a few loads that no request waits for are under way at a time. So a request for
/// another session waits for these few at most.
package final class TableLoads {
    var operations = PendingOperations()
    /// Sessions to load that no request waits for. `ended` gets nil if the session needs no load
    /// when its turn comes.
    private var waiting: Deque<(id: SessionID, ended: (SessionLookup?) -> Void)> = []
    /// The number of these loads that are under way. At most ``limit``.
    private(set) var underWay = 0
    /// Sessions to load at the next tick: they left memory with work to do, or their subscribers
    /// wait.
    var dueAtNextTick: Set<SessionID> = []
    /// The number of sessions that were woken because they act without a request.
    private(set) var wokenCount: UInt64 = 0

    private static let limit = 16

    /// Loads a session at the next tick.
    package func loadAtNextTick(_ id: SessionID) { dueAtNextTick.insert(id) }

    /// Wakes sessions that act without a request. A later search finds again those that cannot be
    /// loaded now.
    ///
    /// - Parameter each: called once for each session, when it is loaded or has failed to load.
    func wakeWorking(
        _ ids: [SessionID], in table: SessionTable,
        _ each: @escaping (SessionID) -> Void = { _ in }, then done: @escaping () -> Void
    ) {
        guard !ids.isEmpty else { return done() }
        var left = ids.count
        load(ids, in: table) { [unowned self] id, found in
            if case .session? = found { wokenCount += 1 }
            each(id)
            left -= 1
            if left == 0 { done() }
        }
    }

    func tickBegan(in table: SessionTable) {
        let due = dueAtNextTick
        dueAtNextTick = []
        reload(due, in: table)
    }

    /// Loads sessions that left memory with work to do, or whose subscribers wait. While the
    /// journal cannot be read or memory is full, each tick repeats the load.
    func reload(_ ids: some Sequence<SessionID>, in table: SessionTable) {
        load(ids, in: table) { [unowned self, unowned table] id, found in
            switch found {
            case .unreadable?, .noRoom?, .overBudget?: dueAtNextTick.insert(id)
            case .quarantined?, .noNode?: break
            default: return
            }
            // After lost history, the session's subscribers reconnect with their last ids, and then
            // get the reason or a `reset`.
            if let feed = table.asleep(id), feed.isVoid, !feed.isElsewhere { feed.abandonReaders() }
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
            SessionLoader(table: table, isWanted: false).load(id) {
                [unowned self, unowned table] found in
                underWay -= 1
                if case .session(let session) = found { table.eviction.makeOldest(session) }
                ended(found)
                loadSome(in: table)
            }
        }
    }

    private func needsLoad(_ id: SessionID, in table: SessionTable) -> Bool {
        // In a cluster, `find` does not report a quarantined session, because another node may be
        // able to rebuild it. This node has tried and failed.
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
