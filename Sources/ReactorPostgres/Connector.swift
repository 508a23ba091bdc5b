internal import Cluster
internal import Synchronization

/// Makes connections that may be believed.
///
/// Design: a connection begins with one synchronous commit of its own, and nothing that it shows is
/// believed before: after a crash a primary shows commits that no standby has. Then it is compared with
/// the database of the earlier connections. Connections that show members alone need no commit; see
/// ``Purpose``.
final class Connector: Sendable {
    /// The use of a connection.
    enum Purpose {
        /// Its records and owners are shown to clients, or decided upon.
        case history
        /// It shows the ages of members, and sessions that this node has lost. Nothing is acknowledged because of
        /// it, and a node that waits for a standby is alive: it does not begin with a commit while the
        /// database is the one that the other connections have found.
        case members
    }

    /// The history that a connection shows. A server that was promoted has another timeline than the former
    /// primary, even if nothing was lost and no era has begun.
    struct Origin: Equatable {
        var system = ""
        var timeline = ""
        var era: Int64 = 0

        /// Whether a standby of this server was promoted since.
        func isBefore(_ other: Origin) -> Bool {
            system == other.system && timeline < other.timeline
        }
    }

    /// The database, as the last connection has found it.
    struct Database: Equatable {
        var identity: String
        var system: String
        var timeline: String
        var era: Int64
        /// Whether commits wait for a standby.
        var isSynchronous: Bool
        var hasPooler: Bool
        /// The end of the log that is flushed, in bytes.
        var flushed: Int64 = 0

        var origin: Origin { Origin(system: system, timeline: timeline, era: era) }

        /// Whether this is the same server with less in its log: an older copy of its files. A crash
        /// loses nothing that was flushed.
        func lacks(_ earlier: Database) -> Bool {
            system == earlier.system && timeline == earlier.timeline && flushed < earlier.flushed
        }

        /// Whether nothing has to be adopted.
        func isSame(as earlier: Database) -> Bool {
            identity == earlier.identity && origin == earlier.origin && !lacks(earlier)
        }
    }

    /// A server process, and the time of its start: process ids are used again.
    struct Backend: Equatable {
        var processID: Int64
        var started: String
    }

    let address: PostgresAddress
    let rules: Rules
    /// This process in a cluster; nil: it decides on all sessions.
    let node: Node?
    private let book = Mutex(Book())

    private struct Book {
        var database: Database?
        /// Whether another era is being committed: a connection may show data of either.
        var isChanging = false
        var losses: UInt64 = 0
        var watchers: [@Sendable (UInt64) -> Void] = []
    }

    /// The time for one statement of housekeeping, connecting included.
    static let limit = Duration.seconds(5)

    init(_ address: PostgresAddress, rules: Rules = .all, node: Node? = nil) {
        self.address = address
        self.node = node
        self.rules = rules
    }

    /// The database of the last connection; nil before the first.
    var database: Database? { book.withLock { $0.database } }

    // MARK: Losses of history

    /// The number of eras that have begun with the first connection or since.
    var losses: UInt64 { book.withLock { $0.losses } }

    /// Calls `lost` before a connection shows anything of another era.
    func watchHistory(_ lost: @escaping @Sendable (UInt64) -> Void) {
        book.withLock { $0.watchers.append(lost) }
    }

    /// The watchers refer to the loops, and those to the journal.
    func removeWatchers() { book.withLock { $0.watchers = [] } }

    /// Whether what the connection has shown is of the present era, and of the server that is the primary
    /// now: a former one keeps its connections, and may neither show nor accept anything.
    func isPresent(_ connection: Connection) -> Bool {
        book.withLock { !$0.isChanging && $0.database?.origin == connection.origin }
    }

    /// Records how far the log is flushed; see ``Database/lacks(_:)``.
    func recordFlushed(_ end: Int64, over connection: Connection) {
        book.withLock { book in
            guard var database = book.database, database.origin == connection.origin else {
                return
            }
            database.flushed = max(end, database.flushed)
            book.database = database
        }
    }

    static let flushed = "pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint"

    // MARK: Connecting

    /// - Parameter name: Says in `pg_stat_activity` what the connection is for.
    func connect(
        _ name: String, for purpose: Purpose = .history
    ) throws(PostgresFault) -> (connection: Connection, backend: Backend) {
        let connection = try Connection(address.parameters)
        try connection.execute(settings(name), within: Self.limit)
        // Ends the statements of a node whose process has ended. Not on every system.
        try? connection.execute(
            "SET client_connection_check_interval = '1s'", within: Self.limit)
        // Read before the look, which shows all that was flushed by then. More may be flushed, and recorded,
        // between the look and the comparison.
        let last = database
        if purpose == .members {
            let (found, backend) = try look(at: connection)
            connection.origin = found.origin
            if let last, found.isSame(as: last), isPresent(connection) {
                return (connection, backend)
            }
        }
        if rules.contains(.beginsWithCommit) { try beginWithCommit(connection) }
        let (database, backend) = try look(at: connection)
        try adopt(database, after: last, connection)
        return (connection, backend)
    }

