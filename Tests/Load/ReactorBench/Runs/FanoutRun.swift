#if os(Linux)
    /// The measurement behind `fanout` and `stall`.
    struct FanoutRun {
        private let target: Target
        private let options: FanoutOptions
        private let stalled: Int

        /// The interval at which the server's memory is read during publishing.
        private static let samplingInterval: UInt64 = 200_000_000

        /// Adds `stalled` subscribers, which never read, to those of `options`.
        init(target: Target, options: FanoutOptions, stalled: Int = 0) {
            self.target = target
            self.options = options
            self.stalled = stalled
        }

        /// Sets up, opens the streams, publishes, and waits for the last delivery.
        func result() throws(BenchError) -> FanoutResult {
            var result = FanoutResult(title: title)
            result.hasUsage = !target.options.pids.isEmpty
            result.stalled = stalled
            try target.setUp(sessions: options.streams.streams)
            result.before = target.usage()
            var driver = try Driver(
                requests: target.publishers(
                    options.publishing, streams: options.streams.streams),
                subscriptions: try target.subscribers(
                    options.streams, publishers: options.publishing.publishers,
                    marks: options.publishing.marks, stalled: stalled),
                target: target)
            try driver.publishers.open(driver.poller)
            let opening = Clock.now()
            try driver.establishAll(timeout: target.options.timeout)
            result.rampSeconds = Double(Clock.now() - opening) / 1e9
            result.opened = target.usage()
            try publish(&driver, &result)
            driver.close()
            return result
        }

        // MARK: The run

        private func publish(
            _ driver: inout Driver, _ result: inout FanoutResult
        ) throws(BenchError) {
            try driver.publishers.start(driver.poller)
            try turn(&driver, for: options.publishing.resolvedWarmUp, &result)
            driver.publishers.tally = RequestTally()
            driver.subscribers.ledger.tally.latency = Histogram()
            let deliveriesBefore = driver.subscribers.ledger.tally.deliveries
            let bytesBefore = driver.subscribers.bytes
            let ownBefore = Clock.ownCPU()
            result.warmCPU = target.usage(isDeep: false).cpu
            let start = Clock.now()
            try turn(&driver, for: options.publishing.duration, &result)
            driver.publishers.stop()
            let accounts = try Accounts.settle(
                &driver, streams: options.streams.streams, timeout: target.options.timeout)
            result.accounts = accounts
            result.seconds = Double(accounts.lastDelivery - start) / 1e9
            result.ownCPU = Clock.ownCPU() - ownBefore
            result.after = target.usage()
            result.published = driver.publishers.tally
            result.delivered = driver.subscribers.ledger.tally
            result.deliveries = result.delivered.deliveries - deliveriesBefore
            result.bytes = driver.subscribers.bytes - bytesBefore
            result.ramp = driver.subscribers.ramp
            result.stalledClosed = driver.subscribers.stalledClosed
        }

        private func turn(
            _ driver: inout Driver, for span: TimeSpan, _ result: inout FanoutResult
        ) throws(BenchError) {
            let deadline = Clock.now() + span.nanoseconds
            var nextSample = Clock.now()
            while !driver.publishers.isDone {
                let now = Clock.now()
                guard now < deadline else { return }
                if result.hasUsage, now >= nextSample {
                    let resident = ProcessUsage.residentNow(target.options.pids)
                    result.residentMax = max(result.residentMax, resident)
                    nextSample = now + Self.samplingInterval
                }
                try driver.turn(until: min(deadline, nextSample))
            }
        }

        // MARK: Words

        private var title: String {
            "fanout \(target.options.url) (\(target.options.preset.rawValue)):"
                + " \(options.streams.streams) streams, \(options.streams.subscribers) subscribers,"
                + " \(options.publishing.publishers) publishers"
                + (options.publishing.rate.map { ", \(Figure.fixed($0, 0)) actions/s" } ?? "")
        }
    }
#endif
