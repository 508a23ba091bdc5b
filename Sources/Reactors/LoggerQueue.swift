import Synchronization

/// What waits for a logger: as many entries as fit, and how many did not.
final class LoggerQueue<Element: Sendable>: Sendable {
    /// Entries in order, and how many were left out after the last of them.
    struct Batch: Sendable {
        var elements: [Element] = []
        var missed = 0

        var isEmpty: Bool { elements.isEmpty && missed == 0 }
    }

    private struct Book {
        var batch = Batch()
        var isOver = false
        // Law: somebody waits only while the batch is empty and it is not over.
        var waiting: CheckedContinuation<Batch?, Never>?

        mutating func takeBatch() -> Batch {
            defer { batch = Batch() }
            return batch
        }
    }

    private let limit: Int

    // Why a lock: the session fills it, the logger's task empties it.
    private let book = Mutex(Book())

    init(limit: Int) {
        precondition(limit > 0, "a logger needs room for one entry")
        self.limit = limit
    }

    /// Never waits.
    func push(_ element: Element) {
        let wake: (CheckedContinuation<Batch?, Never>, Batch)? = book.withLock { book in
            guard !book.isOver else { return nil }
            // Once one is left out, so is what follows, until the logger has taken the rest.
            if book.batch.missed > 0 || book.batch.elements.count >= limit {
                book.batch.missed += 1
            } else {
                book.batch.elements.append(element)
            }
            guard let waiting = book.waiting.take() else { return nil }
            return (waiting, book.takeBatch())
        }
        if let (waiting, batch) = wake { waiting.resume(returning: batch) }
    }

    /// What is in it can still be taken.
    func finish() {
        let waiting = book.withLock { book in
            book.isOver = true
            return book.waiting.take()
        }
        waiting?.resume(returning: nil)
    }

    /// Everything that waits, as soon as something does; `nil` at the end. For one caller.
    func take() async -> Batch? {
        await withCheckedContinuation { continuation in
            let answer: Batch?? = book.withLock { book in
                if !book.batch.isEmpty { return book.takeBatch() }
                if book.isOver { return .some(nil) }
                book.waiting = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}
