package import Feeds
package import Storage

/// The present numbers of a table, and its counters since it began, for monitoring.
package struct SessionCounts: Sendable {
    /// Sessions whose state is in memory.
    package var awake = 0
    /// Sessions of which only the subscribers are in memory.
    package var asleep = 0
    package var readers = ReaderCounts()
    package var waitingReplies = 0
    package var uncommittedBytes = 0
    package var waitingReads = 0
    /// Running steps of effects, by reactor.
    package var runningEffects: [String: Int] = [:]
    package var resets: [ResetReason: UInt64] = [:]
    /// Subscribers that have gone back to the loop of their session.
    package var laggedReaders: UInt64 = 0
    /// Calls of reactors' code.
    package var turns = TimeHistogram()
    /// Steps in each batch.
    package var batches = SizeHistogram()
    /// Sessions that were woken because they act without a request.
    package var woken: UInt64 = 0
    /// Timers that have fired.
    package var firedTimers: UInt64 = 0

    package init() {}

    package mutating func add(_ other: SessionCounts) {
        awake += other.awake
        asleep += other.asleep
        readers.add(other.readers)
        waitingReplies += other.waitingReplies
        uncommittedBytes += other.uncommittedBytes
        waitingReads += other.waitingReads
        runningEffects.merge(other.runningEffects) { $0 + $1 }
        resets.merge(other.resets) { $0 + $1 }
        laggedReaders += other.laggedReaders
        turns.add(other.turns)
        batches.add(other.batches)
        woken += other.woken
        firedTimers += other.firedTimers
    }
}

extension SessionTable {
    /// Counts now. It examines every subscriber, about 10 ns each, and no session.
    package var counts: SessionCounts {
        var counts = SessionCounts()
        counts.awake = awakeCount
        counts.asleep = count - awakeCount
        counts.readers = feeds.subscribers.readers
        counts.readers.moved = feeds.replicas.count
        counts.laggedReaders = feeds.replicas.lagged
        counts.resets = feeds.subscribers.resets
        counts.waitingReplies = commits.waitingReplies
        counts.uncommittedBytes = commits.waitingBytes
        counts.batches = commits.sizes
        counts.waitingReads = background.count
        counts.runningEffects = effects.running
        counts.turns = turns.times
        counts.woken = loads.wokenCount
        counts.firedTimers = timers.firedCount
        return counts
    }
}
