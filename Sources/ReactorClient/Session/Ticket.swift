internal import ClientMachine
public import Reactors
internal import Synchronization

/// A send that was submitted: its progress, and a way to take it back.
///
/// Dropping it takes nothing back.
public final class Ticket: Sendable {
    private struct State {
        var newest: SendProgress?
        var readers: [ReactorStream<SendProgress>.Feed] = []
        /// Tasks that wait for the end alone: the steps before it wake none of them.
        var waiting: [(number: UInt64, continuation: Waiter)] = []
        var lastWaiter: UInt64 = 0
    }

    /// Gets nil if its task is cancelled.
    private typealias Waiter = CheckedContinuation<SendProgress?, Never>

    private let number: TicketNumber
    private let session: SessionName
    private let driver: ClientDriver
    private let state = Mutex(State())

    init(_ number: TicketNumber, _ session: SessionName, _ driver: ClientDriver) {
        self.number = number
        self.session = session
        self.driver = driver
    }

    /// The newest progress, if there is any, and all that follows. The stream ends after the last,
    /// ``SendProgress/applied(_:)`` or ``SendProgress/failed(_:)``.
    ///
    /// A failure counts as seen by its reader: ``ReactorClient/refusals`` does not keep it.
    public var outcomes: ReactorStream<SendProgress> {
        // More than the kinds of progress that there are: no reader is too slow.
        let (stream, feed) = ReactorStream<SendProgress>.make(buffer: 16)
        add { state in
            if let newest = state.newest { _ = feed.push(newest) }
            if state.newest?.isLast == true { feed.finish() } else { state.readers.append(feed) }
        }
        // The steps until now may wait for a reader.
        driver.signal()
        return stream
    }

    var hasReaders: Bool { state.withLock { !$0.readers.isEmpty } }

    /// The end; nil if this task is cancelled before.
    private func end() async -> SendProgress? {
        let waiter = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let end = add { state -> SendProgress? in
                    if let newest = state.newest, newest.isLast { return newest }
                    state.waiting.append((waiter, continuation))
                    return nil
                }
                if let end { return continuation.resume(returning: end) }
                // The handler may have run before the task was among those that wait.
                if Task.isCancelled { stopWaiting(waiter) }
            }
        } onCancel: {
            stopWaiting(waiter)
        }
    }

    private func stopWaiting(_ waiter: UInt64) {
        let continuation = state.withLock { state -> Waiter? in
            guard let index = state.waiting.firstIndex(where: { $0.number == waiter }) else {
                return nil
            }
            return state.waiting.remove(at: index).continuation
        }
        continuation?.resume(returning: nil)
    }

    private func add<Result: Sendable>(_ reader: (inout State) -> Result) -> Result {
        let (result, newest) = state.withLock { state in (reader(&state), state.newest) }
        if case .failed? = newest { driver.see(number) }
        return result
    }

    /// Returns the receipt when the shown state contains the actions.
    ///
    /// - Throws: why they were not applied; `cancelled` if this task is.
    public func receipt() async throws(SendFailure) -> Receipt {
        switch await end() {
        case .applied(let receipt)?: return receipt
        case .failed(let failure)?: throw failure
        case .queued?, .sent?, nil: throw .cancelled
        }
    }

    /// Takes the send back, unless it has left.
    ///
    /// - Returns: whether it is taken back. If not, its end follows as if nothing had happened.
    @discardableResult
    public func discard() -> Bool { driver.discard(number, of: session) }

    /// - Returns: whether somebody reads it. A task that has stopped waiting does not.
    @discardableResult
    func report(_ progress: SendProgress) -> Bool {
        let (waiting, isRead) = state.withLock { state -> ([Waiter], Bool) in
            guard state.newest?.isLast != true else { return ([], false) }
            state.newest = progress
            state.readers.removeAll { !$0.push(progress) }
            guard progress.isLast else { return ([], !state.readers.isEmpty) }
            for reader in state.readers { reader.finish() }
            let waiting = state.waiting.map(\.continuation)
            defer { (state.readers, state.waiting) = ([], []) }
            return (waiting, !state.readers.isEmpty || !waiting.isEmpty)
        }
        // Outside of the lock: the tasks may run at once.
        for waiter in waiting { waiter.resume(returning: progress) }
        return isRead
    }
}

/// The progress of a send.
public enum SendProgress: Hashable, Sendable {
    /// It is in the outbox, durable, and waits.
    case queued
    /// Its request leaves.
    case sent
    /// It is applied, and the shown state contains it if events arrive.
    case applied(Receipt)
    /// It was not applied, or nobody knows whether it was.
    case failed(SendFailure)

    /// Whether nothing follows.
    public var isLast: Bool {
        switch self {
        case .queued, .sent: false
        case .applied, .failed: true
        }
    }

    init(_ outcome: TicketOutcome) {
        switch outcome {
        case .queued: self = .queued
        case .sent: self = .sent
        case .applied(let receipt): self = .applied(Receipt(receipt))
        case .refused(let problem, let position?) where problem.status == 412:
            self = .failed(.positionChanged(Position(position)))
        case .refused(let problem, _): self = .failed(.refused(ProblemDetails(problem)))
        case .inDoubt: self = .failed(.inDoubt)
        case .discarded: self = .failed(.discarded)
        case .outboxUnavailable(let reason): self = .failed(.outboxUnavailable(reason))
        case .stored(let reason): self = .failed(.stored(reason))
        }
    }
}
