import Synchronization

/// Holds effects until a test releases them.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var arrived = 0
        var held: [CheckedContinuation<Void, Never>] = []
        var watchers: [(count: Int, wake: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Waits until the gate is open; ignores cancellation.
    package func pass() async {
        await withCheckedContinuation { wake in
            let (isOpen, watchers) = state.withLock { state in
                state.arrived += 1
                if !state.isOpen { state.held.append(wake) }
                let due = state.watchers.filter { $0.count <= state.arrived }.map(\.wake)
                state.watchers.removeAll { $0.count <= state.arrived }
                return (state.isOpen, due)
            }
            if isOpen { wake.resume() }
            for watcher in watchers { watcher.resume() }
        }
    }

    /// How many effects have arrived at the gate.
    package var arrivals: Int { state.withLock { $0.arrived } }

    /// Returns when `count` effects have arrived at the gate.
    package func hasArrivals(_ count: Int) async {
        await withCheckedContinuation { wake in
            let ready = state.withLock { state in
                guard state.arrived < count else { return true }
                state.watchers.append((count, wake))
                return false
            }
            if ready { wake.resume() }
        }
    }

    package func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for wake in held { wake.resume() }
    }
}
