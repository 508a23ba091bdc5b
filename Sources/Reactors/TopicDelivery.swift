import Synchronization

/// The outcome of a published value.
public final class TopicDelivery: Sendable {
    private struct State {
        var handed = 0
        // Shares that are neither applied nor released.
        var open = 0
        var applied = 0
        var waiting: [AsyncStream<Never>.Continuation] = []
    }

    // Why a lock: sessions report from any thread.
    private let state = Mutex(State())

    init() {}

    /// The number of sessions that receive it.
    public var sessions: Int { state.withLock { $0.handed } }

    /// Returns when every receiving session has applied it (in a server: committed it) or has
    /// ended, or when the calling task is cancelled.
    ///
    /// - Returns: The number of sessions that have applied it by then.
    @discardableResult
    public func applied() async -> Int {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        let isDone = state.withLock { state in
            if state.open > 0 { state.waiting.append(continuation) }
            return state.open == 0
        }
        if isDone { continuation.finish() }
        for await _ in stream {}
        return state.withLock { $0.applied }
    }

    func hand() { state.withLock { $0.handed += 1 } }

    fileprivate func open() { state.withLock { $0.open += 1 } }

    fileprivate func close(applied: Bool) {
        let waiting = state.withLock { state in
            state.open -= 1
            if applied { state.applied += 1 }
            guard state.open == 0 else { return [AsyncStream<Never>.Continuation]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.finish() }
    }
}

/// One session's share in a delivery. Its release is the report, so no report can be lost.
final class TopicShare: Sendable {
    private let delivery: TopicDelivery
    private let applied = Atomic(false)

    init(of delivery: TopicDelivery) {
        self.delivery = delivery
        delivery.open()
    }

    func noteApplied() { applied.store(true, ordering: .relaxed) }

    deinit { delivery.close(applied: applied.load(ordering: .relaxed)) }
}

/// A value on its way to one session.
struct TopicEnvelope<Element: Sendable>: Sendable {
    let element: Element
    /// Nil if the topic has no session.
    let position: TopicPosition?
    /// Whether it was published before this process read the topic.
    let isEarlier: Bool
    let share: TopicShare
}
