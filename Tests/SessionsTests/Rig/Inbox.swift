import Sessions
import Synchronization

/// Jobs that tasks and journals post to the table's loop, kept until the test runs them.
final class Inbox: Sendable {
    typealias Job = @Sendable (SessionTable) -> Void

    private struct Book {
        var jobs: [Job] = []
        var waiter: CheckedContinuation<Void, Never>?
        var isClosed = false
        /// Jobs that arrived after the close; they cannot be released.
        var late: [@Sendable () -> Void] = []
    }

    private let book = Mutex(Book())

    /// False once it is closed.
    func put(_ job: @escaping Job) -> Bool {
        let (isTaken, waiter) = book.withLock { book in
            guard !book.isClosed else { return (false, nil as CheckedContinuation<Void, Never>?) }
            book.jobs.append(job)
            defer { book.waiter = nil }
            return (true, book.waiter)
        }
        waiter?.resume()
        return isTaken
    }

    /// Marks the loop as stopped.
    func close() { book.withLock { $0.isClosed = true } }

    func putLate(_ job: @escaping @Sendable () -> Void) {
        let waiter = book.withLock { book in
            book.late.append(job)
            defer { book.waiter = nil }
            return book.waiter
        }
        waiter?.resume()
    }

    func drainLate() -> [@Sendable () -> Void] {
        book.withLock { book in
            defer { book.late = [] }
            return book.late
        }
    }

    var isEmpty: Bool { book.withLock { $0.jobs.isEmpty } }

    var count: Int { book.withLock { $0.jobs.count } }

    /// Removes and returns all jobs, in order.
    func drain() -> [Job] {
        book.withLock { book in
            defer { book.jobs = [] }
            return book.jobs
        }
    }

    /// Returns when there is a job, or when the test has run out of time. One waiter at a time.
    func hasJob() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = book.withLock { book in
                    guard book.jobs.isEmpty, book.late.isEmpty, !Task.isCancelled else {
                        return true
                    }
                    book.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
    }

    private func wake() {
        let waiter = book.withLock { book in
            defer { book.waiter = nil }
            return book.waiter
        }
        waiter?.resume()
    }
}
