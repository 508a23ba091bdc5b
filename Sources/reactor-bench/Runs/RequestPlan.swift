#if os(Linux)
    /// The plan of a pool of requesters.
    struct RequestPlan {
        /// Which stream (session) a request is about.
        enum StreamChoice {
            /// Connection i stays with stream i mod `streams`.
            case perConnection
            /// Each connection goes round all streams, each starting at another.
            case rotating
            /// The nth request is about stream n: for set-ups.
            case sequential
        }

        /// Sent in turn.
        var templates: [RequestTemplate]
        var connections: Int
        var depth = 1
        var streams = 1
        var choice = StreamChoice.perConnection
        /// The number of requests to send at most.
        var limit = Int.max
        /// Requests per second for an open loop; nil for a closed one.
        var rate: Double?
        /// The statuses that count as success; empty for any 2xx.
        var expected: Set<Int> = []
    }
#endif
