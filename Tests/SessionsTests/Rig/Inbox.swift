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

    /// All that has come, in order; nothing is left.
    func take() -> [Job] {
        book.withLock { book in
            defer { book.jobs = [] }
            return book.jobs
        }
    }

    /// Returns when there is something to take. One waiter at a time.
    func hasJob() async {
        await withCheckedContinuation { continuation in
            let isThere = book.withLock { book in
                guard book.jobs.isEmpty else { return true }
                book.waiter = continuation
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
