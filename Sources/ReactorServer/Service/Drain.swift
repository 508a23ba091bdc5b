internal import Synchronization

/// Waits until every loop has said that its last connection is gone.
final class Drain: Sendable {
    private struct State {
        var missing: Set<Int>
        var waiter: CheckedContinuation<Void, Never>?
        /// Whoever comes to wait after the cut waits for nothing.
        var isCut = false
    }

    private let state: Mutex<State>

    init(loops: Int) {
        state = Mutex(State(missing: Set(0..<loops)))
    }

    /// From a loop, any number of times.
    func report(_ loop: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.missing.remove(loop)
            guard state.missing.isEmpty else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Gives up waiting.
    func cut() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.isCut = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns when all have reported, or at ``cut()``. One waiter at a time.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state -> Bool in
                guard !state.missing.isEmpty, !state.isCut else { return true }
                state.waiter = continuation
                return false
            }
            if isDone { continuation.resume() }
        }
    }
}
