internal import Reactors

/// The requests with `?wait=settled` whose actions are decided. Each is answered when the effects of its
/// actions have ended.
struct SettledWaits {
    struct Wait {
        var token: UInt64
        var actions: [ActionTag]
        var receipt: Receipt
        /// The step in which its actions were decided; nil once that is committed.
        weak var step: Step?

        /// The answer once its effects have ended.
        var answer: Reply.Kind {
            .received(rejected: receipt.rejected, isBatch: receipt.isBatch)
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
        guard !waits.all.isEmpty, let machine else { return }
        for wait in waits.all where machine.isSettled(wait.actions) {
            guard let wait = waits.remove(wait.token) else { continue }
            answer(wait, wait.answer)
        }
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
        answer(wait, .unsettled)
    }

    /// Drops the wait of a request whose connection is closed. Its effects continue (case 90).
    package func forget(_ token: UInt64) {
        guard let wait = waits.remove(token) else {
            if let keys { keys.setLookUp(token, .disconnected) }
            return
        }
        // Until the commit it is unknown whether the request is carried out.
        if let step = wait.step, uncommitted.contains(step) {
            step.endWaiting(token)
        } else if let keys {
            keys.endWaiting(token)
        }
    }
}
