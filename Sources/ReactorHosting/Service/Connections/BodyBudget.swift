internal import Synchronization

/// Limits the memory of incomplete requests, and of requests that wait for their session to be read
/// from the journal. Heads and bodies of all connections of all loops count.
///
/// A request that arrives in one read and is served at once does not count.
///
/// Why one counter and not a share for each loop: a loop with an exhausted share would refuse
/// bodies for which the process has room. The counter is written when a body's memory grows, about
/// ten times for a body of a megabyte.
final class BodyBudget: Sendable {
    private let limitBytes: Atomic<Int>
    private let used = Atomic<Int>(0)

    /// - Parameter limitBytes: ``charge(_:)`` refuses bytes beyond it.
    init(limitBytes: Int) {
        self.limitBytes = Atomic(limitBytes)
    }

    /// Changes the limit. Counted bytes stay, even if there are more.
    func limit(to bytes: Int) {
        limitBytes.store(bytes, ordering: .relaxed)
    }

    /// Counts bytes; returns false, without counting them, if they would exceed the limit.
    func charge(_ bytes: Int) -> Bool {
        let sum = used.add(bytes, ordering: .relaxed).newValue
        guard sum > limitBytes.load(ordering: .relaxed) else { return true }
        giveBack(bytes)
        return false
    }

    /// Subtracts counted bytes.
    func giveBack(_ bytes: Int) {
        used.subtract(bytes, ordering: .relaxed)
    }
}
