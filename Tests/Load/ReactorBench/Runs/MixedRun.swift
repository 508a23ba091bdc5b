#if os(Linux)
    /// The measurement behind `mixed`.
    struct MixedRun {
        private let command: MixedCommand
        private let target: Target
        private let preset: Preset

        private var streams: StreamOptions { command.fanout.streams }
        private var publishing: PublishOptions { command.fanout.publishing }

        init(_ command: MixedCommand, target: Target) {
            self.command = command
            self.target = target
            preset = target.options.preset
        }

        /// An action that is done at a rate per second.
        private struct Beat {
            private let interval: UInt64
            private var next: UInt64

            init(perSecond rate: Double, from start: UInt64) {
                interval = rate > 0 ? max(1, UInt64(1e9 / rate)) : 0
                next = rate > 0 ? start + interval : .max
            }

            var time: UInt64 { next }

            mutating func isDue(_ now: UInt64) -> Bool {
                guard next <= now else { return false }
                next += interval
                return true
            }
        }

        private struct Curve {
            var memory: [Double] = []
            var descriptors: [Double] = []
        }

        /// Opens everything, runs the soak, drains, closes, and checks.
        func report() throws(BenchError) -> Report {
            try target.setUp(sessions: streams.streams)
            let before = target.usage()
            var driver = try Driver(
                requests: target.publishers(publishing, streams: streams.streams),
                subscriptions: try subscriptions(), hostile: hostile, target: target)
            try driver.publishers.open(driver.poller)
            try driver.establishAll(timeout: target.options.timeout)
            try driver.publishers.start(driver.poller)
            try driver.hostiles.start(driver.poller)
            var curve = Curve()
            var cuts = 0
            let start = Clock.now()
            try soak(&driver, &curve, &cuts)
            let seconds = Double(Clock.now() - start) / 1e9
            driver.hostiles.stop()
            driver.publishers.stop()
            let accounts = try Accounts.settle(
                &driver, streams: streams.streams, timeout: target.options.timeout)
            var report = Report(title: title)
            add(driver, accounts, cuts, seconds, to: &report)
            driver.close()
            judge(curve, before, &report)
            return report
        }

        // MARK: The soak

        private func soak(
            _ driver: inout Driver, _ curve: inout Curve, _ cuts: inout Int
        ) throws(BenchError) {
            let start = Clock.now()
            let end = start + publishing.duration.nanoseconds
            var churn = Beat(perSecond: command.churn, from: start)
            var abandon = Beat(
                perSecond: command.hostile > 0 ? command.abandon : 0, from: start)
            var sample = Beat(perSecond: 1 / command.sample.seconds, from: start)
            var turn = 0
            while true {
                let now = Clock.now()
                guard now < end, !driver.publishers.isDone else { return }
                // Strides that share no divisor with usual counts, so that every index is reached.
                while churn.isDue(now) {
                    turn &+= 7919
                    let index = turn % driver.subscribers.readers
                    if try driver.subscribers.cut(index, driver.poller) { cuts += 1 }
                }
                while abandon.isDue(now) {
                    turn &+= 1
                    try driver.hostiles.abandon(turn % command.hostile, driver.poller)
                }
                if sample.isDue(now) {
                    let usage = target.usage()
                    curve.memory.append(Double(usage.unshared))
                    curve.descriptors.append(Double(usage.descriptors))
                }
                try driver.turn(until: min(end, churn.time, abandon.time, sample.time))
            }
        }

        // MARK: The verdict

        private func add(
            _ driver: borrowing Driver, _ accounts: Accounts, _ cuts: Int, _ seconds: Double,
            to report: inout Report
        ) {
            var delivered = driver.subscribers.ledger.tally
            // A stalled reader is disconnected and resumes with an old position: it must get a
            // reset.
            let expected = min(delivered.resets, UInt64(driver.subscribers.stalledClosed))
            delivered.resets -= expected
            report.add("stalled readers reset", Double(expected), .count)
            let published = driver.publishers.tally
            let hostile = driver.hostiles.tally
            report.add("seconds", seconds, .seconds)
            report.add("actions", Double(published.accepted), .count)
            report.add("deliveries", Double(delivered.deliveries), .count)
            report.add("action to event", delivered.latency)
            report.add("readers cut and resumed", Double(cuts), .count)
            report.add("streams ended by the server", Double(delivered.resumes), .count)
            report.add(
                "stalled readers closed", Double(driver.subscribers.stalledClosed), .count)
            report.add("malformed requests refused", Double(hostile.accepted), .count)
            report.problems = published.problems + delivered.problems + accounts.problems
            for (status, count) in hostile.statuses.sorted(by: { $0.key < $1.key }) {
                report.problems.append(
                    "\(count) malformed requests answered with \(status) instead of a 4xx")
            }
            if hostile.lost > 0 {
                report.problems.append("\(hostile.lost) malformed requests without an answer")
            }
            if published.accepted == 0 { report.problems.append("no action was accepted") }
        }

        private func judge(_ curve: Curve, _ before: ProcessUsage, _ report: inout Report) {
            guard !target.options.pids.isEmpty else {
                report.notes.append("no --pid: memory and descriptors were not judged")
                return
            }
            // The server needs a moment to close; it gets the same timeout as everything else.
            let deadline = Clock.now() + target.options.timeout.nanoseconds
            var after = target.usage()
            while after.sockets > before.sockets, Clock.now() < deadline {
                after = target.usage()
            }
            // Private memory only: a shared page counts more once the other process has ended.
            report.add("server memory before (own)", Double(before.unshared), .bytes)
            report.add("server memory max (own)", curve.memory.max() ?? 0, .bytes)
            report.add("server memory, all gone (own)", Double(after.unshared), .bytes)
            report.add("descriptors before", Double(before.descriptors), .count)
            report.add("descriptors max", curve.descriptors.max() ?? 0, .count)
            report.add("descriptors, all gone", Double(after.descriptors), .count)
            if after.sockets > before.sockets {
                report.problems.append("\(after.sockets - before.sockets) sockets still open")
            }
            // A journal opens its file a few times, once each; a leak continues to grow.
            let files = Double(after.descriptors - after.sockets)
            if files > Double(before.descriptors - before.sockets) + 8 {
                report.problems.append("files still open: \(Int(files)) descriptors are no sockets")
            }
            guard curve.memory.count >= 6 else {
                report.notes.append("fewer than six samples: memory was not judged")
                return
            }
            let growth = Statistics.growth(curve.memory)
            report.add("memory growth, last third over middle", growth, .bytes)
            if growth > Statistics.median(curve.memory) * command.growthLimit / 100 {
                report.problems.append("memory still grows")
            }
        }

        // MARK: Plans

        private func subscriptions() throws(BenchError) -> SubscriberPlan {
            var plan = try target.subscribers(
                streams, publishers: publishing.publishers, marks: publishing.marks,
                stalled: command.stalled)
            plan.reopensStalled = true
            return plan
        }

        private var hostile: RequestPlan? {
            guard command.hostile > 0, command.hostileRate > 0 else { return nil }
            let path = publishing.publishPath ?? preset.publishPath
            return RequestPlan(
                templates: HostileRequests.templates(
                    path: target.endpoint.prefix + path, authority: target.endpoint.authority,
                    run: target.run),
                connections: command.hostile, streams: streams.streams,
                rate: command.hostileRate, expected: Set(400..<500))
        }

        private var title: String {
            "mixed \(target.options.url) (\(preset.rawValue)): \(streams.streams) streams,"
                + " \(streams.subscribers) readers, \(command.stalled) stalled"
        }
    }
#endif
