import Sessions
import Synchronization

/// Jobs that tasks and journals post to the table's loop, kept until the test runs them.
final class Inbox: Sendable {
    typealias Job = @Sendable (SessionTable) -> Void

    private struct State {
        var jobs: [Job] = []
        var waiter: CheckedContinuation<Void, Never>?
        var isClosed = false
        /// Jobs that arrived after the close; they cannot be released.
        var late: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// False once it is closed.
    func put(_ job: @escaping Job) -> Bool {
        let (isTaken, waiter) = state.withLock { state in
            guard !state.isClosed else { return (false, nil as CheckedContinuation<Void, Never>?) }
            state.jobs.append(job)
            defer { state.waiter = nil }
            return (true, state.waiter)
        }
        waiter?.resume()
        return isTaken
    }

    /// Marks the loop as stopped.
    func close() { state.withLock { $0.isClosed = true } }

    func putLate(_ job: @escaping @Sendable () -> Void) {
        let waiter = state.withLock { state in
            state.late.append(job)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func drainLate() -> [@Sendable () -> Void] {
        state.withLock { state in
            defer { state.late = [] }
            return state.late
        }
    }

    var isEmpty: Bool { state.withLock { $0.jobs.isEmpty } }

    var count: Int { state.withLock { $0.jobs.count } }

    /// Removes and returns all jobs, in order.
    func drain() -> [Job] {
        state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
    }

    /// Returns when there is a job, or when the test has run out of time. One waiter at a time.
    func hasJob() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.jobs.isEmpty, state.late.isEmpty, !Task.isCancelled else {
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
    }

    private func wake() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}
