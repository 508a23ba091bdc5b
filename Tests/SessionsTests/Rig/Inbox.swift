import Sessions
import Synchronization

/// What tasks and journals bring to the table's loop: kept until the test lets it in.
final class Inbox: Sendable {
    typealias Job = @Sendable (SessionTable) -> Void

    private struct Book {
        var jobs: [Job] = []
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let book = Mutex(Book())

    func put(_ job: @escaping Job) {
        let waiter = book.withLock { book in
            book.jobs.append(job)
            defer { book.waiter = nil }
            return book.waiter
        }
        waiter?.resume()
    }

    var isEmpty: Bool { book.withLock { $0.jobs.isEmpty } }

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
                    guard book.jobs.isEmpty, !Task.isCancelled else { return true }
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
