internal import Cluster
internal import Synchronization

/// Makes connections that may be believed.
///
/// Design: a connection begins with a synchronous commit of its own, and nothing that it shows is
/// believed before. Why: after a crash, a primary shows commits that no standby has. Then its
/// database is compared with that of the earlier connections. Connections that show only members
/// need no commit; see ``Purpose``.
final class Connector: Sendable {
    enum Purpose {
        /// Its records and owners are shown to clients, or decided upon.
        case history
        /// It shows the ages of members, and sessions that this node has lost. A node that waits
        /// for a standby is alive, so it does not begin with a commit while its database is the one
        /// that the other connections have found.
        case members
    }

    /// The database, as the last connection has found it.
    struct Database: Equatable {
        var identity: String
        var system: String
        var timeline: String
        var era: Int64
        /// Differs between servers promoted to the same timeline; 0: no node has connected yet.
        var branch: Int64 = 0
        /// The object id of the table `cluster`, which differs after a dump was restored.
        var table: Int64 = 0
        /// Whether commits wait for a standby.
        var isSynchronous: Bool
        /// The end of the log that is flushed, in bytes.
        var flushed: Int64 = 0
        /// The bytes of its primary's log that the standby had replayed when promoted or restarted.
        var promoted: Int64 = 0
        /// Whether the server was restored up to a chosen moment. No standby has such a target.
        var hasRecoveryTarget = false
        var lineage = Lineage()

        var mark: DatabaseMark {
            DatabaseMark(identity: identity, era: era, timeline: timeline, branch: branch)
        }

        /// Whether this is the same server with less in its log: an older copy of its files. A
        /// crash loses nothing that was flushed.
        func lacks(_ earlier: Database) -> Bool {
            system == earlier.system && timeline == earlier.timeline && flushed < earlier.flushed
        }

        /// Whether there is nothing to adopt.
        func isSame(as earlier: Database) -> Bool {
            identity == earlier.identity && mark == earlier.mark && table == earlier.table
                && !lacks(earlier)
        }
    }

    /// A server process, and the time of its start, because process ids are reused.
    struct Backend: Equatable {
        var processID: Int64
        var started: String
    }

    let address: PostgresAddress
    let rules: Rules
    /// This process in a cluster; nil if it decides on all sessions.
    let node: Node?
    private let settling: Duration
    private let hosts: DatabaseHosts
    private let usage: UsageLock
    private let state = Mutex(DatabaseState())

    /// The time limit of one housekeeping statement, including the time to connect.
    static let limit = Duration.seconds(5)

    /// The time in which other nodes hear of another database: with the next ping, after 250 ms.
    static let settling = Duration.seconds(1)

    init(
        _ address: PostgresAddress, rules: Rules = .all, node: Node? = nil,
        server: Int64? = nil, settling: Duration = Connector.settling
    ) {
        self.address = address
        self.node = node
        self.rules = rules
        self.settling = settling
        hosts = DatabaseHosts(address)
        usage = UsageLock(
            schema: address.schema, server: node == nil ? server ?? UsageLock.newNumber() : nil)
    }

    /// The database of the last connection; nil before the first.
    var database: Database? { state.withLock { $0.database } }

    // MARK: Losses of history

    /// The number of eras that have begun with the first connection or since.
    var losses: UInt64 { state.withLock { $0.losses } }

    /// Calls `lost` before a connection shows anything of another era.
    func watchHistory(_ lost: @escaping @Sendable (UInt64) -> Void) {
        state.withLock { $0.watchers.append(lost) }
    }

    /// The watchers refer to the loops, and those to the journal.
    func removeWatchers() {
        state.withLock { state in
            (state.watchers, state.changed, state.doubts) = ([], nil, nil)
        }
    }

    /// Whether the connection's results are from the newest database that this node has heard of. A
    /// former primary keeps its connections, which must neither show nor accept anything.
    func isPresent(_ connection: Connection) -> Bool { state.withLock { $0.isPresent(connection) } }

    /// Whether the connection's results are believed. Its commits are then acknowledged: a database
    /// that lacks them has lost history.
    func acknowledges(_ connection: Connection) -> Bool { reading(over: connection) != nil }

    /// The read that the connection has answered, as ``acknowledges(_:)``; nil if not believed.
    func reading(over connection: Connection) -> Reading? {
        let answered = ContinuousClock.now
        return state.withLock { state in
            guard state.isPresent(connection) else { return nil }
            state.acknowledge(connection)
            return Reading(
                mark: connection.mark, answered: answered, needsProof: needsProof(state.database))
        }
    }

