#if os(Linux)
    /// The measurement behind `ramp` and `idle`.
    struct RampRun {
        private let target: Target
        private let streams: StreamOptions
        private let settle: TimeSpan
        private let isPerSession: Bool

        /// `isPerSession` also measures the cost of the sessions' set-up.
        init(target: Target, streams: StreamOptions, settle: TimeSpan, isPerSession: Bool) {
            self.target = target
            self.streams = streams
            self.settle = settle
            self.isPerSession = isPerSession
        }

        /// Creates the sessions, opens the streams, lets them rest, and measures.
        func report() throws(BenchError) -> Report {
            var report = Report(title: title)
            let empty = target.usage()
            let setUpStart = Clock.now()
            try target.setUp(sessions: streams.streams)
            report.add("sessions created in", seconds(since: setUpStart), .seconds)
            let plan = try target.subscribers(streams, publishers: 1, marks: false)
            var driver = try Driver(requests: nil, subscriptions: plan, target: target)
            let before = target.usage()
            let ownBefore = Clock.ownCPU()
            let start = Clock.now()
            try driver.establishAll(timeout: target.options.timeout)
            report.add("streams", Double(streams.subscribers), .count)
            report.add("all open in", seconds(since: start), .seconds)
            report.add("connect to first bytes", driver.subscribers.ramp)
            report.add(
                "bench CPU per stream",
                Double(Clock.ownCPU() - ownBefore) / Double(streams.subscribers), .nanoseconds)
            report.add(
                "server CPU per stream",
                Double(target.usage(isDeep: false).cpu &- before.cpu)
                    / Double(streams.subscribers), .nanoseconds)
            try rest(&driver)
            let open = target.usage()
            report.problems = driver.subscribers.ledger.tally.problems
            driver.close()
            if isPerSession { add("session", from: empty, to: before, streams.streams, &report) }
            add("subscriber", from: before, to: open, streams.subscribers, &report)
            return report
        }

        /// Opens no connection, and reads the bytes that arrive.
        private func rest(_ driver: inout Driver) throws(BenchError) {
            let deadline = Clock.now() + settle.nanoseconds
            while Clock.now() < deadline {
                try driver.turn(until: deadline)
            }
        }

        private func add(
            _ unit: String, from: ProcessUsage, to: ProcessUsage, _ count: Int,
            _ report: inout Report
        ) {
            guard !target.options.pids.isEmpty else { return }
            let each = { (before: UInt64, after: UInt64) -> Double in
                (Double(after) - Double(before)) / Double(count)
            }
            report.add("memory per \(unit) (PSS)", each(from.proportional, to.proportional), .bytes)
            report.add("memory per \(unit) (RSS)", each(from.resident, to.resident), .bytes)
            report.add("memory per \(unit) (own)", each(from.unshared, to.unshared), .bytes)
            report.add("server memory with all \(unit)s (PSS)", Double(to.proportional), .bytes)
        }

        private func seconds(since start: UInt64) -> Double {
            Double(Clock.now() - start) / 1e9
        }

        private var title: String {
            "\(isPerSession ? "idle" : "ramp") \(target.options.url)"
                + " (\(target.options.preset.rawValue)): \(streams.subscribers) subscribers,"
                + " \(streams.streams) streams"
        }
    }
#endif
