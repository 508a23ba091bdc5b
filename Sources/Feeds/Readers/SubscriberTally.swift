/// The subscribers of one loop. A subscriber of an ended session counts until its connection is
/// closed.
///
/// Why a list: `/metrics` reads it, and must not examine every session.
package final class SubscriberTally {
    private var all: [Subscriber] = []
    package let work: WorkBudget
    /// Streams that could not continue at their position.
    package private(set) var resets: [ResetReason: UInt64] = [:]
    /// The bytes of JSON of the states that streams of followed sessions keep (``KeptState``).
    package var stateBytes = 0
    /// The limit for these bytes: beyond it, a further state is not kept.
    package var stateLimit = 16 << 20

    init(_ work: WorkBudget) { self.work = work }

    package var count: Int { all.count }

    func add(_ subscriber: Subscriber) {
        subscriber.tallyIndex = all.count
        all.append(subscriber)
    }

    /// - Precondition: the subscriber was added, and not removed since.
    func remove(_ subscriber: Subscriber) {
        let index = subscriber.tallyIndex
        all.swapAt(index, all.count - 1)
        all[index].tallyIndex = index
        all.removeLast()
    }

    func countReset(_ reason: ResetReason) { resets[reason, default: 0] += 1 }

    /// The present states of all subscribers.
    package var readers: ReaderCounts {
        var readers = ReaderCounts()
        for subscriber in all { subscriber.count(in: &readers) }
        return readers
    }
}
