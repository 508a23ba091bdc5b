internal import ClientMachine

/// The acts of a driver that run no code of the program: changes for the outbox,
/// requests, the timer.
///
/// One thread at a time has them, in the order of the decisions. States for the outbox are among
/// them: one that is newer than a change must not be durable before it.
struct DriverOperations {
    enum Operation {
        /// Of the machine.
        case output(Output)
        /// As `OutboxStore.saveState`.
        case saveState(SavedState?, SessionName, isLast: Bool)
    }

    /// In their order. Invariant: bounded by what follows from one input, and by the outbox.
    private var waiting: [Operation] = []
    /// Whether a thread carries operations out.
    private(set) var isTaken = false

    var isEmpty: Bool { waiting.isEmpty }

    /// Whether operations wait, and no thread has them.
    var needsThread: Bool { !isTaken && !waiting.isEmpty }

    mutating func append(_ operation: Operation) { waiting.append(operation) }

    /// The operations that wait, for a thread that begins to carry them out; empty if there are
    /// none, or if another thread has begun: it gets these as well.
    mutating func begin() -> [Operation] {
        guard needsThread else { return [] }
        isTaken = true
        return takeWaiting()
    }

    /// The operations that have come meanwhile; empty: the thread is done.
    ///
    /// - Parameter isLast: whether the thread leaves what has come to another one.
    mutating func next(isLast: Bool) -> [Operation] {
        if !isLast, !waiting.isEmpty { return takeWaiting() }
        isTaken = false
        return []
    }

    private mutating func takeWaiting() -> [Operation] {
        defer { waiting = [] }
        return waiting
    }
}
