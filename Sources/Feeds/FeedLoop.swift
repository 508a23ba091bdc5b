package import Storage

/// The part of a loop that all of its feeds share: connections, limits, queues and memory.
package final class FeedLoop {
    /// Sends a job to the loop, from any thread. Returns false if the loop has stopped; the job
    /// then never runs.
    package typealias Hop = @Sendable (@escaping @Sendable (FeedLoop) -> Void) -> Bool

    package let journal: JournalReader
    /// Milliseconds of a clock that is never set.
    package let uptime: () -> Int64
    package var limits: FeedLimits
    // Why implicitly unwrapped: the table of the sessions sets it before a feed exists.
    package unowned var output: (any ReaderOutput)!
    /// Nil once the table is released. Invariant: the table sets it, and removes it in
    /// its `deinit`.
    package unowned var upstream: (any FeedUpstream)?
    package let subscribers: SubscriberTally
    /// The work on states in the current pass.
    package let pass = PassMeter()
    package let buffers = EncodingBuffers()
    package let deliveries = PendingDeliveries()
    /// Rebuilds of states from the journal.
    package let rebuilds = RebuildQueue()
    /// Reads of the journal by streams.
    package let background: BackgroundQueue
    /// The readers of its feeds on other loops, and those of other loops' feeds here.
    package let replicas = StreamReplicas()
    package let presence = PresenceSchedule()

    package init(
        _ journal: any Journal, _ limits: FeedLimits, _ work: WorkBudget,
        uptime: @escaping () -> Int64, hop: @escaping Hop
    ) {
        self.journal = JournalReader(journal, hop: hop)
        self.limits = limits
        self.uptime = uptime
        subscribers = SubscriberTally(work)
        background = BackgroundQueue(pass) { _ = hop { $0.background.run() } }
    }

    /// The loop stops.
    package func removeAll() {
        rebuilds.removeAll()
        background.removeAll()
        replicas.removeAll()
        presence.removeAll()
    }

    /// Writes the new bytes of a stream to its subscribers, in this pass or a later one.
    package func deliver(_ stream: SharedStream) {
        deliveries.deliver(stream, limits.deliveries, to: output)
    }

    // MARK: The work budget

    /// Counts bytes that a request or a stream causes, until the charge is released.
    ///
    /// - Returns: nil if they are few.
    package func charge(
        _ bytes: Int, for client: @autoclosure () -> WorkClient?, besides copy: WorkCharge? = nil
    ) throws(WorkOverload) -> WorkCharge? {
        guard bytes > WorkBudget.smallestBytes else { return nil }
        guard let charge = subscribers.work.charge(bytes, for: client(), besides: copy) else {
            throw WorkOverload()
        }
        return charge
    }

    /// - Parameter token: of a connection of this loop.
    package func charge(
        _ bytes: Int, for token: UInt64, besides copy: WorkCharge? = nil
    ) throws(WorkOverload) -> WorkCharge? {
        try charge(bytes, for: output.client(of: token), besides: copy)
    }

    /// Changes a charge from the estimated to the real number of bytes.
    ///
    /// - Parameter charge: that of the estimate.
    package func adjust(
        _ charge: WorkCharge?, to bytes: Int, for client: @autoclosure () -> WorkClient?,
        besides copy: WorkCharge? = nil
    ) throws(WorkOverload) -> WorkCharge? {
        guard let charge, bytes > WorkBudget.smallestBytes else {
            return try self.charge(bytes, for: client(), besides: copy)
        }
        guard charge.resize(to: bytes, besides: copy) else { throw WorkOverload() }
        return charge
    }
}

/// The limits of one loop's feeds.
package struct FeedLimits: Sendable {
    package var retention: Retention
    package var deliveries = DeliveryLimits()
    /// Streams of different selections of one session. At the limit a stream of another selection
    /// is refused, and its client retries. Each commit is framed once for every stream.
    package var selections = 256
    /// Subscribers of one session. At the limit a stream is refused, and its client retries. Each
    /// commit is written to every subscriber, over some passes of the loop (``DeliveryLimits``).
    package var subscribers = 32_768
    /// Bytes of a state's JSON.
    package var stateBytes: Int

    package init(retention: Retention, stateBytes: Int) {
        self.retention = retention
        self.stateBytes = stateBytes
    }
}

/// The table of a loop's sessions, as their feeds know it.
///
/// Invariant: readers never reach a session through it. They request a load, and see its result in
/// their feed.
package protocol FeedUpstream: AnyObject {
    /// The number of questions to the journal about followed sessions.
    var questions: UInt64 { get }

    /// Whether the table still has the feed.
    func contains(_ feed: Feed) -> Bool

    /// The last reader of a feed that no node continues has left.
    func forget(_ feed: Feed)

    /// Loads the session of a feed into memory. Calls `act` with whether the feed has a state then.
    func wake(_ feed: Feed, then act: @escaping (_ isAwake: Bool) -> Void)

    /// The first reader of a feed has come, or the last one has left.
    func readersChanged(_ feed: Feed)

    /// A reader of a followed feed needs the current state.
    func loadState(of feed: Feed)

    /// The presence of a feed has changed, and other nodes may need it.
    func presenceChanged(_ feed: Feed)

    /// Responds to a request for a stream.
    func answer(_ answer: SubscriptionAnswer, to token: UInt64, of feed: Feed)

    /// Asks the journal whether another node has reached the client's position, which this session
    /// has not reached. Then opens the stream.
    func confirm(_ request: SubscriptionRequest, of feed: Feed)

    /// Frames the entries that an earlier pass left unframed.
    func continuePublishing(_ feed: Feed)

    func report(_ failure: FeedFailure, of feed: Feed)
}