    var provesReads: Bool { needsProof(database) }

    private func needsProof(_ database: Database?) -> Bool {
        rules.contains(.provesReads) && database?.isSynchronous ?? false
    }

    // MARK: Proof

    /// Whether a commit was confirmed that was sent after the read was answered.
    func isProved(_ reading: Reading) -> Bool { state.withLock { $0.isProved(reading) } }

    /// Commits. Once the commit is confirmed, everything that the connection has shown is believed.
    func prove(_ connection: Connection, within limit: Duration) throws(PostgresFault) {
        guard provesReads else { return }
        try Self.commitMessage(connection, within: limit)
    }

    /// Commits without locking a row. The message is for logical decoding, and nobody reads it.
    static func commitMessage(
        _ connection: Connection, within limit: Duration = Connector.limit
    ) throws(PostgresFault) {
        let found = try connection.run(
            """
            SELECT pg_logical_emit_message(true, 'reactor', ''), \(CommitPoint.columns)
            WHERE NOT pg_is_in_recovery()
            """, within: limit)
        try connection.refuseWarnings()
        guard found.count > 0 else { throw .standby }
        connection.noteCommit(CommitPoint(found, 1))
    }

    /// For reports to other nodes; nil before the first database is believed.
    var standing: DatabaseStanding? {
        state.withLock { state in
            state.belief.present.map { DatabaseStanding($0, committed: state.committed) }
        }
    }

    // MARK: Doubt

    var mark: DatabaseMark? { state.withLock { $0.belief.present } }

    /// The reason why no database is believed at the moment; nil if one is.
    var doubt: PostgresFault? {
        state.withLock { $0.belief.sought }.map { .behind($0) }
    }

    /// - Parameters:
    ///   - changed: Called when the database changes, or is no longer believed.
    ///   - doubts: Called with a sentence when this node begins to doubt.
    func watchDatabase(
        changed: (@Sendable () -> Void)? = nil, doubts: (@Sendable (String) -> Void)? = nil
    ) {
        state.withLock { state in
            if let changed { state.changed = changed }
            if let doubts { state.doubts = doubts }
        }
    }

    /// Another node or host reports this database. If it is newer than the believed one, no
    /// database is believed until it is found; if the believed one lacks its commits, until another
    /// era has begun.
    func hear(_ other: DatabaseStanding) {
        let (begins, lacks, changed, doubts) = state.withLock { state in
            let begins = state.belief.hear(other.mark)
            return (begins, !begins && state.lacks(other), state.changed, state.doubts)
        }
        if begins { hosts.forgetChoice() }
        if begins || lacks { changed?() }
        if begins { doubts?(PostgresFault.behind(other.mark).message) }
    }

    /// Asks the hosts of the address for their histories.
    func lookAtHosts() {
        for mark in hosts.marks() { hear(DatabaseStanding(mark)) }
    }

    /// Called when the tables were replaced: every connection is made again, and finds them.
    func suspect() { state.withLock { $0.isChanging = true } }

    /// Records how far the log is flushed; see ``Database/lacks(_:)``.
    func recordFlushed(_ end: Int64, over connection: Connection) {
        state.withLock { state in
            guard var database = state.database, database.mark == connection.mark else {
                return
            }
            database.flushed = max(end, database.flushed)
            state.database = database
        }
    }

    static let flushed = "pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint"

    // MARK: Connecting

    /// - Parameters:
    ///   - name: For `pg_stat_activity`.
    ///   - lost: The server process of a lost connection with a statement under way, which is ended
    ///     between two synchronous commits. The first proves that a standby follows: otherwise, a
    ///     process that waits for one would show rows that are about to be lost. The second covers
    ///     what the process commits in between.
    func connect(
        _ name: String, for purpose: Purpose = .history, ending lost: Backend? = nil
    ) throws(PostgresFault) -> (connection: Connection, backend: Backend) {
        let connection = try open()
        try connection.execute(settings(name), within: Self.limit)
        // Ends the statements of a node whose process has ended. Not on every system.
        try? connection.execute(
            "SET client_connection_check_interval = '1s'", within: Self.limit)
        if rules.contains(.locksUse) { try usage.acquire(connection) }
        if purpose == .members {
            let last = database
            let (found, backend, _) = try look(at: connection)
            connection.mark = found.mark
            if let last, found.isSame(as: last), isPresent(connection) {
                return (connection, backend)
            }
        }
        if rules.contains(.beginsWithCommit) { try beginWithCommit(connection) }
        if let lost {
            Self.end(lost, over: connection) { ConnectionQueue.wait(.milliseconds(20)) }
            if rules.contains(.beginsWithCommit) { try beginWithCommit(connection) }
        }
        let (backend, age) = try compare(connection)
        if purpose == .history { settle(after: age) }
        return (connection, backend)
    }

