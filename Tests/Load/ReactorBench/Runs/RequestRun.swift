#if os(Linux)
    /// The measurement behind `requests`.
    struct RequestRun {
        private let command: RequestsCommand
        private let target: Target

        init(_ command: RequestsCommand) throws(BenchError) {
            self.command = command
            target = try Target(command.target)
        }

        /// Sets up, warms up, measures.
        func report() throws(BenchError) -> Report {
            try target.setUp(sessions: command.sessions)
            var driver = try Driver(requests: plan, subscriptions: nil, target: target)
            try driver.publishers.start(driver.poller)
            try turn(&driver, for: command.resolvedWarmUp)
            driver.publishers.tally = RequestTally()
            let before = ProcessUsage.read(target.options.pids, isDeep: false)
            let ownBefore = Clock.ownCPU()
            let start = Clock.now()
            try turn(&driver, for: command.duration)
            let elapsed = Double(Clock.now() - start) / 1e9
            let own = Clock.ownCPU() - ownBefore
            let after = ProcessUsage.read(target.options.pids, isDeep: false)
            let tally = driver.publishers.tally
            driver.close()
            return report(tally, elapsed, own, after.cpu &- before.cpu)
        }

        private func turn(
            _ driver: inout Driver, for span: TimeSpan
        ) throws(BenchError) {
            let deadline = Clock.now() + span.nanoseconds
            while Clock.now() < deadline, !driver.publishers.isDone {
                try driver.turn(until: deadline)
            }
        }

        private var plan: RequestPlan {
            let preset = command.target.preset
            let body = command.body ?? (command.method == "GET" ? "none" : preset.plainBody)
            return RequestPlan(
                templates: [
                    target.template(
                        command.method, command.path ?? preset.publishPath,
                        body: body == "none" ? nil : body)
                ],
                connections: command.connections, depth: command.depth,
                streams: command.sessions, limit: command.count ?? Int.max, rate: command.rate,
                expected: Set(command.expected))
        }

        private func report(
            _ tally: RequestTally, _ elapsed: Double, _ own: UInt64, _ cpu: UInt64
        ) -> Report {
            let answered = Double(tally.accepted + tally.refused)
            var report = Report(
                title: "requests \(target.options.url) (\(target.options.preset.rawValue)):"
                    + " \(command.connections) connections, depth \(command.depth)")
            report.add("requests", Double(tally.accepted), .count)
            report.add("requests per second", Double(tally.accepted) / elapsed, .perSecond)
            report.add("latency", tally.latency)
            if !target.options.pids.isEmpty, answered > 0 {
                report.add("server CPU per request", Double(cpu) / answered, .nanoseconds)
                report.add("server CPU", Double(cpu) / 1e9 / elapsed, .share)
            }
            report.add("bench CPU", Double(own) / 1e9 / elapsed, .share)
            report.add("reconnects", Double(tally.reconnects), .count)
            report.problems = tally.problems
            if tally.accepted == 0 { report.problems.append("no request succeeded") }
            return report
        }
    }
#endif
