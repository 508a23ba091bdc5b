#if os(Linux)
    import Glibc

    /// The rounds of `torture`, and the comparison at the end.
    struct TortureRun: ~Copyable {
        private let options: TortureCommand
        private let words: [String]
        private var pool: ClientPool
        private var driver: TortureDriver
        private var random: SeededNumbers
        private var starts: [Double] = []
        private var kills = 0
        private var earlyKills = 0
        private var stops = 0
        private var roundsDone = 0

        init(_ options: TortureCommand) throws(BenchError) {
            let run = "torture-" + String(options.seed, radix: 36)
            let sessions = options.sessions
            let readers = (0..<sessions * options.subscribers).map { index in
                TortureReader(
                    session: index % sessions,
                    stream: TortureReader.Stream.allCases[index / sessions % 3])
            }
            let posters = (0..<options.posters).map { index in
                TorturePoster(number: UInt16(index), session: index % sessions)
            }
            let driver = TortureDriver(
                run: run, posters: posters,
                timers: (0..<options.timers).map { TimerClient(name: "\(run)-timers-\($0)") },
                readers: readers, sessions: sessions, seed: options.seed &+ 1)
            pool = try ClientPool(connections: driver.places)
            self.driver = driver
            self.options = options
            words = options.server
            random = SeededNumbers(seed: options.seed)
        }

        /// Plays all rounds, then compares the responses with the sessions.
        mutating func report() throws(BenchError) -> Report {
            let begin = Clock.now()
            let limit = begin + options.seconds.nanoseconds
            while roundsDone < options.rounds, Clock.now() < limit {
                try playRound()
                roundsDone += 1
            }
            let histories = try readHistories()
            driver.ledger.close(histories)
            return report(histories, seconds: Double(Clock.now() - begin) / 1e9)
        }

        // MARK: Rounds

        private mutating func playRound() throws(BenchError) {
            // One server in eight is killed before its first connection.
            if roundsDone > 0, Int.random(in: 0..<8, using: &random) == 0 {
                try killWhileStarting()
            }
            var server = try start()
            let span = options.round.nanoseconds
            let end = Clock.now() + UInt64.random(in: span / 10...span * 2, using: &random)
            try play(until: end)
            guard !server.hasEnded() else { throw .setup("the server ended by itself") }
            // Every tenth server is stopped in order, which writes snapshots, as eviction does.
            if roundsDone % 10 == 9 {
                pool.serverIsStopping()
                server.send(SIGTERM)
                try readToTheEnd()
                let code = server.waitForEnd()
                if code != 0 { driver.ledger.record(.answer, "exit \(code) after SIGTERM") }
                stops += 1
            } else {
                server.send(SIGKILL)
                _ = server.waitForEnd()
                try readToTheEnd()
                kills += 1
            }
        }

        private mutating func play(until end: UInt64) throws(BenchError) {
            var nextDrop = Clock.now() + 100_000_000
            while Clock.now() < end {
                try pool.turn(until: min(end, nextDrop), &driver)
                guard Clock.now() >= nextDrop else { continue }
                nextDrop = Clock.now() + 100_000_000
                // Connects readers of sessions that were unknown when the server started.
                try driver.connect(&pool)
                try driver.askTimers(&pool)
                if let index = driver.readers.indices.randomElement(using: &random) {
                    try driver.dropReader(index, &pool)
                }
            }
        }

        /// Reads the bytes that a server that has ended, or is ending, left in the sockets.
        private mutating func readToTheEnd() throws(BenchError) {
            pool.serverIsStopping()
            let deadline = Clock.now() + 2_000_000_000
            while pool.connections.contains(where: \.isOpen), Clock.now() < deadline {
                try pool.turn(until: Clock.now() + 50_000_000, &driver)
            }
            driver.serverIsGone(&pool)
        }

        private mutating func killWhileStarting() throws(BenchError) {
            var server = try VictimProcess(words)
            var pause = timespec(
                tv_sec: 0, tv_nsec: Int.random(in: 0..<80_000_000, using: &random))
            unsafe nanosleep(&pause, nil)
            server.send(SIGKILL)
            _ = server.waitForEnd()
            earlyKills += 1
        }

        private mutating func start() throws(BenchError) -> VictimProcess {
            let begin = Clock.now()
            let server = try VictimProcess(words)
            guard let url = server.address(timeout: TimeSpan(seconds: 60)) else {
                throw .setup("round \(roundsDone): the server does not say where it listens")
            }
            starts.append(Double(Clock.now() - begin) / 1e9)
            try pool.serverStarted(at: url)
            try driver.connect(&pool)
            return server
        }

        // MARK: The reckoning

        /// Lets all clients complete their requests and read to the end; then reads the history
        /// anew.
        private mutating func readHistories() throws(BenchError) -> [[UInt64]] {
            // This server runs until the end and is then killed.
            let server = try start()
            driver.finish()
            let deadline = Clock.now() + options.timeout.nanoseconds
            while !driver.areDone, Clock.now() < deadline {
                try driver.askTimers(&pool)
                try pool.turn(until: min(deadline, Clock.now() + 100_000_000), &driver)
            }
            if !driver.areDone {
                driver.ledger.record(.answer, "posts or timers without an answer")
            }
            try driver.addHistorians(&pool)
            while !driver.haveReadAll, Clock.now() < deadline {
                try pool.turn(until: min(deadline, Clock.now() + 100_000_000), &driver)
            }
            driver.recordLaggards()
            server.send(SIGTERM)
            return driver.histories
        }

        private borrowing func report(_ histories: [[UInt64]], seconds: Double) -> Report {
            var report = Report(
                title: "torture: \(options.posters) posters, \(driver.readers.count) readers,"
                    + " \(options.sessions) sessions, seed \(options.seed)")
            let posts = driver.ledger.posts
            report.add("rounds", Double(roundsDone), .count)
            report.add("killed under load", Double(kills), .count)
            report.add("killed while starting", Double(earlyKills), .count)
            report.add("stopped with SIGTERM", Double(stops), .count)
            report.add("posts", Double(posts.count), .count)
            report.add(
                "actions acknowledged",
                Double(driver.posters.reduce(0) { $0 + $1.acknowledged }), .count)
            report.add(
                "posts never answered",
                Double(posts.count { $0.outcome == .unanswered }), .count)
            report.add(
                "posts refused", Double(posts.count { $0.outcome == .refused }), .count)
            report.add(
                "answers to repeated requests",
                Double(driver.posters.reduce(0) { $0 + $1.repeats }), .count)
            report.add(
                "actions in the history", Double(histories.reduce(0) { $0 + $1.count }), .count)
            report.add(
                "events checked", Double(driver.readers.reduce(0) { $0 + $1.count }), .count)
            report.add("timers that fired once", Double(driver.timers.fired), .count)
            report.add("timers that were gone", Double(driver.timers.gone), .count)
            report.add("connections", Double(pool.connectionsMade), .count)
            let sorted = starts.sorted()
            report.add("start to ready, median", sorted[sorted.count / 2], .seconds)
            report.add("start to ready, slowest", sorted[sorted.count - 1], .seconds)
            report.add("run", seconds, .seconds)
            for fault in TortureFault.allCases {
                report.add(fault.rawValue, Double(driver.ledger.counts[fault] ?? 0), .count)
            }
            report.problems = driver.ledger.messages
            if driver.posters.allSatisfy({ $0.acknowledged == 0 }) {
                report.problems.append("nothing was acknowledged")
            }
            return report
        }
    }
#endif
