import Synchronization

/// Calls that wait while the test holds them.
final class Hold: Sendable {
    private struct State {
        var isHolding = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// The number of calls that wait.
    var count: Int { state.withLock { $0.waiting.count } }

    func begin() { state.withLock { $0.isHolding = true } }

    func end() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isHolding = false
            return state.waiting
        }
        for call in waiting { call() }
    }

    /// Makes the call now, or when the test no longer holds calls.
    func pass(_ call: @escaping @Sendable () -> Void) {
        let isHeld = state.withLock { state in
            if state.isHolding { state.waiting.append(call) }
            return state.isHolding
        }
        if !isHeld { call() }
    }
}
