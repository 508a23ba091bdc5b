package import Feeds
package import Storage
internal import Synchronization

/// Finds one kind of rows: timers of sleeping sessions that are overdue or due within a minute, or
/// expiry rows that are due.
///
/// Design: like ``WorkSearch``, whose rules it shares. A search reads the timers in the order in
/// which they are due, page by page. It starts again twice a minute. It reads the next page when
/// each session with an overdue timer is loaded or has failed to load. So a session that cannot be
/// loaded now delays no other. The next search finds it again.
///
/// A process has one search for each ``TimerKind``, so no timer waits for sessions that expire.
package final class TimerSearch: Sendable {
    /// Passes sessions to their loops, and calls `done` once, on any thread.
    package typealias Expect =
        @Sendable (
            _ found: [DueTimer], _ done: @escaping @Sendable () -> Void
        ) -> Void

    /// The time between two searches: half of the time that each looks ahead.
    package static let period = Duration.milliseconds(TimerQueue.horizon / 2)

    /// The maximum number of entries that a search adds. Later searches find the other timers when
    /// they are overdue.
    private static let limit = 65_536

    private let kind: TimerKind
    private let rules: WorkSearch
    private let finder: any WorkFinder
    private let now: @Sendable () -> Int64
    private let expect: Expect
    private let state = Mutex(WorkSearch.Progress())

    /// - Parameters:
    ///   - rules: decides which sessions this node wakes.
    ///   - now: the time of the journal's clock, in milliseconds since 1970 (UTC).
    package init(
        _ kind: TimerKind, _ rules: WorkSearch, now: @escaping @Sendable () -> Int64,
        expect: @escaping Expect
    ) {
        self.kind = kind
        self.rules = rules
        finder = rules.finder
        self.now = now
        self.expect = expect
    }

    /// Searches everything once. If a search is under way, this one follows it.
    package func begin() {
        if state.withLock({ $0.begin() }) { read(after: .start, added: 0) }
    }

    private func read(after place: TimerPosition, added: Int) {
        let now = now()
        // An expiry row gets no entry in the queue, so it is found only once it is due.
        let end = kind == .actions ? now + TimerQueue.horizon : now
        finder.findTimers(kind, after: place, before: end) { [self] result in
            guard case .success(let page) = result,
                let wakes = rules.wakes(page.sessions.map(\.session))
            else { return self.end() }
            let found = zip(page.sessions, wakes).compactMap { one, isOurs in
                isOurs ? DueTimer(one.session, due: one.due) : nil
            }
            let sum = added + found.count { $0.due > now }
            expect(found) { [self] in
                if let next = page.next, sum < Self.limit {
                    read(after: next, added: sum)
                } else {
                    self.end()
                }
            }
        }
    }

    private func end() {
        if state.withLock({ $0.end() }) { read(after: .start, added: 0) }
    }
}

/// A timer or an expiry row that a search has found.
package struct DueTimer: Sendable {
    package let id: SessionID
    package let due: Int64

    package init(id: SessionID, due: Int64) { (self.id, self.due) = (id, due) }

    init?(_ session: WorkingSession, due: Int64) {
        guard let id = SessionID(session.session) else { return nil }
        self.init(id: id, due: due)
    }
}
