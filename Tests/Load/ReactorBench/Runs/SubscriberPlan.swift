#if os(Linux)
    /// The plan of a pool of subscribers.
    struct SubscriberPlan {
        var template: RequestTemplate
        var count: Int
        var streams: Int
        /// The sessions of one subscriber's stream.
        var sessionsPerStream = 1
        var publishers: Int
        var checks: DeliveryChecks
        /// The servers of the streams, in turn: subscriber i uses the one at i mod their number.
        var addresses: [Address]
        /// The number of connections that may wait for their first bytes at the same time.
        var connectsInFlight = 256
        /// Whether a stream counts as established after its head, or only after its first body
        /// bytes.
        var awaitsFirstBytes = true
        /// The number of subscribers that never read: the last ones. Their receive buffers have the
        /// minimum size of the kernel.
        var stalled = 0
        /// Whether a stalled stream that the server closed is opened again.
        var reopensStalled = false
    }
#endif
