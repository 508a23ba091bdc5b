import Synchronization

/// The entries that wait for a logger, and the number of entries that did not fit.
final class LoggerQueue<Element: Sendable>: Sendable {
    /// Entries in order, and the number of entries left out after the last one.
    struct Batch: Sendable {
        var elements: [Element] = []
        var missed = 0

        var isEmpty: Bool { elements.isEmpty && missed == 0 }
    }

    private struct State {
        var batch = Batch()
        var isOver = false
        // Invariant: a waiter exists only while the batch is empty and the queue has not ended.
        var waiting: CheckedContinuation<Batch?, Never>?

        mutating func removeBatch() -> Batch {
            defer { batch = Batch() }
            return batch
        }
    }

    private let limit: Int

    // Why a lock: the session fills it, the logger's task empties it.
    private let state = Mutex(State())

    init(limit: Int) {
        precondition(limit > 0, "a logger needs room for one entry")
        self.limit = limit
    }

    /// Adds an entry without waiting.
    func push(_ element: Element) {
        let wake: (CheckedContinuation<Batch?, Never>, Batch)? = state.withLock { state in
            guard !state.isOver else { return nil }
            // Once an entry is left out, later ones are too, until the batch is dequeued.
            if state.batch.missed > 0 || state.batch.elements.count >= limit {
                state.batch.missed += 1
            } else {
                state.batch.elements.append(element)
            }
            guard let waiting = state.waiting.take() else { return nil }
            return (waiting, state.removeBatch())
        }
        if let (waiting, batch) = wake { waiting.resume(returning: batch) }
    }

    /// Ends the queue; its content can still be dequeued.
    func finish() {
        let waiting = state.withLock { state in
            state.isOver = true
            return state.waiting.take()
        }
        waiting?.resume(returning: nil)
    }

    /// Returns all waiting entries, as soon as there is one; `nil` at the end. For one caller.
    func dequeue() async -> Batch? {
        await withCheckedContinuation { continuation in
            let answer: Batch?? = state.withLock { state in
                if !state.batch.isEmpty { return state.removeBatch() }
                if state.isOver { return .some(nil) }
                state.waiting = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}
