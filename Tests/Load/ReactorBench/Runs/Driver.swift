// One thread, one poller, one buffer, three pools. The pools are structs within this struct: the
// compiler proves exclusive access to them, while a class would check each access at run time.
#if os(Linux)
    /// Drives publishers, subscribers, and peers that send invalid requests.
    struct Driver: ~Copyable {
        /// Larger than the usual content of a socket buffer, so that one `recv` reads all of it,
        /// and smaller than the second-level cache.
        static let bufferBytes = 262_144

        var poller: Poller
        var publishers: RequestPool
        var hostiles: RequestPool
        var subscribers: SubscriberPool
        private var buffer: [UInt8]

        /// Opens no connection: requesters connect when they start, subscribers during the turns.
        init(
            requests: RequestPlan?, subscriptions: SubscriberPlan?, hostile: RequestPlan? = nil,
            target: Target
        ) throws(BenchError) {
            let none = RequestPlan(templates: [], connections: 0)
            let nobody = SubscriberPlan(
                template: target.template("GET", "/"), count: 0, streams: 1, publishers: 0,
                checks: DeliveryChecks(), addresses: [target.address])
            try DescriptorLimit.raise(
                for: (requests?.connections ?? 0) + (hostile?.connections ?? 0)
                    + (subscriptions?.count ?? 0))
            poller = try Poller(isBusy: target.options.busyPoll)
            publishers = RequestPool(requests ?? none, to: target.address, tag: 1)
            hostiles = RequestPool(hostile ?? none, to: target.address, tag: 4)
            subscribers = SubscriberPool(subscriptions ?? nobody, tag: 2)
            buffer = [UInt8](repeating: 0, count: Self.bufferBytes)
        }

        /// Sends the requests that are due, waits until `deadline` at most, and handles ready
        /// sockets.
        @inline(__always)
        mutating func turn(until deadline: UInt64) throws(BenchError) {
            try publishers.pump(poller)
            try hostiles.pump(poller)
            try subscribers.openMore(poller)
            let wakeTime = min(deadline, publishers.wakeTime, hostiles.wakeTime)
            let count = try poller.wait(until: wakeTime)
            for index in 0..<count {
                let ready = poller.ready(index)
                if ready.token & publishers.tag != 0 {
                    try publishers.handle(ready, poller, &buffer)
                } else if ready.token & subscribers.tag != 0 {
                    try subscribers.handle(ready, poller, &buffer)
                } else {
                    try hostiles.handle(ready, poller, &buffer)
                }
            }
        }

        /// Runs turns until every subscriber's stream is established; throws at the timeout.
        mutating func establishAll(timeout: TimeSpan) throws(BenchError) {
            let deadline = Clock.now() + timeout.nanoseconds
            while !subscribers.isEstablished {
                guard Clock.now() < deadline else {
                    throw .setup(
                        "only \(subscribers.established) streams within \(timeout.seconds) s")
                }
                try turn(until: deadline)
            }
        }

        /// Closes all connections.
        mutating func close() {
            publishers.close()
            hostiles.close()
            subscribers.close()
        }
    }
#endif
