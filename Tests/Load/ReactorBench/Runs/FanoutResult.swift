#if os(Linux)
    /// The result of one fan-out.
    struct FanoutResult {
        var title: String
        var published = RequestTally()
        var delivered = DeliveryTally()
        /// Deliveries, body bytes and seconds, from the end of the warm-up to the last delivery.
        var deliveries: UInt64 = 0
        var bytes: UInt64 = 0
        var seconds: Double = 0
        /// Whether every reader received every event.
        var accounts = Accounts()
        var ramp = Histogram()
        var rampSeconds: Double = 0
        /// The number of streams, how many of them never read, and how many of those the server
        /// closed.
        var stalled = 0
        var stalledClosed = 0
        var ownCPU: UInt64 = 0
        /// The server's usage before anything was opened, with all streams open, and at the end.
        var before = ProcessUsage()
        var opened = ProcessUsage()
        var after = ProcessUsage()
        /// The server's CPU time at the end of the warm-up.
        var warmCPU: UInt64 = 0
        /// The largest resident size during publishing.
        var residentMax: UInt64 = 0
        var hasUsage = false

        /// All faults that invalidate the run.
        var problems: [String] {
            var problems = published.problems + delivered.problems + accounts.problems
            if deliveries == 0 { problems.append("nothing was delivered") }
            return problems
        }

        /// The result as figures.
        var report: Report {
            var report = Report(title: title)
            report.add("deliveries", Double(deliveries), .count)
            report.add("deliveries per second", Double(deliveries) / seconds, .perSecond)
            report.add("actions per second", Double(published.accepted) / seconds, .perSecond)
            report.add("bytes per second", Double(bytes) / seconds, .bytes)
            report.add("action to event", delivered.latency)
            report.add("post", published.latency)
            addServer(to: &report)
            if deliveries > 0 {
                report.add(
                    "bench CPU per delivery", Double(ownCPU) / Double(deliveries), .nanoseconds)
            }
            report.add("bench CPU", Double(ownCPU) / 1e9 / seconds, .share)
            report.add("streams open after", rampSeconds, .seconds)
            report.add("resumed streams", Double(delivered.resumes), .count)
            if stalled > 0 {
                report.add("stalled readers", Double(stalled), .count)
                report.add("stalled readers closed", Double(stalledClosed), .count)
            }
            report.problems = problems
            return report
        }

        private func addServer(to report: inout Report) {
            guard hasUsage else { return }
            let cpu = Double(after.cpu &- warmCPU)
            if deliveries > 0 {
                report.add("server CPU per delivery", cpu / Double(deliveries), .nanoseconds)
            }
            report.add("server CPU", cpu / 1e9 / seconds, .share)
            report.add("server memory before (PSS)", Double(before.proportional), .bytes)
            report.add("server memory open (PSS)", Double(opened.proportional), .bytes)
            report.add("server memory after (PSS)", Double(after.proportional), .bytes)
            report.add("server resident max", Double(residentMax), .bytes)
        }
    }
#endif
