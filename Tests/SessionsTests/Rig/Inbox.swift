import Sessions
import Synchronization

/// What tasks and journals bring to the table's loop: kept until the test lets it in.
final class Inbox: Sendable {
    typealias Job = @Sendable (SessionTable) -> Void

    private struct Book {
        var jobs: [Job] = []
        var waiter: CheckedContinuation<Void, Never>?
        var isClosed = false
        /// What came when it was closed, and can't be let go of.
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

    /// The loop has stopped.
    func close() { book.withLock { $0.isClosed = true } }

    func putLate(_ job: @escaping @Sendable () -> Void) {
        let waiter = book.withLock { book in
            book.late.append(job)
            defer { book.waiter = nil }
            return book.waiter
        }
        waiter?.resume()
    }

    func takeLate() -> [@Sendable () -> Void] {
        book.withLock { book in
            defer { book.late = [] }
            return book.late
        }
    }

    var isEmpty: Bool { book.withLock { $0.jobs.isEmpty } }

    var count: Int { book.withLock { $0.jobs.count } }

    /// All that has come, in order; nothing is left.
    func take() -> [Job] {
        book.withLock { book in
            defer { book.jobs = [] }
            return book.jobs
        }
    }

    /// Returns when there is something to take, or when the test has run out of time. One waiter
    /// at a time.
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
