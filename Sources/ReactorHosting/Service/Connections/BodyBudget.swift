internal import Synchronization

/// The memory of requests that have arrived in part, or that wait for their session to come from
/// the journal, heads and bodies: of all connections of all loops together.
///
/// A request that arrives whole in one read and is carried out at once never comes here.
///
/// Why one counter and not a share for each loop: a loop whose share is used up would refuse bodies
/// for which the process has room. It is written when a body's memory grows, some ten times for a
/// body of a megabyte.
final class BodyBudget: Sendable {
    private let limitBytes: Int
    private let used = Atomic<Int>(0)

    /// - Parameter limitBytes: beyond which ``charge(_:)`` refuses.
    init(limitBytes: Int) {
        self.limitBytes = limitBytes
    }

    /// Counts the bytes; false, and nothing is counted, if they would pass the limit.
    func charge(_ bytes: Int) -> Bool {
        let sum = used.add(bytes, ordering: .relaxed).newValue
        guard sum > limitBytes else { return true }
        giveBack(bytes)
        return false
    }

    /// Forgets bytes that were counted.
    func giveBack(_ bytes: Int) {
        used.subtract(bytes, ordering: .relaxed)
    }
}
