#if os(Linux)
    import Glibc

    /// The rounds of a storm: a server starts, receives the storm, and is killed or stopped.
    struct StormRun: ~Copyable {
        private let options: StormCommand
        private let files: StormFiles
        private let offered: Set<String>
        /// `--auth` of all servers with the file.
        private let fileAuth: String
        private var pool: ClientPool
        private var driver: StormDriver
        private var observers: Observers
        /// The crew that knows the content of the file.
        private var fileCrew: StormCrew
        private var crews = 0
        private var random: SeededNumbers
        private var words: [String] = []
        private var rounds = 0
        private var kills = 0
        private var stops = 0
        private var checks = 0
        private var acknowledged = 0
        private var firedTimers = 0
        private var goneTimers = 0
        private var highestResident: UInt64 = 0

        init(_ options: StormCommand) throws(BenchError) {
            let files = StormFiles(
                program: options.server[0], directory: try StormFiles.directory())
            try files.writeSecret()
            let offered = StormSettings.offered(by: try files.help())
            let crew = Self.crew(0, options)
            let driver = StormDriver(
                noise: options.connections, sessions: options.sessions, hunts: options.hunts,
                crew: crew, seed: options.seed &+ 1)
            let observers = try Observers(options.observers, seed: options.seed &+ 2)
            pool = try ClientPool(connections: driver.places)
            self.observers = observers
            self.options = options
            self.files = files
            self.offered = offered
            self.driver = driver
            fileCrew = crew
            random = SeededNumbers(seed: options.seed)
            fileAuth = Bool.random(using: &random) ? "jwt" : "none"
        }

        private static func crew(_ number: Int, _ options: StormCommand) -> StormCrew {
            StormCrew(
                number: number, posters: options.posters, pagers: options.posters,
                timers: options.timers)
        }

        /// Runs rounds until the time is over or a fault is found.
        mutating func report() throws(BenchError) -> Report {
            let begin = Clock.now()
            let end = begin + options.duration.nanoseconds
            repeat {
                try playRound(until: end)
                rounds += 1
            } while Clock.now() < end && driver.faults.isEmpty
            return report(seconds: Double(Clock.now() - begin) / 1e9)
        }

        // MARK: A round

        private mutating func playRound(until end: UInt64) throws(BenchError) {
            let isFile = rounds % 3 != 2
            let crew = nextCrew(isFile)
            var limits = crew.limits
            if isFile { limits["auth"] = fileAuth }
            let settings = StormSettings(
                isFile: isFile, offered: offered, limits: limits, &random)
            words =
                options.server + settings.words(journal: files.journal, secret: files.secret)
            let before = crew
            var server = try VictimProcess(words)
            guard let url = server.address(timeout: TimeSpan(seconds: 60)) else {
                return driver.record("the server does not start")
            }
            try pool.serverStarted(at: url)
            observers.use([try ServerTarget(url)])
            observers.begin(
                "\(rounds)", token: settings.hasTokens ? StormTokens.all : nil,
                watching: [crew.session])
            if isFile { try compareTags() }
            driver.serverStarted(settings, crew: crew, host: pool.host)
            let backup = isFile && rounds % 6 == 4 ? try files.backup() : nil
            let span = UInt64(Int.random(in: 200...4_000, using: &random)) * 1_000_000
            let last = min(end, Clock.now() + span)
            while Clock.now() < last, driver.faults.isEmpty, !server.hasEnded() {
                try turn(&server, until: min(last, Clock.now() + 20_000_000))
            }
            let isLast = Clock.now() >= end
            let isStopped = Int.random(in: 0..<4, using: &random) == 0 || isLast
            if isStopped { try finish(&server, isLast: isLast) }
            if server.hasEnded(), let code = server.endCode {
                driver.record("the server ended by itself with status \(code)", places: allPlaces)
            } else if isStopped {
                try stop(&server)
            } else {
                server.send(SIGKILL)
                let code = server.waitForEnd()
                kills += 1
                if code != 128 + SIGKILL {
                    driver.record(
                        "the server ended by itself with status \(code)", places: allPlaces)
                }
            }
            pool.serverIsGone()
            observers.use([])
            driver.serverIsGone()
            acknowledged += driver.crew.acknowledged - before.acknowledged
            firedTimers += driver.crew.timers.fired - before.timers.fired
            goneTimers += driver.crew.timers.gone - before.timers.gone
            guard isFile else { return }
            fileCrew = driver.crew
            try check(backup)
        }

        private var allPlaces: [Int] { Array(0..<driver.places) }

        /// With a file, mostly the crew of the last round: it knows the sessions that the file must
        /// have.
        private mutating func nextCrew(_ isFile: Bool) -> StormCrew {
            let isNew = !isFile || Int.random(in: 0..<4, using: &random) == 0
            guard isNew else { return fileCrew }
            crews += 1
            return Self.crew(crews, options)
        }

        private mutating func turn(
            _ server: inout VictimProcess, until time: UInt64
        ) throws(BenchError) {
            try driver.step(&pool)
            try pool.turn(until: time, &driver)
            try observers.turn(until: 0)
            recordObservations()
            let resident = server.residentBytes
            highestResident = max(highestResident, resident)
            if resident > UInt64(options.memoryLimit) << 20 {
                driver.record("the server has \(resident >> 20) MiB", places: allPlaces)
            }
        }

        /// Waits for the crew's outstanding responses while no other client sends.
        private mutating func finish(
            _ server: inout VictimProcess, isLast: Bool
        ) throws(BenchError) {
            guard driver.faults.isEmpty else { return }
            driver.finish(&pool)
            let deadline = Clock.now() + options.timeout.nanoseconds
            while !driver.waiting.isEmpty, driver.faults.isEmpty, !server.hasEnded() {
                guard Clock.now() < deadline else {
                    return driver.record("no answer within the timeout", places: driver.waiting)
                }
                try turn(&server, until: Clock.now() + 20_000_000)
            }
            guard driver.faults.isEmpty, !server.hasEnded() else { return }
            // Once: names have a grace of 10 s.
            let isWatched = isLast && driver.crew.hasSession
            try observers.compareAll(watched: isWatched ? [driver.crew.session] : nil)
            recordObservations()
        }

        private mutating func compareTags() throws(BenchError) {
            try observers.compareTags()
            recordObservations()
        }

        private mutating func recordObservations() {
            for fault in observers.takeFaults() { driver.record(fault) }
        }

        /// Sends SIGTERM: the server must exit with 0 within its grace period.
        private mutating func stop(_ server: inout VictimProcess) throws(BenchError) {
            pool.serverIsStopping()
            driver.serverIsStopping()
            server.send(SIGTERM)
            let deadline = Clock.now() + options.timeout.nanoseconds
            while !server.hasEnded(), Clock.now() < deadline {
                try pool.turn(until: Clock.now() + 20_000_000, &driver)
            }
            stops += 1
            guard let code = server.endCode else {
                server.send(SIGKILL)
                _ = server.waitForEnd()
                return driver.record("it does not end after SIGTERM")
            }
            if code != 0 { driver.record("status \(code) after SIGTERM", places: allPlaces) }
        }

        /// Checks that `journal check` finds no fault in the file and in copies of it.
        private mutating func check(_ backup: consuming VictimProcess?) throws(BenchError) {
            var faults: [String] = []
            if var backup {
                let text = backup.outputToEnd()
                let code = backup.waitForEnd()
                if code != 0 { faults.append("the backup of a running server: \(code): \(text)") }
            }
            faults += try files.check()
            checks += 1
            if rounds % 9 == 7 { faults += try files.checkExport() }
            for fault in faults { driver.record(fault) }
        }

        // MARK: The reckoning

        private borrowing func report(seconds: Double) -> Report {
            var report = Report(
                title: "storm: \(options.connections) connections, \(options.sessions) sessions,"
                    + " seed \(options.seed)")
            report.add("rounds", Double(rounds), .count)
            report.add("killed", Double(kills), .count)
            report.add("stopped with SIGTERM", Double(stops), .count)
            report.add("journal checks", Double(checks), .count)
            report.add("connections", Double(pool.connectionsMade), .count)
            report.add("requests", Double(pool.requestsSent), .count)
            report.add("answers", Double(pool.answers), .count)
            report.add("actions acknowledged and there", Double(acknowledged), .count)
            report.add("timers that fired once", Double(firedTimers), .count)
            report.add("timers that were gone", Double(goneTimers), .count)
            report.add("posts beside deletions", Double(driver.hunted), .count)
            observers.add(to: &report)
            report.add("most memory", Double(highestResident), .bytes)
            report.add("run", seconds, .seconds)
            if acknowledged == 0 { report.problems.append("nothing was acknowledged") }
            guard let fault = driver.faults.first else {
                files.remove()
                return report
            }
            report.problems += driver.faults.prefix(20).map(\.text)
            report.notes.append("round \(rounds - 1): \(words.joined(separator: " "))")
            report.notes.append(
                "the journal is in \(files.directory); again: --seed \(options.seed)")
            report.notes += pool.recollection(of: fault.places)
            return report
        }

        /// Prints the seed to standard error before the first server starts.
        static func announce(_ seed: UInt64) {
            // Without a backtrace a crashing server ends at once. Set the variable to get its
            // stack.
            unsafe setenv("SWIFT_BACKTRACE", "enable=no", 0)
            let text = Array("storm: seed \(seed)\n".utf8)
            _ = unsafe write(STDERR_FILENO, text, text.count)
        }
    }
#endif
