internal import Feeds
internal import Reactors
internal import Storage

/// The requests with `?wait=settled` whose actions are decided. Each is answered when the effects
/// of its actions have ended.
struct SettledWaits {
    struct Wait {
        var token: UInt64
        var actions: [ActionTag]
        var receipt: Receipt
        /// The step in which its actions were decided; nil once that is committed.
        weak var step: Step?
        /// The stored answer to the first request, if this one was sent again.
        var earlier: StoredAnswer?

        /// The answer while its effects have not ended, or if it is unknown whether they will.
        var unsettled: Reply.Kind {
            if let earlier { return .replayed(earlier) }
            return .unsettled(receipt)
        }
    }

    private(set) var all: [Wait] = []

    var isEmpty: Bool { all.isEmpty }

    mutating func add(_ wait: Wait) { all.append(wait) }

    mutating func remove(_ token: UInt64) -> Wait? {
        all.firstIndex { $0.token == token }.map { all.remove(at: $0) }
    }

    mutating func removeAll() -> [Wait] {
        defer { all = [] }
        return all
    }
}

extension Session {
    /// An effect of an action has ended: requests that wait for it may be answered.
    func somethingSettled() { attempt.hasSettled = true }

    /// Replies to requests whose effects have all ended.
    func answerSettled() {
        attempt.hasSettled = false
        guard let machine else { return }
        if let keys { KeyedRequests(session: self, keys: keys).settle(by: machine) }
        for wait in waits.all where machine.isSettled(wait.actions) {
            guard let wait = waits.remove(wait.token) else { continue }
            answer(wait, settledAnswer(to: wait))
        }
    }

    private func settledAnswer(to wait: SettledWaits.Wait) -> Reply.Kind {
        if let earlier = wait.earlier { return .replayed(keys?.settled(earlier.key) ?? earlier) }
        return .received(wait.receipt)
    }

    /// Ends a wait.
    private func answer(_ wait: SettledWaits.Wait, _ kind: Reply.Kind) {
        answer(content(kind), wait.token)
        uncommitted.last?.waited.append(wait)
    }

    /// Ends the wait of a request whose time is over. Its effects continue.
    package func stopWaiting(_ token: UInt64) {
        guard let wait = waits.remove(token) else {
            if let keys { keys.setLookUp(token, .expired) }
            return
        }
        answer(wait, wait.unsettled)
    }

    /// Drops the wait of a request whose connection is closed. Its effects continue (case 90).
    package func forget(_ token: UInt64) {
        // Cancels a read of the journal for it.
        if feed.archive?.readers.remove(token) != nil { return }
        guard waits.remove(token) == nil else { return }
        if let keys { keys.setLookUp(token, .disconnected) }
    }
}
