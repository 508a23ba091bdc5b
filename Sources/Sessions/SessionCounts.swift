package import Storage

/// The present numbers of a table, and its counters since it began, for monitoring.
package struct SessionCounts: Sendable {
    /// Subscribers of all sessions.
    package struct Readers: Sendable {
        package var all = 0
        /// The connection accepts no bytes now.
        package var stalled = 0
        package var catchingUp = 0
        package var behind = 0
        /// On another loop than that of the session.
        package var moved = 0
        /// The most bytes of a stream that a subscriber has not got. The events that only the
        /// journal has do not count: nobody knows their size.
        package var lagBytes = 0
    }

    /// Sessions whose state is in memory.
    package var awake = 0
    /// Sessions of which only the subscribers are in memory.
    package var asleep = 0
    package var readers = Readers()
    package var waitingReplies = 0
    package var uncommittedBytes = 0
    package var waitingReads = 0
    /// Running steps of effects, by reactor.
    package var runningEffects: [String: Int] = [:]
    package var resets: [ResetReason: UInt64] = [:]
    /// Subscribers that have gone back to the loop of their session.
    package var returnedReaders: UInt64 = 0
    /// Calls of reactors' code.
    package var turns = TimeHistogram()
    /// Steps in each batch.
    package var batches = SizeHistogram()
    package var claims = ClaimCounts()
    package var reads = ReadCounts()
    package var followed = FollowCounts()
    /// Sessions that were woken because they act without a request.
    package var woken: UInt64 = 0
    /// Sessions that this node owns; 0 for a journal without owners.
    package var owned = 0

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
        returnedReaders += other.returnedReaders
        turns.add(other.turns)
        batches.add(other.batches)
        claims.add(other.claims)
        reads.add(other.reads)
        followed.add(other.followed)
        woken += other.woken
        owned += other.owned
    }
}

extension SessionCounts.Readers {
    fileprivate mutating func add(_ other: Self) {
        all += other.all
        stalled += other.stalled
        catchingUp += other.catchingUp
        behind += other.behind
        moved += other.moved
        lagBytes = max(lagBytes, other.lagBytes)
    }
}

extension SessionTable {
    /// Counts now. It examines every subscriber, about 10 ns each, and no session.
    package var counts: SessionCounts {
        var counts = SessionCounts()
        counts.awake = awakeCount
        counts.asleep = count - awakeCount
        counts.readers = subscribers.readers
        counts.readers.moved = branches.count
        counts.returnedReaders = branches.returned
        counts.resets = subscribers.resets
        counts.waitingReplies = commits.waitingReplies
        counts.uncommittedBytes = commits.waitingBytes
        counts.batches = commits.sizes
        counts.waitingReads = background.count
        counts.runningEffects = effects.running
        counts.turns = turns.times
        counts.woken = woken.count
        if let claims {
            counts.claims = claims.counts
            counts.owned = awakeCount
            counts.reads = reads?.counts ?? ReadCounts()
            counts.followed = followed?.counts ?? FollowCounts()
            counts.followed.stateBytes = subscribers.stateBytes
        }
        return counts
    }
}
