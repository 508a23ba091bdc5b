#if os(Linux)
    /// The measurement behind `stall`.
    struct StallRun {
        private let command: StallCommand

        init(_ command: StallCommand) {
            self.command = command
        }

        /// Measures without and with stalled readers alternately, in separate sessions.
        func report() throws(BenchError) -> Report {
            var without: [FanoutResult] = []
            var with: [FanoutResult] = []
            for _ in 0..<command.rounds {
                without.append(try result(stalled: 0))
                with.append(try result(stalled: command.stalled))
            }
            var report = Report(
                title: "stall \(command.target.url) (\(command.target.preset.rawValue)):"
                    + " \(command.fanout.streams.subscribers) readers,"
                    + " \(command.stalled) that never read")
            compare("action to event p50", without, with, .nanoseconds, &report) {
                Double($0.delivered.latency.quantile(0.5))
            }
            compare("action to event p99", without, with, .nanoseconds, &report) {
                Double($0.delivered.latency.quantile(0.99))
            }
            compare("post p99", without, with, .nanoseconds, &report) {
                Double($0.published.latency.quantile(0.99))
            }
            compare("deliveries per second", without, with, .perSecond, &report) {
                Double($0.deliveries) / $0.seconds
            }
            if !command.target.pids.isEmpty { addMemory(without, with, &report) }
            let closed = with.map(\.stalledClosed).reduce(0, +)
            report.add("stalled readers closed", Double(closed), .count)
            report.problems = without.flatMap(\.problems) + with.flatMap(\.problems)
            return report
        }

        private func result(stalled: Int) throws(BenchError) -> FanoutResult {
            try FanoutRun(
                target: Target(command.target), options: command.fanout, stalled: stalled
            ).result()
        }

        private func addMemory(
            _ without: [FanoutResult], _ with: [FanoutResult], _ report: inout Report
        ) {
            compare("server resident max", without, with, .bytes, &report) {
                Double($0.residentMax)
            }
            compare("memory grown while publishing", without, with, .bytes, &report) {
                Double($0.after.proportional) - Double($0.opened.proportional)
            }
        }

        private func compare(
            _ name: String, _ without: [FanoutResult], _ with: [FanoutResult],
            _ unit: FigureUnit, _ report: inout Report, _ value: (FanoutResult) -> Double
        ) {
            let base = Statistics.median(without.map(value))
            let loaded = Statistics.median(with.map(value))
            report.add("\(name), none stalled", base, unit)
            report.add("\(name), with stalled", loaded, unit)
        }
    }
#endif
