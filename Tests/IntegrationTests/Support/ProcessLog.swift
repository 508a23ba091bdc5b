import Synchronization

/// The outputs of a process and its exit; waits for either.
final class ProcessLog: Sendable {
    enum Exit: Equatable, Sendable {
        case code(Int32)
        case signal(Int32)
    }

    struct Present: Sendable {
        /// Its standard output so far.
        var output = ""
        /// Its standard error so far.
        var errors = ""
        var exit: Exit?
    }

    private struct State {
        var present = Present()
        var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastWatcher = 0
    }

    private let state = Mutex(State())

    var present: Present { state.withLock { $0.present } }

    func change(_ change: (inout Present) -> Void) {
        let watchers = state.withLock { state in
            change(&state.present)
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.yield() }
    }

    /// Returns once the condition holds; it is checked after every change.
    ///
    /// - Throws: `CancellationError` at the test's time limit.
    func wait(until condition: (Present) -> Bool) async throws {
        let (changes, watcher) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.lastWatcher += 1
            state.watchers[state.lastWatcher] = watcher
            return state.lastWatcher
        }
        defer { state.withLock { _ = $0.watchers.removeValue(forKey: number) } }
        if condition(present) { return }
        for await _ in changes where condition(present) { return }
        throw CancellationError()
    }
}
