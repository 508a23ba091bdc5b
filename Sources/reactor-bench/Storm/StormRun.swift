#if os(Linux)
    import Glibc

    /// The rounds of a storm: a server starts, is stormed, and is killed or told to stop.
    struct StormRun: ~Copyable {
        private let options: StormCommand
        private let directory: String
        private var clients: StormClients
        private var random: SeededNumbers
        private var rounds = 0
        private var kills = 0
        private var stops = 0
        private var checks = 0

        /// - Parameter directory: of the journal, empty.
        init(_ options: StormCommand, in directory: String) throws(BenchError) {
            self.options = options
            self.directory = directory
            random = SeededNumbers(seed: options.seed)
            clients = try StormClients(
                connections: options.connections, seed: options.seed &+ 1)
        }

        /// Storms until the time is over or something is wrong.
        mutating func report() throws(BenchError) -> Report {
            let begin = Clock.now()
            let end = begin + options.duration.nanoseconds
            repeat {
                try playRound(until: end)
                rounds += 1
            } while Clock.now() < end && clients.faults.isEmpty
            return report(seconds: Double(Clock.now() - begin) / 1e9)
        }

        // MARK: A round

        private mutating func playRound(until end: UInt64) throws(BenchError) {
            let isFile = rounds % 2 == 0
            let keptRecords = [1, 5, 20, 100].randomElement(using: &random) ?? 20
            var server = try VictimProcess(words(isFile, keptRecords))
            guard let url = server.address(timeout: TimeSpan(seconds: 60)) else {
                return clients.note("round \(rounds): the server does not start")
            }
            try clients.serverStarted(
                at: url, sessions: options.sessions, keptRecords: keptRecords, isFile: isFile)
            let span = UInt64(Int.random(in: 200...4_000, using: &random)) * 1_000_000
            let last = min(end, Clock.now() + span)
            while Clock.now() < last, clients.faults.isEmpty, !server.hasEnded() {
                try clients.turn(until: min(last, Clock.now() + 20_000_000))
            }
            if let code = server.endCode {
                clients.serverIsGone()
                return clients.note(
                    "round \(rounds), \(isFile ? "file" : "memory"): the server ended by itself"
                        + " with status \(code)")
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                try stop(&server)
            } else {
                server.send(SIGKILL)
                _ = server.waitForEnd()
                clients.serverIsGone()
                kills += 1
            }
            if isFile { try check() }
        }

        /// SIGTERM, with everybody still there: it ends with 0, and within its grace.
        private mutating func stop(_ server: inout VictimProcess) throws(BenchError) {
            clients.serverIsStopping()
            server.send(SIGTERM)
            let deadline = Clock.now() + 30_000_000_000
            while !server.hasEnded(), Clock.now() < deadline {
                try clients.turn(until: Clock.now() + 20_000_000)
            }
            guard let code = server.endCode else {
                server.send(SIGKILL)
                _ = server.waitForEnd()
                clients.serverIsGone()
                return clients.note("round \(rounds): it does not end after SIGTERM")
            }
            clients.serverIsGone()
            if code != 0 { clients.note("round \(rounds): status \(code) after SIGTERM") }
            stops += 1
        }

        /// `journal check` finds nothing.
        private mutating func check() throws(BenchError) {
            checks += 1
            var checker = try VictimProcess([options.server[0], "journal", "check", journal])
            let text = checker.outputToEnd()
            let code = checker.waitForEnd()
            if code != 0 { clients.note("round \(rounds): journal check: \(code): \(text)") }
        }

        // MARK: Its settings

        private var journal: String { "\(directory)/storm.sqlite" }

        /// Small limits, so that each of them is met.
        private func words(_ isFile: Bool, _ keptRecords: Int) -> [String] {
            options.server + [
                "--port", "0", "--admin", "on", "--log-level", "critical", "--loops", "2",
                "--journal", isFile ? "file:\(journal)" : "memory",
                "--keep-records", "\(keptRecords)", "--keep-bytes", "4096",
                "--history-records", "60", "--session-limit", "40", "--batch-limit", "50",
                "--session-idle", "400ms", "--body-limit", "65536", "--head-limit", "4096",
                "--heartbeat", "200ms", "--connection-age", "1s", "--stall-timeout", "1s",
                "--request-timeout", "1s", "--idle-timeout", "1s", "--grace", "500ms",
            ]
        }

        /// Says on standard error with which seed it begins.
        static func announce(_ seed: UInt64) {
            let text = Array("storm: seed \(seed)\n".utf8)
            _ = unsafe write(STDERR_FILENO, text, text.count)
        }

        static func makeDirectory() throws(BenchError) -> String {
            var path = Array("/tmp/reactor-storm-XXXXXX".utf8CString)
            let isMade = unsafe path.withUnsafeMutableBufferPointer { buffer in
                unsafe buffer.baseAddress.map { unsafe mkdtemp($0) != nil } ?? false
            }
            guard isMade else { throw .system(operation: "mkdtemp", code: errno) }
            return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
            report.add("connections", Double(clients.connectionsMade), .count)
            report.add("requests", Double(clients.requestsSent), .count)
            report.add("answers", Double(clients.answers), .count)
            report.add("counts acknowledged", Double(clients.acknowledged), .count)
            report.add("run", seconds, .seconds)
            report.problems = clients.faults
            if clients.acknowledged == 0 {
                report.problems.append("nothing was acknowledged")
            }
            if report.problems.isEmpty {
                for name in ["", "-wal", "-shm", "-journal", ".lock", ".writer"] {
                    unsafe unlink(journal + name)
                }
                unsafe rmdir(directory)
            } else {
                report.notes.append("the journal is in \(directory); again: --seed \(options.seed)")
                report.notes += clients.lines.suffix(200).map { "sent by \($0)" }
            }
            return report
        }
    }
#endif
