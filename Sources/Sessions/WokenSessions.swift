internal import DequeModule
package import Feeds

/// The sessions of a loop that are woken in the background, because they act without a request.
///
/// Design: a few loads at a time, so that requests for other sessions wait for no more than these. What
/// cannot be loaded now is found again by a later search.
struct WokenSessions {
    /// Sessions that were found together.
    private final class Group {
        var left: Int
        let done: () -> Void

        init(_ count: Int, _ done: @escaping () -> Void) {
            left = count
            self.done = done
        }
    }

    private var waiting: Deque<(id: SessionID, group: Group)> = []
    /// Loads that were begun. At most ``limit``.
    private(set) var underWay = 0
    /// The sessions that were woken so far.
    private(set) var count: UInt64 = 0

    /// Loads at a time.
    private static let limit = 16

    fileprivate mutating func append(_ ids: [SessionID], then done: @escaping () -> Void) {
        let group = Group(ids.count, done)
        waiting += ids.map { (id: $0, group: group) }
    }

    /// - Returns: a session to load, and the call for its end; nil if there is none, or if enough are
    ///   being loaded.
    fileprivate mutating func beginNext() -> (id: SessionID, end: () -> Void)? {
        guard underWay < Self.limit, let (id, group) = waiting.popFirst() else { return nil }
        underWay += 1
        let end = {
            group.left -= 1
            if group.left == 0 { group.done() }
        }
        return (id, end)
    }

    fileprivate mutating func endOne(isWoken: Bool) {
        underWay -= 1
        if isWoken { count += 1 }
    }

    mutating func removeAll() { waiting = [] }
}

extension SessionTable {
    /// Wakes sessions that act without a request, a few at a time. A session that is in memory already, is
    /// known to be quarantined, or belongs to another node is left alone.
    ///
    /// - Parameter done: Called on this loop once for all of them; never if the process ends before.
    package func wakeWorking(_ ids: [SessionID], then done: @escaping () -> Void) {
        guard !ids.isEmpty else { return done() }
        loads.woken.append(ids, then: done)
        wakeSome()
    }

    private func wakeSome() {
        while let (id, end) = loads.woken.beginNext() {
            guard needsWaking(id) else {
                loads.woken.endOne(isWoken: false)
                end()
                continue
            }
            SessionLoader(table: self).load(id) { [unowned self] found in
                var isWoken = false
                if case .session = found { isWoken = true }
                loads.woken.endOne(isWoken: isWoken)
                end()
                wakeSome()
            }
        }
    }

    private func needsWaking(_ id: SessionID) -> Bool {
        // Among several nodes another one may be able to rebuild it, and `find` says nothing of it; this
        // node has tried.
        if case .quarantined? = absent.find(id) { return false }
        guard case .notInMemory = find(id) else { return false }
        return !loads.operations.isDeleting(id)
    }
}
