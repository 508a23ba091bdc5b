internal import Synchronization

/// Waits until no loop has a connection, and none is on its way from one loop to another.
final class Drain: Sendable {
    private struct State {
        /// The loops that have not reported to have no connection.
        var missing: Set<Int>
        /// Connections that have left one loop and not arrived at the other. Counted at all times:
        /// one that left before the drain began may arrive after it.
        var moving = 0
        var waiter: CheckedContinuation<Void, Never>?
        /// After the cut there is no waiter.
        var isCut = false

        var isDone: Bool { missing.isEmpty && moving == 0 }

        /// The waiter, if it is to be resumed now.
        mutating func removeWaiter() -> CheckedContinuation<Void, Never>? {
            guard isDone || isCut else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    private let state: Mutex<State>

    init(loops: Range<Int>) {
        state = Mutex(State(missing: Set(loops)))
    }

    /// Reports a draining loop without connections; may be called repeatedly.
    func report(_ loop: Int) {
        change { $0.missing.remove(loop) }
    }

    /// A connection is about to leave its loop; ``arrived(_:)`` or ``wasLost()`` follows.
    func departed() {
        change { $0.moving += 1 }
    }

    /// Records the arrival at the new loop, which reports again when it has no connection.
    func arrived(_ loop: Int) {
        change {
            $0.moving -= 1
            $0.missing.insert(loop)
        }
    }

    /// Records that the connection was closed on its way: the other loop has stopped.
    func wasLost() {
        change { $0.moving -= 1 }
    }

    private func change(_ act: (inout State) -> Void) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            act(&state)
            return state.removeWaiter()
        }
        waiter?.resume()
    }

    /// Whether no loop has a connection, and none is moving.
    var isDone: Bool { state.withLock { $0.isDone } }

    /// Ends the wait early.
    func cut() {
        change { $0.isCut = true }
    }

    /// Returns when all loops have reported and no connection moves, or at ``cut()``. One waiter.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state -> Bool in
                guard !state.isDone, !state.isCut else { return true }
                state.waiter = continuation
                return false
            }
            if isDone { continuation.resume() }
        }
    }
}
