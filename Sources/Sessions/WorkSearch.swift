package import Cluster
package import Feeds
package import Storage
internal import Synchronization

/// Wakes the sessions that act without a request and that no process has awake: when the server
/// starts, and in a cluster when a member has ended.
///
/// Design: one search for all loops of the process, page by page. The next page is read when the
/// sessions of the previous one are awake, so memory holds only one page. Each node wakes the
/// sessions whose home it is. The claim decides, so no session is woken twice. The next search
/// finds the sessions that cannot be woken now.
package final class WorkSearch: Sendable {
    /// Wakes sessions on their loops, and calls `done` once, on any thread.
    package typealias Wake =
        @Sendable (_ sessions: [SessionID], _ done: @escaping @Sendable () -> Void) -> Void

    struct Progress {
        private var isUnderWay = false
        /// Whether another search follows the present one: the members have changed.
        private var isRepeated = false
        var isStopped = false

        /// - Returns: whether the search begins now.
        mutating func begin() -> Bool {
            guard !isUnderWay else {
                isRepeated = true
                return false
            }
            isUnderWay = !isStopped
            return isUnderWay
        }

        /// - Returns: whether another search begins now.
        mutating func end() -> Bool {
            isUnderWay = isRepeated && !isStopped
            isRepeated = false
            return isUnderWay
        }
    }

    private struct State {
        var progress = Progress()
        var members: Members?
    }

    let finder: any WorkFinder
    private let ownership: (any Ownership)?
    /// The names of the reactors that this process hosts.
    private let hosted: Set<String>
    /// Sessions that are woken by requests alone.
    private let skipped: Set<String>
    /// The time between the start of the process and the first search. Default zero; ten minutes if
    /// a reactor's code on a loop ended the last process. Why: sessions that end every process that
    /// wakes them would otherwise keep the server from serving requests.
    package let firstPause: Duration
    private let wake: Wake
    private let state = Mutex(State())

    /// Nil if the journal has nothing to search.
    ///
    /// - Parameter hosted: The reactors that this process hosts.
    package init?(_ journal: any Journal, _ hosted: [Registration], wake: @escaping Wake) {
        guard let finder = journal.work else { return nil }
        self.finder = finder
        self.hosted = Set(hosted.map(\.name))
        ownership = journal.ownership
        let suspects = journal.interrupted.compactMap { work -> String? in
            if case .loop = work.trace { work.session } else { nil }
        }
        skipped = Set(suspects)
        firstPause = suspects.isEmpty ? .zero : .seconds(600)
        self.wake = wake
    }

    /// Searches everything once, after the present search if there is one.
    package func begin() {
        if state.withLock({ $0.progress.begin() }) { read(after: 0) }
    }

    /// Searches if the members have changed: one has ended, or a new one can read other sessions.
    ///
    /// - Returns: whether a search begins.
    @discardableResult
    package func membersChanged(_ members: Members) -> Bool {
        let isNew = state.withLock { state in
            defer { state.members = members }
            return state.members != members
        }
        guard isNew, members.isHeard else { return false }
        begin()
        return true
    }

    /// The process ends. Nothing more is woken.
    package func stop() { state.withLock { $0.progress.isStopped = true } }

    private func read(after place: Int64) {
        finder.findWork(after: place) { [self] result in
            guard case .success(let found) = result, let wakes = self.wakes(found.sessions) else {
                return end()
            }
            let ours = zip(found.sessions, wakes).filter(\.1)
            wake(ours.compactMap { SessionID($0.0.session) }) { [self] in
                if let next = found.next { read(after: next) } else { end() }
            }
        }
    }

    /// For each session, whether this node wakes it. Returns nil if this node wakes none of them,
    /// and none of the later ones.
    ///
    /// Skips sessions of reactors that this process does not host. Why: they cannot work here, so
    /// each search would load them again.
    func wakes(_ sessions: [WorkingSession]) -> [Bool]? {
        guard !state.withLock({ $0.progress.isStopped }) else { return nil }
        let members = ownership?.members
        if let members, !members.isHeard || members.own.isLeaving { return nil }
        return sessions.map { one in
            guard !skipped.contains(one.session), hosted.contains(one.reactor) else { return false }
            guard let members else { return true }
            let node =
                one.owner
                ?? members.home(of: one.session, needing: (one.reactor, one.stateVersion))
            return node == members.own.node
        }
    }

    private func end() {
        if state.withLock({ $0.progress.end() }) { read(after: 0) }
    }
}
