#if os(Linux)
    import Glibc

    /// A PostgreSQL primary and its synchronous standby, in a temporary folder. Both listen on Unix
    /// sockets there, and on TCP if they have a network.
    ///
    /// The server of PostgreSQL does not run as root, so as root both run as the user `postgres`.
    final class DatabasePair {
        /// The two servers, of which one is the primary.
        private enum Place: String, CaseIterable {
            case left
            case right

            var other: Place { self == .left ? .right : .left }
        }

        /// The two servers.
        static let hosts = Place.allCases.map(host)

        private let folder: String
        private let network: ClusterNetwork?
        private var primary = Place.left
        private var servers: [Place: DatabaseServer] = [:]

        /// Where `initdb` is: Debian has a folder for each version; else it is in `PATH`.
        private static let programs =
            (15...30).reversed().map { "/usr/lib/postgresql/\($0)/bin/" }
            .first { unsafe access($0 + "initdb", X_OK) == 0 } ?? ""

        /// Makes both servers and starts them; commits wait for the standby.
        init(on network: ClusterNetwork? = nil) throws(BenchError) {
            self.network = network
            folder = "/tmp/reactor-cluster-\(getpid())"
            for place in Place.allCases {
                try VictimProcess.finish(["mkdir", "-p", "\(folder)/\(place.rawValue)"])
            }
            if geteuid() == 0 { try VictimProcess.finish(["chown", "-R", "postgres", folder]) }
            try run("initdb", ["-D", data(.left), "-A", "trust", "-U", "postgres", "-N"])
            if network != nil { try allowNetwork() }
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
            try? VictimProcess.finish(["rm", "-rf", folder])
        }

        /// For `--journal`: both servers, of which the one that can be written to is used.
        var journal: String {
            if let network {
                let hosts = Self.hosts.map(network.address).joined(separator: ",")
                return "postgres://postgres@\(hosts)/postgres"
            }
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

        /// Whether the server has read that commits wait for the standby: each new process has its
        /// settings.
        func isSetToReplicate() throws(BenchError) -> Bool {
            try query("SHOW synchronous_standby_names").hasPrefix("*")
        }

        /// Makes commits wait as the settings say. It is the checkpointer that adopts them, after a
        /// checkpoint that is under way.
        ///
        /// - Precondition: ``isSetToReplicate()``.
        func adoptSettings() throws(BenchError) { try query("CHECKPOINT") }

        /// Whether the journal has noted that a standby confirms commits.
        func isKnownAsReplicated() throws(BenchError) -> Bool {
            try query("SELECT is_synchronous FROM reactor.cluster").hasPrefix("t")
        }

        /// A crash of the primary, after which its standby is promoted: only once it has what was
        /// acknowledged, see ``isReplicated(through:)``. Until it has a standby of its
        /// own nobody confirms commits, and they wait: see ``copyPrimary()``.
        func failOver() throws(BenchError) {
            servers[primary] = nil
            try run("pg_ctl", ["-D", data(primary.other), "-w", "-t", "60", "promote"])
            primary = primary.other
        }

        /// Promotes the standby while the primary runs. The former primary commits nothing more,
        /// because no standby confirms its commits. Commits of the new primary wait for no standby
        /// until it has one.
        func promoteBesides() throws(BenchError) {
            try run("pg_ctl", ["-D", data(primary.other), "-w", "-t", "60", "promote"])
            primary = primary.other
            try query("ALTER SYSTEM SET synchronous_standby_names = ''")
            try query("SELECT pg_reload_conf()")
        }

        /// Crashes the server that was the primary.
        func endFormer() { servers[primary.other] = nil }

        /// The host of the primary, and that of the other server.
        var present: (primary: ClusterNetwork.Host, other: ClusterNetwork.Host) {
            (Self.host(primary), Self.host(primary.other))
        }

        /// Begins to copy the primary. When the copy has ended, ``startStandby()`` makes a
        /// standby of it.
        func copyPrimary() throws(BenchError) -> VictimProcess {
            try VictimProcess.finish(Self.asUser(nil, ["rm", "-rf", data(primary.other)]))
            return try VictimProcess(
                command(
                    "pg_basebackup", on: primary.other,
                    [
                        "-h",
                        network?.address(Self.host(primary)) ?? "\(folder)/\(primary.rawValue)",
                        "-U", "postgres", "-D",
                        data(primary.other), "-R", "-c", "fast", "-X", "stream",
                    ]))
        }

        /// Starts the copy of the primary; from then on commits wait for it.
        func startStandby() throws(BenchError) {
            try begin(primary.other)
            try query("ALTER SYSTEM SET synchronous_standby_names = '*'")
            try query("SELECT pg_reload_conf()")
        }

        /// Whether the primary accepts connections. A server that could not start, because
        /// processes of the killed one were still there, is started again.
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
            let address = network?.address(Self.host(place)) ?? ""
            servers[place] = try DatabaseServer(
                command(
                    "postgres", on: place,
                    [
                        "-D", data(place), "-k", "\(folder)/\(place.rawValue)", "-c",
                        "listen_addresses=\(address)", "-c", "max_connections=200", "-c",
                        "log_min_messages=panic", "-c", "log_min_error_statement=panic",
                    ]))
        }

        /// Everybody in the network may do everything.
        private func allowNetwork() throws(BenchError) {
            let rules = "host all all samenet trust\nhost replication all samenet trust\n"
            try VictimProcess.finish([
                "sh", "-c", "printf '\(rules)' >> \(data(.left))/pg_hba.conf",
            ])
        }

        private static func host(_ place: Place) -> ClusterNetwork.Host {
            .database(place.rawValue)
        }

        // MARK: Programs

        private func command(
            _ program: String, on place: Place, _ arguments: [String]
        ) -> [String] {
            let words = Self.asUser(program, arguments)
            return network?.words(words, on: Self.host(place)) ?? words
        }

        private func run(_ program: String, _ arguments: [String]) throws(BenchError) {
            try VictimProcess.finish(Self.asUser(program, arguments))
        }

        private static func asUser(_ program: String?, _ arguments: [String]) -> [String] {
            let user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
            let words = (program.map { [programs + $0] } ?? []) + arguments
            return (geteuid() == 0 ? user : []) + words
        }
    }

    /// One server, which is killed when it is released: its processes notice and end.
    ///
    /// Why the postmaster alone: its processes live for a moment, and show rows that no standby
    /// has. That is a crash like any other, and no reader may see such a row (ADR-0075).
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
