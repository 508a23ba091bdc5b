#if os(Linux)
    /// The plan of a pool of requesters.
    struct RequestPlan {
        /// The stream (session) of a request.
        enum StreamChoice {
            /// Connection i stays with stream i mod `streams`.
            case perConnection
            /// Each connection iterates over all streams, starting at different ones.
            case rotating
            /// The nth request uses stream n: for set-ups.
            case sequential
        }

        /// The templates, sent in turn.
        var templates: [RequestTemplate]
        var connections: Int
        var depth = 1
        var streams = 1
        var choice = StreamChoice.perConnection
        /// The maximum number of requests to send.
        var limit = Int.max
        /// Requests per second for an open loop; nil for a closed one.
        var rate: Double?
        /// The statuses that count as success; empty for any 2xx.
        var expected: Set<Int> = []
    }
#endif
