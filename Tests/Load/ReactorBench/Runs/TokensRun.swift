#if os(Linux)
    /// The measurement of `tokens`.
    struct TokensRun {
        private let command: TokensCommand
        private let target: Target

        init(_ command: TokensCommand) throws(BenchError) {
            self.command = command
            var options = command.target
            if options.setup.isEmpty {
                options.setup = [#"PUT /v1/sessions/{session} {"reactor":"marks"}"#]
            }
            target = try Target(options)
        }

        /// Opens the readers, begins the answers, and cuts readers until all tokens are there.
        func report() throws(BenchError) -> Report {
            try target.setUp(sessions: command.sessions)
            var driver = try Driver(
                requests: questions, subscriptions: try readers(), target: target)
            try driver.establishAll(timeout: target.options.timeout)
            let before = target.usage(isDeep: false).cpu
            let own = Clock.ownCPU()
            let start = Clock.now()
            try driver.publishers.start(driver.poller)
            var cuts = 0
            try run(&driver, &cuts, from: start)
            let seconds = Double(Clock.now() - start) / 1e9
            let cpu = target.usage(isDeep: false).cpu &- before
            let report = report(
                driver, cuts: cuts, seconds: seconds, cpu: cpu, own: Clock.ownCPU() - own)
            driver.close()
            return report
        }

        // MARK: The run

        private func run(
            _ driver: inout Driver, _ cuts: inout Int, from start: UInt64
        ) throws(BenchError) {
            let answer = command.pace.nanoseconds * UInt64(command.tokens)
            let deadline = start + answer + target.options.timeout.nanoseconds
            let interval = max(1, command.cut.nanoseconds / UInt64(command.sessions))
            let expected = UInt64(command.sessions) * UInt64(command.tokens)
            var nextCut = start + interval
            var turn = 0
            while driver.subscribers.ledger.tally.deliveries < expected {
                let now = Clock.now()
                guard now < deadline else { return }
                while nextCut <= now {
                    let reader = turn % command.sessions
                    if try driver.subscribers.cut(reader, driver.poller) { cuts += 1 }
                    turn &+= 1
                    nextCut += interval
                }
                try driver.turn(until: min(deadline, nextCut))
            }
        }

        private func report(
            _ driver: borrowing Driver, cuts: Int, seconds: Double, cpu: UInt64, own: UInt64
        ) -> Report {
            let delivered = driver.subscribers.ledger.tally
            let count = Double(max(1, delivered.deliveries))
            var report = Report(
                title: "tokens \(target.options.url): \(command.sessions) sessions,"
                    + " \(command.tokens) tokens each, one every \(command.pace.seconds) s")
            report.add("tokens", Double(delivered.deliveries), .count)
            report.add("tokens per second", Double(delivered.deliveries) / seconds, .perSecond)
            report.add("token to reader", delivered.latency)
            report.add("readers cut and resumed", Double(cuts), .count)
            if !target.options.pids.isEmpty {
                report.add("server CPU per token", Double(cpu) / count, .nanoseconds)
                report.add("server CPU", Double(cpu) / 1e9 / seconds, .share)
            }
            report.add("bench CPU per token", Double(own) / count, .nanoseconds)
            report.problems = driver.publishers.tally.problems + delivered.problems
            let incomplete = driver.subscribers.readings.count {
                driver.subscribers.ledger.received[$0] != UInt64(command.tokens)
            }
            if incomplete > 0 {
                report.problems.append(
                    "\(incomplete) readers without exactly \(command.tokens) tokens")
            }
            if cuts == 0 { report.notes.append("no reader was cut") }
            return report
        }

        // MARK: Plans

        /// One question for each session.
        private var questions: RequestPlan {
            let pace = command.pace.nanoseconds / 1_000_000
            let body = "{\"type\":\"ask\",\"text\":\"marks \(command.tokens) \(pace)\"}"
            return RequestPlan(
                templates: [
                    target.template("POST", "/v1/sessions/{session}/actions", body: body)
                ],
                connections: min(command.sessions, 16), streams: command.sessions,
                choice: .sequential, limit: command.sessions)
        }

        private func readers() throws(BenchError) -> SubscriberPlan {
            SubscriberPlan(
                template: target.template(
                    "GET", "/v1/sessions/{session}/pulses?pulse=token&from=now",
                    extra: ["Accept: text/event-stream"]),
                count: command.sessions, streams: command.sessions, publishers: 1,
                // Other records of the session have numbers, too.
                checks: DeliveryChecks(ids: .rising, marks: true, serviceEvents: true),
                addresses: [target.address])
        }
    }
#endif