    /// Compares what a connection shows with what this node knows, and looks again if another
    /// connection or node has begun an era meanwhile. Returns the time since its adoption.
    private func compare(
        _ connection: Connection
    ) throws(PostgresFault) -> (Backend, adopted: Duration) {
        for _ in 0..<Self.lookLimit {
            // Read before the look, which shows all that was flushed by then: more may follow.
            let (last, newest) = state.withLock { ($0.database, $0.belief.newest) }
            let (found, backend, age) = try look(at: connection)
            if let isNew = try adopt(found, after: last, connection) {
                return (backend, isNew ? .zero : age)
            }
            guard newest != state.withLock({ $0.belief.newest }) else { break }
        }
        hosts.forgetChoice()
        throw .formerPrimary
    }

    /// The maximum number of attempts. Each further one happens only if there is another new era or
    /// timeline.
    private static let lookLimit = 3

    /// A connection to the host that is believed, whose settings are those of the server.
    func open() throws(PostgresFault) -> Connection {
        let connection = try hosts.connect(state.withLock { $0.belief }) {
            hear(DatabaseStanding($0))
        }
        // A pooler that pools by transaction would share settings between this server and other
        // clients, so nothing is set before the connection is known to be the server's own.
        let process = try connection.ask("SELECT pg_backend_pid()::bigint", within: Self.limit)
        if process.integer(0, 0) != connection.processID, !address.hasSessionPooler {
            throw .refused(
                "a pooler is in front of the database: make it pool by session, and add "
                    + "pooler=session to the address")
        }
        return connection
    }

    /// Waits until nodes that trust another database have heard of this one and stopped. Until then
    /// this node must not decide anything.
    private func settle(after age: Duration) {
        guard node != nil, age < settling else { return }
        ConnectionQueue.wait(settling - age)
    }

    private func settings(_ name: String) -> String {
        """
        SET client_encoding = 'UTF8'; SET client_min_messages = warning;
        SET application_name = '\(address.schema)/\(name)'; SET search_path = \(address.schema);
        SET synchronous_commit = \(address.durability.rawValue); SET lock_timeout = '500ms';
        SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
        SET default_transaction_isolation = 'read committed';
        SET default_transaction_read_only = off;
        SET plan_cache_mode = force_generic_plan; SET jit = off;
        SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3
        """
    }

    private func beginWithCommit(_ connection: Connection) throws(PostgresFault) {
        let found = try connection.run(
            "UPDATE cluster SET touched = touched + 1 RETURNING \(CommitPoint.columns)",
            within: Self.limit)
        try connection.refuseWarnings()
        connection.noteCommit(CommitPoint(found, 0))
    }

    // MARK: Checks

    /// Refuses a server that loses what it has acknowledged.
    static func check(_ connection: Connection) throws(PostgresFault) {
        let found = try connection.run(
            """
            SELECT current_setting('server_version_num')::bigint, current_setting('server_version'),
                current_setting('fsync'), current_setting('full_page_writes')
            """, within: limit)
        guard found.integer(0, 0) >= 150_000 else {
            throw .refused(
                "the server is PostgreSQL \(found.text(0, 1)); version 15 or later is needed")
        }
        for (column, name) in [(2, "fsync"), (3, "full_page_writes")]
        where found.text(0, column) != "on" {
            throw .refused(
                "\(name) is \(found.text(0, column)): the server would lose acknowledged commits; "
                    + "turn it on in postgresql.conf")
        }
    }

    /// Stands for a refusal of this program: no SQLSTATE begins with it.
    static let refusedState = "reactor"

