package import Cluster
internal import Dispatch
package import Storage
internal import Synchronization

/// A journal in PostgreSQL: a 2xx response is as durable as the database's commits.
///
/// Design: several connections write, because one process of the server uses one processor. A loop
/// always uses the same one, so its batches stay in order. Reading and retention have their own.
package final class PostgresJournal: Journal {
    private let connector: Connector
    private let queues: [CommitQueue]
    private let taken = Atomic<Int>(0)
    private let reader: PostgresArchive
    private let proofs: Proofs
    private let sweeper: Sweeper
    private let owners: PostgresOwnership?
    private let hosts: DispatchQueue
    package let interrupted: [InterruptedWork]

    /// How long a group waits for the database. Also how long a statement without an answer waits
    /// for its outcome.
    package static let commitLimit = Duration.seconds(10)

    /// How long a part or a claim waits for a row that somebody else has locked.
    package static let lockLimit = Duration.seconds(2)

    /// How long a node is a member after its last beat.
    package static let lease = Duration.seconds(4)

    /// Connects, and makes the tables or brings them up to date.
    ///
    /// - Parameters:
    ///   - member: This process in a cluster; nil: it is the only one, and decides on all sessions.
    ///   - now: Returns the time for retention, given the database's time; both in milliseconds
    ///     since 1970. Default: the database's time, because a node's clock may be wrong.
    ///   - rules: All, except in tests.
    ///   - looksEvery: How often it looks for work and for lost connections; nil: never.
    /// - Throws: ``JournalFailure``: a sentence without secrets.
    package init(
        _ address: PostgresAddress, retention: JournalRetention = JournalRetention(),
        member: Member? = nil, server: Int64? = nil,
        lease: Duration = PostgresJournal.lease,
        commitLimit: Duration = PostgresJournal.commitLimit,
        lockLimit: Duration = PostgresJournal.lockLimit,
        respite: Duration = Suspicion.respite, rules: Rules = .all,
        settling: Duration = Connector.settling,
        wallClock: @escaping @Sendable () -> Int64 = FileJournal.systemTime,
        now: @escaping @Sendable (_ database: Int64) -> Int64 = { $0 },
        sweepLimit: Duration = Sweeper.workLimit,
        looksEvery pause: Duration? = .seconds(1)
    ) throws(JournalFailure) {
        let connector = Connector(
            address, rules: rules, node: member?.node, server: server, settling: settling)
        let sweeper = Sweeper(connector, retention, now, wallClock, workLimit: sweepLimit)
        hosts = DispatchQueue(label: "journal.postgres.watch", qos: .utility)
        let proofs = Proofs(connector)
        let reader = PostgresArchive(connector, proofs)
        self.connector = connector
        self.proofs = proofs
        self.sweeper = sweeper
        self.reader = reader
        queues = (0..<address.lanes).map {
            CommitQueue(
                $0, connector, sweeper, commitLimit: commitLimit, lockLimit: lockLimit)
        }
        owners = member.map {
            PostgresOwnership(
                connector, reader, proofs, $0, lease: lease, lockLimit: lockLimit, respite: respite)
        }
        do throws(PostgresFault) {
            try Self.prepare(address, connector)
            interrupted = try queues[0].read(Self.interruptedWork)
            // Opens all connections, so that a database with too few fails the start.
            for queue in queues.dropFirst() { try queue.read { _ in } }
            try reader.open()
            try proofs.open()
            try sweeper.open()
            try owners?.join()
        } catch {
            throw JournalFailure(error)
        }
        guard let pause else { return }
        for queue in queues { queue.look(every: pause) }
        sweeper.begin(every: pause)
        owners?.begin(every: pause)
        lookAtConnections(every: pause)
        watchHosts(connector, every: Self.hostPause)
    }

    private func lookAtConnections(every pause: Duration) {
        hosts.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in
            guard let self else { return }
            lookAtConnections()
            lookAtConnections(every: pause)
        }
    }

    /// Tries to make the connections that are missing.
    func lookAtConnections() {
        reader.look()
        proofs.look()
        owners?.look()
    }

    /// How often the hosts of the address are asked whether one has a newer database.
    private static let hostPause = Duration.seconds(5)

    private func watchHosts(_ connector: Connector, every pause: Duration) {
        hosts.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self, weak connector] in
            guard let connector, let self else { return }
            connector.lookAtHosts()
            watchHosts(connector, every: pause)
        }
    }

    /// Makes the tables, or brings them up to date. Returns the connection that was used.
    @discardableResult
    static func prepare(
        _ address: PostgresAddress, _ connector: Connector? = nil
    ) throws(PostgresFault) -> Connection {
        let connection = try (connector ?? Connector(address)).open()
        try Connector.check(connection)
        try Schema.prepare(address.schema, connection)
        return connection
    }

    /// `postgres-replicated` while commits wait for a standby.
    package var name: String {
        connector.database?.isSynchronous == true ? "postgres-replicated" : "postgres"
    }

    package var archive: (any Archive)? { reader }

    package var work: (any WorkFinder)? { reader }

    package var expiries: ExpiryBacklog? { sweeper.expiries }

    package var ownership: (any Ownership)? { owners }

    package var failure: JournalFailure? {
        if let doubt = connector.doubt { return JournalFailure(doubt) }
        return queues.compactMap(\.failure).first ?? reader.failure ?? proofs.failure ?? sweeper
            .failure
            ?? owners?.failure
    }

    package var figures: JournalMetrics? {
        var figures = queues.reduce(into: JournalMetrics()) { $0.add($1.figures) }
        figures.historyLosses = connector.losses
        return figures
    }

    package func clock(_ wall: Int64) -> ClosedRange<Int64> {
        sweeper.databaseTime ?? wall...wall
    }

    package func watchDoubt(_ began: @escaping @Sendable (String) -> Void) {
        connector.watchDatabase(doubts: began)
    }

    package func countSessions(
        of owner: String, upTo limit: Int, _ answer: @escaping ArchiveAnswer<Int>
    ) {
        reader.countSessions(of: owner, upTo: limit, answer)
    }

    package func watchHistory(_ lost: @escaping @Sendable (UInt64) -> Void) {
        connector.watchHistory(lost)
    }

    package func ownedSessions() throws(JournalFailure) -> [ExactText: Int] {
        do throws(PostgresFault) {
            return try queues[0].read { connection throws(PostgresFault) in
                let found = try connection.run(
                    """
                    SELECT owner, count(*) FROM sessions
                    WHERE deleted IS NULL AND owner IS NOT NULL GROUP BY owner
                    """, within: .seconds(60))
                return (0..<found.count).reduce(into: [:]) { all, row in
                    all[ExactText(found.text(row, 0))] = Int(found.integer(row, 1))
                }
            }
        } catch {
            throw JournalFailure(error)
        }
    }

    /// Actions with running effects whose owner has ended; those with the most starts come first.
    private static func interruptedWork(
        _ connection: Connection
    ) throws(PostgresFault) -> [InterruptedWork] {
        let found = try connection.run(
            """
            SELECT s.id, s.reactor, r.action, r.begun
            FROM (SELECT session, action, begun FROM running
                WHERE action > 0 AND due IS NULL LIMIT 10000) r
            JOIN sessions s ON s.session = r.session AND s.deleted IS NULL AND NOT \(Claims.isKept)
            ORDER BY r.begun DESC LIMIT 16
            """, within: Connector.limit)
        return (0..<found.count).map { row in
            InterruptedWork(
                session: found.text(row, 0), reactor: found.text(row, 1),
                action: found.number(row, 2),
                trace: .running(begun: found.begun(row, 3)))
        }
    }

    package func takeCommitter() -> any BatchCommitter {
        let index = taken.wrappingAdd(1, ordering: .relaxed).oldValue
        return queues[Int(UInt(bitPattern: index) % UInt(queues.count))]
    }

    /// For callers that have taken no committer. No other committer writes the same sessions.
    package func commit(_ batch: Batch, ended: @escaping @Sendable (Verdict) -> Void) -> Commit {
        queues[0].commit(batch, ended: ended)
    }

    /// Waits for submitted batches, then closes the connections. Later batches fail.
    package func close() async {
        await sweeper.close()
        await withTaskGroup(of: Void.self) { group in
            for queue in queues { group.addTask { await queue.close() } }
        }
        await owners?.close()
        await reader.close()
        await proofs.close()
        connector.removeWatchers()
    }

    package func keepHouse() async { await sweeper.sweep() }

    package func beat() async throws { try await owners?.beat() }

    package func look() async {
        for queue in queues { await queue.look() }
    }

    func lookAtHosts() { connector.lookAtHosts() }

    var standing: DatabaseStanding? { connector.standing }

    func hear(_ other: DatabaseStanding) { connector.hear(other) }
}
