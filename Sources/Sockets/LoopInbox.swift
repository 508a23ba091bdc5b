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

    /// How the loop learns of a new item.
    enum Attention {
        /// It has to be woken by a job on its queue.
        case asleep
        /// Such a job is on its way, or a round is running: the loop drains the inbox
        /// before it rests.
        case comes
        /// It waits inside a round, until the alarm rings.
        case waits
    }

    private struct State {
        var items: [Item] = []
        var attention = Attention.asleep
        /// Invariant: once true, no item is added any more, so the next drain returns the rest.
        var isClosed = false
    }

    // Without the lock two posts could both find the inbox empty, or a post could occur between the
    // check for items and the end of the drain.
    private let state = Mutex(State())

    /// Returns how the caller must call the loop's attention to the item; nil if it is refused.
    func post(_ item: consuming Item) -> Attention? {
        state.withLock { [item] state in
            guard !state.isClosed else { return nil }
            state.items.append(item)
            defer { state.attention = .comes }
            return state.attention
        }
    }

    /// Records that a round runs, which drains the inbox before it ends.
    func attend() {
        state.withLock { $0.attention = .comes }
    }

    /// The round waits for the alarm. Returns false, without effect, with items or if closed.
    func wait() -> Bool {
        state.withLock { state in
            guard state.items.isEmpty, !state.isClosed else { return false }
            state.attention = .waits
            return true
        }
    }

    /// Records that the round ends: later posts wake the loop. Returns false, and changes nothing,
    /// if there are items: the caller begins another round.
    func rest() -> Bool {
        state.withLock { state in
            guard state.items.isEmpty else { return false }
            state.attention = .asleep
            return true
        }
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
