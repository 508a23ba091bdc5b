import Synchronization

/// Holds each effect until a simulation releases it.
final class HeldEffects: Sendable {
    private struct State {
        var held: [(name: String, go: CheckedContinuation<Void, Never>)] = []
        var isOpen = false
    }

    private let state = Mutex(State())

    /// Waits until the simulation releases it; ignores cancellation.
    func pass(_ name: String) async {
        await withCheckedContinuation { go in
            let isOpen = state.withLock { state in
                guard !state.isOpen else { return true }
                state.held.append((name, go))
                return false
            }
            if isOpen { go.resume() }
        }
    }

    var count: Int { state.withLock { $0.held.count } }

    /// Releases one of the waiting effects, chosen by its index in the order of names.
    func letGo(_ number: Int) {
        let go = state.withLock { state -> CheckedContinuation<Void, Never>? in
            let names = state.held.map(\.name).sorted()
            guard let index = state.held.firstIndex(where: { $0.name == names[number] }) else {
                return nil
            }
            return state.held.remove(at: index).go
        }
        go?.resume()
    }

    /// Lets all waiting calls pass, and all later ones.
    func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for one in held { one.go.resume() }
    }
}
