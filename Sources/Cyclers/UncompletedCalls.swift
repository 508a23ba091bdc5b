import Synchronization

/// The error of a dispatch whose closure kept its context, if the context was released without
/// ``CyclerContext/complete()``: nothing can continue the action any more.
public struct DispatchNotCompleted: Error, Hashable, Sendable {}

/// Dispatches that were released without `complete()`, and that loggers have not received yet.
///
/// Why a lock: a callback can release its context in any isolation, while the cycler is in use in
/// its own. Bounded: every dispatch of the cycler empties it.
final class UncompletedCalls: Sendable {
    private let calls = Mutex<[CyclerCall]>([])
    // So that the cycler's events take no lock while the list is empty.
    private let isEmpty = Atomic(true)

    func add(_ call: CyclerCall) {
        calls.withLock {
            $0.append(call)
            isEmpty.store(false, ordering: .releasing)
        }
    }

    func takeAll() -> [CyclerCall] {
        guard !isEmpty.load(ordering: .acquiring) else { return [] }
        return calls.withLock { calls in
            isEmpty.store(true, ordering: .releasing)
            defer { calls = [] }
            return calls
        }
    }
}
