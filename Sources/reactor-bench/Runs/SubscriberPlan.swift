#if os(Linux)
    /// The plan of a pool of subscribers.
    struct SubscriberPlan {
        var template: RequestTemplate
        var count: Int
        var streams: Int
        var publishers: Int
        var checks: DeliveryChecks
        /// Connections that may wait for their first bytes at the same time.
        var connectsInFlight = 256
        /// Whether a stream counts as established by its head alone, or by its first body bytes.
        var awaitsFirstBytes = true
        /// The number of subscribers, the last ones, that never read; their receive buffers are as small as the
        /// kernel makes them.
        var stalled = 0
        /// Whether a stalled stream that the server closed is opened again.
        var reopensStalled = false
    }
#endif