    private func look(
        at connection: Connection
    ) throws(PostgresFault) -> (Database, Backend, adopted: Duration) {
        try Self.check(connection)
        let found = try connection.run(
            """
            SELECT c.identity, (SELECT system_identifier::text FROM pg_control_system()),
                substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8), c.era,
                current_setting('synchronous_standby_names') <> '', pg_backend_pid()::bigint,
                (SELECT backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()),
                c.version, \(Self.flushed), 'cluster'::regclass::oid::bigint, c.timeline, c.branch,
                (least(600, greatest(0, coalesce(
                    extract(epoch FROM clock_timestamp() - c.adopted), 600))) * 1000)::bigint,
                pg_wal_lsn_diff(
                    coalesce(pg_last_wal_replay_lsn(), pg_current_wal_insert_lsn()), '0/0')::bigint,
                concat(current_setting('recovery_target'), current_setting('recovery_target_name'),
                    current_setting('recovery_target_time'), current_setting('recovery_target_xid'),
                    current_setting('recovery_target_lsn')) <> ''
            FROM cluster c
            """, within: Self.limit)
        let version = found.integer(0, 7)
        guard version <= Schema.version else {
            throw .refused(
                "the tables of the schema \(address.schema) have version \(version), made "
                    + "by a newer program; this one reads version \(Schema.version)")
        }
        let process = found.integer(0, 5)
        let database = Database(
            identity: found.text(0, 0), system: found.text(0, 1), timeline: found.text(0, 2),
            era: found.integer(0, 3, in: Era.range),
            branch: found.text(0, 2) == found.text(0, 10) ? found.integer(0, 11) : 0,
            table: found.integer(0, 9), isSynchronous: found.bool(0, 4),
            flushed: found.integer(0, 8), promoted: found.integer(0, 13),
            hasRecoveryTarget: found.bool(0, 14))
        return (
            database, Backend(processID: process, started: found.text(0, 6)),
            .milliseconds(found.integer(0, 12))
        )
    }

    /// Compares the database with that of the last connection and process, and with what this node
    /// has heard of. Returns whether this connection adopts it, as the first of all nodes. Nil if a
    /// newer one is known.
    private func adopt(
        _ found: Database, after last: Database?, _ connection: Connection
    ) throws(PostgresFault) -> Bool? {
        guard rules.contains(.comparesDatabases) || last == nil else {
            connection.mark = last?.mark
            return false
        }
        if let last, last.identity != found.identity {
            throw .refused(
                "the schema \(address.schema) has a different journal than before; "
                    + "restart this server to use it")
        }
        guard state.withLock({ $0.belief.accepts(found.mark) }) else { return nil }
        var (found, begins) = (found, false)
        let earlier = state.withLock { $0.beginChange(to: found, after: last) }
        let adoption: Era.Adoption
        do throws(PostgresFault) {
            adoption = try Era(address, connection).bringUpToDate(with: found, after: earlier) {
                begins = true
                state.withLock { $0.isChanging = true }
            }
        } catch {
            // A newer database must not be forgotten just because it was lost again.
            state.withLock { _ = $0.belief.hear(found.mark) }
            throw error
        }
        (found.era, found.branch) = (adoption.era, adoption.branch)
        found.lineage = adoption.lineage
        connection.mark = found.mark
        return announce(found, begins: begins) ? adoption.isNew : nil
    }

    /// Why within the lock: the watchers must know of an era before another connection shows
    /// anything of it. They only send a message.
    ///
    /// - Parameter begins: Whether the era begins with this connection.
    /// - Returns: False if a newer database was found meanwhile.
    private func announce(_ found: Database, begins: Bool) -> Bool {
        let (isNewest, changed) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard state.belief.accepts(found.mark) else { return (false, nil) }
            let (before, doubted) = (state.database, state.belief.sought != nil)
            state.become(found)
            if found.era > before?.era ?? found.era || begins && before == nil {
                state.losses += 1
                for lost in state.watchers { lost(UInt64(found.era)) }
            }
            return (true, before?.mark == found.mark && !doubted ? nil : state.changed)
        }
        changed?()
        return isNewest
    }

    // MARK: A connection that was lost

    /// Ends the server process of a lost connection, and waits until it is gone. Then everything
    /// that it had under way is decided.
    static func end(
        _ old: Backend, over connection: Connection, pause: () -> Void
    ) {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < limit {
            // A process that waits for a standby has committed, and is left alone until the standby
            // has the commit. Without the right to end it, only the locks on its rows stop it.
            let found = try? connection.run(
                """
                SELECT CASE WHEN wait_event IS DISTINCT FROM 'SyncRep' THEN pg_terminate_backend(pid) END
                FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2
                """, [old.processID, old.started], within: limit)
            guard let found, found.count > 0 else { return }
            pause()
        }
    }
}
