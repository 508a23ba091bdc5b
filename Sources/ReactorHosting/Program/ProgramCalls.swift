internal import Synchronization

/// Bounds the number of the program's requests under way. Further ones wait, in order.
final class ProgramCalls: Sendable {
    /// Enough to fill each commit of all loops. With bodies of 1 MiB they use at most 1 GiB.
    static let limit = 1_024

    private struct State {
        var running = 0
        /// The waiting callers by their numbers.
        var waiting: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        /// The numbers of the first waiting caller, and of the next one to arrive.
        var (first, next): (UInt64, UInt64) = (0, 0)
        var isClosed = false

        mutating func removeFirst() -> CheckedContinuation<Bool, Never>? {
            guard let waiter = waiting.removeValue(forKey: first) else { return nil }
            first += 1
            return waiter
        }
    }

    private let state = Mutex(State())

    /// Returns true when the caller may send its request; then ``leave()`` has to follow. Returns
    /// false if the server ends.
    func enter() async -> Bool {
        await withCheckedContinuation { waiter in
            let result = state.withLock { state -> Bool? in
                guard !state.isClosed else { return false }
                guard state.running == Self.limit else {
                    state.running += 1
                    return true
                }
                state.waiting[state.next] = waiter
                state.next += 1
                return nil
            }
            if let result { waiter.resume(returning: result) }
        }
    }

    func leave() {
        let next = state.withLock { state in
            let next = state.removeFirst()
            if next == nil { state.running -= 1 }
            return next
        }
        next?.resume(returning: true)
    }

    /// From now on no request may begin.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            var waiting: [CheckedContinuation<Bool, Never>] = []
            while let waiter = state.removeFirst() { waiting.append(waiter) }
            return waiting
        }
        for waiter in waiting { waiter.resume(returning: false) }
    }

    var isIdle: Bool { state.withLock { $0.running == 0 } }
}
