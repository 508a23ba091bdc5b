import Cluster
import EngineSuite
import PostgresRig
import ReactorHosting
import Storage
import Synchronization
import Testing

@testable import ReactorPostgres

@Suite("ADR-0067 — a server believes the newest database, or none", .timeLimit(.minutes(60)))
struct DatabaseChoiceTests {
    private final class Heard: Sendable {
        let sentences = Mutex<[String]>([])
        var all: [String] { sentences.withLock { $0 } }
    }

    private func address(
        _ servers: [PostgresServer], _ schema: String
    ) throws -> PostgresAddress {
        try PostgresAddress(
            servers[0].address(schema, by: servers.map(\.folder).joined(separator: ",")))
    }

    private func journal(
        _ servers: [PostgresServer], _ schema: String, commitLimit: Duration = .seconds(600)
    ) throws -> PostgresJournal {
        try PostgresJournal(
            address(servers, schema), commitLimit: commitLimit, settling: .zero, looksEvery: nil)
    }

    /// The database still answers, and its answers do not show that another one was promoted.
    @Test
    func `a node that hears of a newer database decides and shows nothing before it has found it`()
        async throws
    {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let member = Member(node: Node(number: 1), address: "10.0.0.1:7080", loops: 1)
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), member: member, lease: .seconds(3_600),
            commitLimit: .milliseconds(200), settling: .zero, looksEvery: nil)
        let heard = Heard()
        journal.watchDoubt { sentence in heard.sentences.withLock { $0.append(sentence) } }
        let ownership = try #require(journal.ownership)
        let changes = Mutex<[OwnershipChange]>([])
        ownership.watch { change in changes.withLock { $0.append(change) } }
        await journal.create("s")
        #expect(ownership.members.isHeard)
        #expect(journal.failure == nil)
        var newer = ownership.members.database
        newer.era += 1
        newer.branch = 77
        // The same mark again, and an older one: doubt begins only once.
        for mark in [newer, newer, ownership.members.database] {
            ownership.hear(DatabaseStanding(mark))
        }
        #expect(heard.all.count == 1)
        #expect(heard.all[0].contains("restart this server if that database is gone"))
        #expect(!ownership.members.isHeard)
        #expect(journal.failure?.detail.contains("reported a newer database") == true)
        if case .failed = await journal.verdict(on: .mutation("s", 1)) {
        } else {
            Issue.record("it was acknowledged")
        }
        await #expect(throws: JournalFailure.self) { try await journal.head("s") }
        await #expect(throws: PostgresFault.self) { try await journal.beat() }
        while changes.withLock({ $0.last?.members.isHeard }) != false { await Task.yield() }
        // The newer database appears at the address of the former one.
        try server.execute("UPDATE \(schema).cluster SET era = \(newer.era), branch = 77")
        while (try? await journal.beat()) == nil { await Task.yield() }
        #expect(ownership.members.isHeard)
        #expect(ownership.members.database == newer)
        while journal.failure != nil {
            await journal.look()
            journal.lookAtConnections()
        }
        while (try? await journal.head("s")) == nil { await Task.yield() }
        await journal.close()
    }

    @Test func `a server that starts takes the newest of the hosts, wherever it stands`()
        async throws
    {
        let primary = try PostgresServer()
        let schema = primary.newSchema()
        let first = try journal([primary], schema)
        #expect(await first.verdict(on: .created("s")) == .committed)
        await first.close()
        let standby = try PostgresServer(standbyOf: primary, in: PostgresServer.newFolder())
        try standby.promote()
        // The former primary still runs, and no node has connected to the new one.
        for (round, hosts) in [[primary, standby], [standby, primary], [primary, standby]]
            .enumerated()
        {
            let next = try journal(hosts, schema)
            let key = try #require(try await next.head("s")).key
            #expect(key.generation != "g1", "round \(round)")
            let record = HistoryEntry.mutation("s", UInt64(round + 1), generation: key.generation)
            #expect(await next.verdict(on: record) == .committed)
            #expect(next.figures?.historyLosses == (round == 0 ? 1 : 0))
            await next.close()
            try standby.waitForEnd(of: schema)
        }
        #expect(try primary.query("SELECT 1 FROM \(schema).runs").count == 1)
        #expect(try standby.query("SELECT 1 FROM \(schema).runs").count == 4)
    }

    /// Otherwise each new connection would take the first host, refuse it, and take it again.
    @Test func `a former primary that comes back keeps nobody from the present one`() async throws {
        let primary = try PostgresServer()
        let schema = primary.newSchema()
        let standby = try PostgresServer(standbyOf: primary, in: PostgresServer.newFolder())
        let journal = try journal([primary, standby], schema)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        while try standby.query("SELECT 1 FROM \(schema).sessions").count == 0 {}
        try primary.stop("immediate")
        try standby.promote()
        let key = try #require(try await journal.head("s")).key
        #expect(key.generation != "g1")
        try primary.start()
        for number in 1...2 as ClosedRange<UInt64> {
            try standby.cutConnections(to: schema)
            let verdict = await journal.verdict(
                on: .mutation("s", number, generation: key.generation))
            #expect(verdict == .committed)
        }
        await journal.close()
    }

    /// No connection is lost, and no other node reports the promotion.
    @Test func `a promotion while the primary lives is noticed by a look at the hosts`()
        async throws
    {
        let primary = try PostgresServer()
        let schema = primary.newSchema()
        let standby = try PostgresServer(standbyOf: primary, in: PostgresServer.newFolder())
        let journal = try journal([primary, standby], schema)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        while try standby.query("SELECT 1 FROM \(schema).sessions").count == 0 {}
        journal.lookAtHosts()
        #expect(journal.failure == nil)
        try standby.promote()
        #expect(await journal.verdict(on: .mutation("s", 1)) == .committed, "it knows nothing yet")
        journal.lookAtHosts()
        let head = try #require(try await journal.head("s"))
        #expect(head.key.generation != "g1")
        #expect(head.end.number == 0, "the last record was of the former primary")
        #expect(journal.figures?.historyLosses == 1)
        await journal.close()
    }

    /// Otherwise the node would decide at once, before the others have heard of the database.
    @Test func `a node decides nothing before the others have heard of a database that it adopts`()
        async throws
    {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        let member = Member(node: Node(number: 1), address: "10.0.0.1:7080", loops: 1)
        await (try PostgresJournal(address, looksEvery: nil)).close()
        try server.waitForEnd(of: schema)
        try server.execute("UPDATE \(schema).cluster SET timeline = '00000000'")
        let journal = try PostgresJournal(
            address, member: member, settling: .milliseconds(300), looksEvery: nil)
        let age =
            "SELECT extract(epoch FROM clock_timestamp() - adopted) * 1000 >= 300 FROM \(schema).cluster"
        #expect(try server.query(age).bool(0, 0))
        await journal.close()
    }

    // MARK: The place of a process

    @Test func `a server without links waits until the one before has ended`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        let first = try PostgresJournal(
            address, commitLimit: .seconds(600), looksEvery: nil)
        do {
            _ = try PostgresJournal(address, looksEvery: nil)
            Issue.record("two servers decide on all sessions")
        } catch {
            #expect(error.detail.contains("another server without a link uses this journal"))
            #expect(error.isTemporary, "a successor may wait")
        }
        let member = Member(node: Node(number: 1), address: "10.0.0.1:7080", loops: 1)
        #expect(throws: JournalFailure.self) {
            try PostgresJournal(address, member: member, looksEvery: nil)
        }
        #expect(await first.verdict(on: .created("s")) == .committed)
        await first.close()
        try server.waitForEnd(of: schema)
        let nodes = try [1, 2].map { try ClusterNode($0, server, schema) }
        do {
            _ = try PostgresJournal(address, looksEvery: nil)
            Issue.record("a server without links joins a cluster")
        } catch {
            #expect(error.detail.contains("the nodes of a cluster use this journal"))
        }
        for node in nodes { await node.close() }
        try server.waitForEnd(of: schema)
        await (try PostgresJournal(address, looksEvery: nil)).close()
    }

    /// While it was cut off, its successor has started.
    @Test func `a server that has lost its place acknowledges nothing`() async throws {
        let server = try PostgresServer.shared.get()
        let relay = try PostgresRelay(to: server)
        let schema = server.newSchema()
        let first = try PostgresJournal(
            PostgresAddress(server, schema, by: relay.folder), commitLimit: .milliseconds(200),
            looksEvery: nil)
        await first.create("s")
        relay.close()
        try server.waitForEnd(of: schema)
        let second = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        try relay.listen()
        if case .failed = await first.verdict(on: .mutation("s", 1)) {
        } else {
            Issue.record("both acknowledge")
        }
        #expect(first.failure != nil)
        #expect(await second.verdict(on: .mutation("s", 1)) == .committed)
        await first.close()
        await second.close()
    }

    // If the commit of the first attempt hangs, its connection still holds the lock.
    @Test func `a start that is tried again is not refused because of the attempt before`()
        async throws
    {
        let server = try PostgresServer.shared.get()
        let text = server.address(server.newSchema())
        let address = try PostgresAddress(text)
        let first = try JournalEngine.postgres.open(text, JournalRetention(), nil)
        let second = try JournalEngine.postgres.open(text, JournalRetention(), nil)
        do {
            _ = try PostgresJournal(address, looksEvery: nil)
            Issue.record("another process is refused")
        } catch {
            #expect(error.detail.contains("another server"), "\(error.detail)")
        }
        for journal in [first, second] { await journal.close() }
    }

    // MARK: A dump

    private func restoreDump(_ server: PostgresServer, _ schema: String) throws {
        try server.execute(
            """
            SET search_path = \(schema);
            BEGIN; ALTER TABLE cluster RENAME TO replaced;
            CREATE TABLE cluster (LIKE replaced INCLUDING ALL);
            INSERT INTO cluster SELECT * FROM replaced; DROP TABLE replaced; COMMIT
            """)
    }

    /// The identity, system, timeline and era are the same as in the tables before.
    @Test(arguments: [true, false])
    func `a dump that was restored in the same server begins another era`(isRunning: Bool)
        async throws
    {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        var journal = try journal([server], schema)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        if !isRunning {
            await journal.close()
            try server.waitForEnd(of: schema)
        }
        try restoreDump(server, schema)
        if isRunning {
            await journal.keepHouse()
        } else {
            journal = try self.journal([server], schema)
        }
        #expect(try await journal.head("s")?.key.generation != "g1")
        #expect(journal.figures?.historyLosses == 1)
        await journal.keepHouse()
        #expect(journal.figures?.historyLosses == 1, "it begins once")
        await journal.close()
    }

    // MARK: Copies

    /// The ways to a database with the tables of another one.
    enum Copy: CaseIterable {
        case dump, system, recoveryTarget, prepared
        /// No copy: a standby was promoted.
        case standby
    }

    /// It would report its era to those nodes, and they would believe nothing until their end.
    @Test(arguments: Copy.allCases)
    func `a node at a copy does not know the nodes of the original, and begins another era`(
        copy: Copy
    ) async throws {
        let server = try copy == .recoveryTarget ? PostgresServer() : PostgresServer.shared.get()
        let schema = server.newSchema()
        let first = try ClusterNode(1, server, schema)
        #expect(await first.journal.verdict(on: .created("s")) == .committed)
        await first.close()
        try server.waitForEnd(of: schema)
        try server.execute(
            """
            SET search_path = \(schema);
            INSERT INTO nodes(node, address, loops, reactors, state_versions, lease, seen) VALUES
                (7, '10.0.0.7:7080', 1, '{}', '{}', 4000, clock_timestamp() - interval '30 m');
            UPDATE cluster SET is_synchronous = true
            """)
        switch copy {
        case .dump: try restoreDump(server, schema)
        case .system: try server.execute("UPDATE \(schema).cluster SET system = '1'")
        case .recoveryTarget:
            try server.psql("ALTER SYSTEM SET recovery_target_name = 'noon'")
            try server.stop("fast")
            try server.start()
            try server.execute("UPDATE \(schema).cluster SET timeline = '00000000'")
        case .prepared:
            try PostgresContents.prepare(PostgresAddress(server, schema), isRestored: true)
            try server.waitForEnd(of: schema)
        case .standby: try server.execute("UPDATE \(schema).cluster SET timeline = '00000000'")
        }
        for round in 0..<2 {
            let node = try ClusterNode(2, server, schema)
            let known = try node.ownership.acquaintances.map(\.node.number)
            #expect(known == (copy == .standby ? [7] : []), "round \(round)")
            let generation = try await node.journal.head("s")?.key.generation
            #expect((generation == "g1") == (copy == .standby))
            let losses: UInt64 = copy != .standby && round == 0 ? 1 : 0
            #expect(node.journal.figures?.historyLosses == losses, "it begins once")
            await node.close()
        }
    }

    @Test func `a journal in use is not marked as restored`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        let journal = try journal([server], schema)
        do {
            try PostgresContents.prepare(address, isRestored: true)
            Issue.record("all generations would change under the server")
        } catch {
            #expect(error.detail.contains("stop it"), "\(error.detail)")
        }
        try server.cutConnections(to: schema)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        #expect(journal.figures?.historyLosses == 0)
        await journal.close()
    }

    // MARK: Connections

    /// NOLOGIN acts as if other programs had all remaining connections.
    @Test func `a connection that cannot be made again counts for readiness`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let role = "limited_\(schema)"
        try server.execute("CREATE ROLE \(role) SUPERUSER LOGIN")
        let address = try PostgresAddress(
            "postgres://\(role)@/postgres?host=\(server.folder)&schema=\(schema)")
        let journal = try PostgresJournal(
            address, commitLimit: .seconds(600), looksEvery: nil)
        let open = "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE '\(schema)/%'"
        #expect(try server.query(open).count == 5, "all are made at the start")
        #expect(journal.failure == nil)
        try server.execute("ALTER ROLE \(role) NOLOGIN")
        try server.cutConnections(to: schema, for: "reader")
        await #expect(throws: JournalFailure.self) { try await journal.head("s") }
        #expect(journal.failure != nil)
        #expect(await journal.verdict(on: .created("s")) == .committed, "the writers are there")
        try server.execute("ALTER ROLE \(role) LOGIN")
        while journal.failure != nil {
            journal.lookAtConnections()
            await Task.yield()
        }
        await journal.close()
    }

    @Test func `a node with links makes its nine connections at the start`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let node = try ClusterNode(1, server, schema)
        let open = try server.query(
            "SELECT split_part(application_name, '/', 2) FROM pg_stat_activity "
                + "WHERE application_name LIKE '\(schema)/%' ORDER BY 1")
        #expect(
            (0..<open.count).map { open.text($0, 0) } == [
                "beat", "claims", "confirmations", "following", "reader", "reader", "retention",
                "writer", "writer",
            ])
        await node.close()
    }

    /// A pooler that works by transaction leaves a setting of one client to another.
    @Test func `a pooler is refused unless the address says that it works by session`() async throws
    {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let relay = try PostgresRelay(to: server)
        relay.poseAsPooler()
        let address = try PostgresAddress(server, schema, by: relay.folder)
        do throws(JournalFailure) {
            _ = try PostgresJournal(address, looksEvery: nil)
            Issue.record("its settings would be other clients'")
        } catch {
            #expect(error.detail.contains("pooler=session"), "\(error.detail)")
        }
        let text = server.address(schema, by: relay.folder)
        let journal = try PostgresJournal(
            PostgresAddress(text + "&pooler=session"), commitLimit: .seconds(600), looksEvery: nil)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        await journal.close()
        #expect(throws: PostgresAddress.Fault.self) {
            try PostgresAddress(text + "&pooler=transaction")
        }
    }

    // MARK: Clocks

    /// A node whose clock is behind would write answers that the next sweep removes.
    @Test func `the times in the tables are the database's`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try journal([server], schema)
        var batch = Batch(records: [.created("s"), .mutation("s", 1)])
        batch.snapshots = [.of("s", 1, time: 5)]
        batch.answers = [.of("s", "k", time: 5)]
        #expect(await journal.verdict(on: batch) == .committed)
        #expect(await journal.verdict(on: .created("t"), .deleted("t", 1, time: 5)) == .committed)
        #expect(await journal.verdict(on: .created("u")) == .committed)
        #expect(await journal.verdict(on: .deleted("u", 1, time: 5)) == .committed)
        for (table, column) in [
            ("sessions", "created"), ("sessions", "deleted"), ("snapshots", "time"),
            ("answers", "time"),
        ] {
            let wrong = """
                SELECT 1 FROM \(schema).\(table) WHERE \(column) < 1600000000000
                """
            #expect(try server.query(wrong).count == 0, "\(table).\(column)")
        }
        await journal.keepHouse()
        #expect(try await journal.answer("s", "k") != nil)
        await journal.close()
    }

    @Test(arguments: [-86_400_000, 130_000, 60_000, 0] as [Int64])
    func `a server whose clock differs by minutes says so`(difference: Int64) async throws {
        let server = try PostgresServer.shared.get()
        let journal = try PostgresJournal(
            PostgresAddress(server, server.newSchema()),
            wallClock: { FileJournal.systemTime() + difference }, looksEvery: nil)
        let isWrong = abs(difference) > 120_000
        #expect(journal.failure?.detail.contains("the clock of this server is") ?? false == isWrong)
        await journal.close()
    }

    // MARK: What the database does not take

    /// Otherwise four such requests a second would keep the whole server out of a balancer.
    @Test func `what the database does not take is no failure of the journal`() async throws {
        let server = try PostgresServer.shared.get()
        let journal = try journal([server], server.newSchema())
        let bad = HistoryEntry.created("a\u{0}b")
        guard case .failed(let failure) = await journal.verdict(on: bad) else {
            Issue.record("it was let in")
            return
        }
        #expect(failure.reason == .refused)
        #expect(journal.failure == nil)
        #expect(journal.figures?.isFailing == false)
        // The other records of its batch are committed.
        let verdict = await journal.verdict(on: Batch(records: [.created("a"), bad]))
        #expect(verdict.failure(of: bad.key)?.reason == .refused)
        #expect(try await journal.head("a") != nil)
        #expect(journal.failure == nil)
        await journal.close()
    }
}