    private func settings(_ name: String) -> String {
        """
        SET client_encoding = 'UTF8'; SET client_min_messages = warning;
        SET application_name = '\(address.schema)/\(name)'; SET search_path = \(address.schema);
        SET synchronous_commit = \(address.durability.rawValue); SET lock_timeout = '500ms';
        SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
        SET default_transaction_isolation = 'read committed';
        SET default_transaction_read_only = off;
        SET plan_cache_mode = force_generic_plan; SET jit = off
        """
    }

    private func beginWithCommit(_ connection: Connection) throws(PostgresFault) {
        try connection.execute("UPDATE cluster SET touched = touched + 1", within: Self.limit)
        try connection.refuseWarnings()
    }

    // MARK: Checks

    /// Refuses a server that loses what it has acknowledged.
    static func check(_ connection: Connection) throws(PostgresFault) {
        let found = try connection.run(
            """
            SELECT current_setting('server_version_num')::bigint, current_setting('server_version'),
                current_setting('fsync'), current_setting('full_page_writes')
            """, within: limit)
        func refuse(_ sentence: String) -> PostgresFault {
            PostgresFault(state: refusedState, message: sentence, isBroken: false)
        }
        guard found.integer(0, 0) >= 150_000 else {
            throw refuse(
                "the server is PostgreSQL \(found.text(0, 1)), and version 15 is needed at least")
        }
        for (column, name) in [(2, "fsync"), (3, "full_page_writes")]
        where found.text(0, column) != "on" {
            throw refuse(
                "\(name) is \(found.text(0, column)): the server would lose acknowledged commits; "
                    + "turn it on in postgresql.conf")
        }
    }

    /// Stands for a refusal of this program: no SQLSTATE begins with it.
    static let refusedState = "reactor"

    private func look(
        at connection: Connection
    ) throws(PostgresFault) -> (Database, Backend) {
        try Self.check(connection)
        let found = try connection.run(
            """
            SELECT c.identity, (SELECT system_identifier::text FROM pg_control_system()),
                substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8), c.era,
                current_setting('synchronous_standby_names') <> '', pg_backend_pid()::bigint,
                (SELECT backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()),
                c.version, \(Self.flushed)
            FROM cluster c
            """, within: Self.limit)
        let version = found.integer(0, 7)
        guard version <= Schema.version else {
            throw PostgresFault(
                state: Self.refusedState,
                message: "the tables of the schema \(address.schema) have version \(version), made "
                    + "by a newer program; this one reads version \(Schema.version)",
                isBroken: false)
        }
        let process = found.integer(0, 5)
        let database = Database(
            identity: found.text(0, 0), system: found.text(0, 1), timeline: found.text(0, 2),
            era: found.integer(0, 3, in: Era.range), isSynchronous: found.bool(0, 4),
            hasPooler: process != connection.processID, flushed: found.integer(0, 8))
        return (database, Backend(processID: process, started: found.text(0, 6)))
    }

    /// Compares the database with that of the last connection and of the last process.
    private func adopt(
        _ found: Database, after last: Database?, _ connection: Connection
    ) throws(PostgresFault) {
        guard rules.contains(.comparesDatabases) || last == nil else {
            connection.origin = last?.origin ?? Origin()
            return
        }
        if let last, last.identity != found.identity {
            throw PostgresFault(
                state: Self.refusedState,
                message: "the schema \(address.schema) has another journal than before; "
                    + "a server that is started anew takes it", isBroken: false)
        }
        if let last, found.origin.isBefore(last.origin) { throw Self.formerPrimary }
        var (found, begins) = (found, false)
        found.era = try Era(address, connection).bringUpToDate(with: found, after: last) {
            begins = true
            book.withLock { $0.isChanging = true }
        }
        connection.origin = found.origin
        try announce(found, begins: begins)
    }

    /// Another attempt may reach the present one.
    private static let formerPrimary = PostgresFault(
        message: "the server is a former primary: another one was promoted since", isBroken: true)

    /// Why within the lock: another connection must not show anything of the era before the watchers
    /// know of it. They send a message, and return.
    ///
    /// - Parameter begins: Whether the era begins with this connection. As the first one of a process it
    ///   has nobody to notify, and counts.
    private func announce(_ found: Database, begins: Bool) throws(PostgresFault) {
        let isFormer = book.withLock { book in
            let present = book.database?.origin ?? found.origin
            let era = present.era
            // Another connection has found a newer era, or a newer primary, meanwhile.
            guard found.era >= era, !found.origin.isBefore(present) else { return true }
            book.isChanging = false
            defer { book.database = found }
            guard found.era > era || begins && book.database == nil else { return false }
            book.losses += 1
            for lost in book.watchers { lost(UInt64(found.era)) }
            return false
        }
        if isFormer { throw Self.formerPrimary }
    }

    // MARK: A connection that was lost

    /// Ends the server process of a lost connection, and waits until it is gone: what it may still
    /// have under way is decided then.
    static func end(
        _ old: Backend, over connection: Connection, pause: () -> Void
    ) {
        var parameters = Parameters()
        parameters.add(old.processID)
        parameters.add(old.started)
        let start = ContinuousClock.now
        while ContinuousClock.now - start < limit {
            // A server process that this role may not end is left to the locks of its rows.
            let found = try? connection.run(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE pid = $1 AND backend_start::text = $2
                """, parameters, within: limit)
            guard let found, found.count > 0 else { return }
            pause()
        }
    }
}
