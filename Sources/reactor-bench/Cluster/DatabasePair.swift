#if os(Linux)
    import Glibc

    /// A PostgreSQL primary and its synchronous standby, in a temporary folder, without a network:
    /// both listen on Unix sockets there.
    ///
    /// The server of PostgreSQL does not run as root, so as root both run as the user `postgres`.
    final class DatabasePair {
        /// The two servers, of which one is the primary.
        private enum Place: String, CaseIterable {
            case left
            case right

            var other: Place { self == .left ? .right : .left }
        }

        private let folder: String
        private var primary = Place.left
        private var servers: [Place: DatabaseServer] = [:]

        /// Where `initdb` is: Debian has a folder for each version; else it is in `PATH`.
        private static let programs =
            (15...30).reversed().map { "/usr/lib/postgresql/\($0)/bin/" }
            .first { unsafe access($0 + "initdb", X_OK) == 0 } ?? ""

        /// Makes both servers and starts them; commits wait for the standby.
        init() throws(BenchError) {
            folder = "/tmp/reactor-cluster-\(getpid())"
            for place in Place.allCases {
                try Self.finish(["mkdir", "-p", "\(folder)/\(place.rawValue)"])
            }
            if geteuid() == 0 { try Self.finish(["chown", "-R", "postgres", folder]) }
            try run("initdb", ["-D", data(.left), "-A", "trust", "-U", "postgres", "-N"])
            try begin(.left)
            let deadline = Clock.now() + 60_000_000_000
            while try !isReady() {
                guard Clock.now() < deadline else { throw .setup("PostgreSQL does not start") }
                usleep(20_000)
            }
            var copy = try copyPrimary()
            guard copy.waitForEnd() == 0 else { throw .setup("pg_basebackup failed") }
            try startStandby()
        }

        /// Ends both servers and removes their folder. Called once, at the end.
        func remove() {
            servers.removeAll()
            try? Self.finish(["rm", "-rf", folder])
        }

        /// For `--journal`: both servers, of which the one that can be written to is used.
        var journal: String {
            let hosts = Place.allCases.map { "\(folder)/\($0.rawValue)" }.joined(separator: ",")
            return "postgres://postgres@/postgres?host=\(hosts)"
        }

        // MARK: Faults

        /// A crash of the primary, which starts again; see ``isReady()``.
        func restart() throws(BenchError) {
            servers[primary] = nil
            try begin(primary)
        }

        /// The end of what the primary has flushed.
        func flushedEnd() throws(BenchError) -> String {
            String(try query("SELECT pg_current_wal_flush_lsn()").filter { !$0.isWhitespace })
        }

        /// Whether commits wait for the standby, and it has everything up to there.
        func isReplicated(through end: String) throws(BenchError) -> Bool {
            let count = try query(
                """
                SELECT count(*) FROM pg_stat_replication
                WHERE state = 'streaming' AND sync_state = 'sync' AND flush_lsn >= '\(end)'
                """)
            return count.filter { !$0.isWhitespace } == "1"
        }

        /// A crash of the primary, after which its standby is promoted: only once it has what was
        /// acknowledged, see ``isReplicated(through:)``. Until it has a standby of its
        /// own nobody confirms commits, and they wait: see ``copyPrimary()``.
        func failOver() throws(BenchError) {
            servers[primary] = nil
            try run("pg_ctl", ["-D", data(primary.other), "-w", "-t", "60", "promote"])
            primary = primary.other
        }

        /// Begins to copy the primary. When the copy has ended, ``startStandby()`` makes a standby of
        /// it.
        func copyPrimary() throws(BenchError) -> VictimProcess {
            try Self.finish(Self.asUser(nil, ["rm", "-rf", data(primary.other)]))
            return try VictimProcess(
                Self.asUser(
                    "pg_basebackup",
                    [
                        "-h", "\(folder)/\(primary.rawValue)", "-U", "postgres", "-D",
                        data(primary.other), "-R", "-c", "fast", "-X", "stream",
                    ]))
        }

        /// Starts the copy of the primary; from then on commits wait for it.
        func startStandby() throws(BenchError) {
            try begin(primary.other)
            try query("ALTER SYSTEM SET synchronous_standby_names = '*'")
            try query("SELECT pg_reload_conf()")
        }

        /// Whether the primary accepts connections. A server that could not start, because processes
        /// of the killed one were still there, is started again.
        func isReady() throws(BenchError) -> Bool {
            try servers[primary]?.startAgainIfEnded()
            var process = try VictimProcess(
                Self.asUser(
                    "pg_isready",
                    ["-q", "-h", "\(folder)/\(primary.rawValue)", "-U", "postgres"]))
            return process.waitForEnd() == 0
        }

        /// Carries out statements on the primary; returns the result as text.
        @discardableResult
        func query(_ statements: String) throws(BenchError) -> String {
            var process = try VictimProcess(
                Self.asUser(
                    "psql",
                    [
                        "-h", "\(folder)/\(primary.rawValue)", "-U", "postgres", "-qAt", "-c",
                        statements,
                    ]))
            let text = process.outputToEnd()
            guard process.waitForEnd() == 0 else { throw .setup("psql -c '\(statements)'") }
            return text
        }

        /// The command that locks the rows of all sessions, of the schema that nodes use.
        func lockAll(seconds: Int) -> [String] {
            Self.asUser(
                "psql",
                [
                    "-h", "\(folder)/\(primary.rawValue)", "-U", "postgres", "-qAt", "-c",
                    "BEGIN; SELECT 1 FROM reactor.sessions FOR UPDATE; SELECT pg_sleep(\(seconds))",
                ])
        }

        // MARK: Servers

        private func data(_ place: Place) -> String { "\(folder)/\(place.rawValue)/data" }

        private func begin(_ place: Place) throws(BenchError) {
            servers[place] = try DatabaseServer(
                Self.asUser(
                    "postgres",
                    [
                        "-D", data(place), "-k", "\(folder)/\(place.rawValue)", "-c",
                        "listen_addresses=", "-c", "max_connections=200", "-c",
                        "log_min_messages=panic", "-c", "log_min_error_statement=panic",
                    ]))
        }

        // MARK: Programs

        private func run(_ program: String, _ arguments: [String]) throws(BenchError) {
            try Self.finish(Self.asUser(program, arguments))
        }

        private static func asUser(_ program: String?, _ arguments: [String]) -> [String] {
            let user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
            let words = (program.map { [programs + $0] } ?? []) + arguments
            return (geteuid() == 0 ? user : []) + words
        }

        private static func finish(_ words: [String]) throws(BenchError) {
            var process = try VictimProcess(words)
            // Its output is read so that it never waits for a reader.
            _ = process.outputToEnd()
            let code = process.waitForEnd()
            guard code == 0 else {
                throw .setup("\(words.joined(separator: " ")) ended with \(code)")
            }
        }
    }

    /// One server, which is killed when it is released: its processes notice and end.
    private final class DatabaseServer {
        private let words: [String]
        private var process: VictimProcess

        init(_ words: [String]) throws(BenchError) {
            self.words = words
            process = try VictimProcess(words)
        }

        /// A server refuses to start while processes of the killed one are still there.
        func startAgainIfEnded() throws(BenchError) {
            if process.hasEnded() { process = try VictimProcess(words) }
        }
    }
#endif
