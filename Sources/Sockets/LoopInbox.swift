import Synchronization

/// Work that other threads post to a loop, in order.
///
/// It has no bound: no item is dropped and no thread waits. The posting code has a bound
/// (connections, sessions, commits in flight); a job takes the memory of a closure.
final class LoopInbox<Handler: LoopHandler>: Sendable {
    /// A socket that a listener accepted.
    struct Accepted: Sendable {
        let descriptor: Int32
        let peer: PeerAddress
    }

    enum Item: Sendable {
        case job(@Sendable (Handler) -> Void)
        case accepted([Accepted])
        case adopted(
            descriptor: Int32, peerHasFinished: Bool, unread: [UInt8],
            then: @Sendable (Handler, ConnectionID) -> Void)
    }

    private struct State {
        var items: [Item] = []
        /// Whether a wake-up was requested and has not started.
        var isWaking = false
        /// Invariant: once true, no item is added any more, so the next drain returns the rest.
        var isClosed = false
    }

    // Without the lock two posts could both find the inbox empty, or a post could occur between the
    // check for items and the end of the drain.
    private let state = Mutex(State())

    /// The outcome of a post.
    enum Receipt {
        case taken
        /// Accepted; the caller must wake the loop.
        case takenFirst
        /// The loop has stopped.
        case refused
    }

    func post(_ item: consuming Item) -> Receipt {
        state.withLock { [item] state in
            guard !state.isClosed else { return .refused }
            state.items.append(item)
            guard !state.isWaking else { return .taken }
            state.isWaking = true
            return .takenFirst
        }
    }

    /// Records that the wake-up has arrived: later posts need another one.
    func woken() {
        state.withLock { $0.isWaking = false }
    }

    /// Moves all items into `items`, which must be empty; its memory is reused for the next ones.
    func drain(into items: inout [Item]) {
        state.withLock { swap(&$0.items, &items) }
    }

    var count: Int { state.withLock { $0.items.count } }

    func close() {
        state.withLock { $0.isClosed = true }
    }
}
