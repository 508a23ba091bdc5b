import Cluster
import EngineSuite
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

/// Commits wait for a standby in each of these databases, so a promotion alone begins no era.
@Suite("ADR-0067 — two databases of one journal live at once", .timeLimit(.minutes(60)))
struct PostgresForkTests {
    private func journal(
        _ address: String, member: Member? = nil
    ) throws -> PostgresJournal {
        try PostgresJournal(
            PostgresAddress(address), member: member, lease: .seconds(3_600),
            commitLimit: .seconds(600), settling: .zero, looksEvery: nil)
    }

    private func wait(until condition: () throws -> Bool) rethrows { while try !condition() {} }

    /// Waits until a server shows a row of a query.
    private func wait(for sql: String, at server: PostgresServer) {
        wait { (try? server.query(sql).count) ?? 0 > 0 }
    }

    private func waitForStandby(_ primary: PostgresServer) throws {
        try primary.waitForStandby()
        // PostgreSQL reads the settings a moment later.
        wait(for: "SELECT WHERE current_setting('synchronous_standby_names') <> ''", at: primary)
    }

    /// The last commit at the former primary.
    enum Late: CaseIterable {
        case nothing
        /// A commit of this node.
        case own
        /// A commit of this node without a record: a stored response.
        case answer
        /// A commit whose rows were written before the promotion, but that ended after it.
        case ended
        /// Another node of the same database reports a commit; this node is silent.
        case others
    }

    /// The former primary is not fenced. It has another standby, so its commits still succeed.
    @Test(arguments: Late.allCases)
    func `what a former primary acknowledges after the promotion is announced as lost`(late: Late)
        async throws
    {
        let primary = try PostgresServer()
        let standby = try PostgresServer(standbyOf: primary, in: PostgresServer.newFolder())
        let second = try PostgresServer(standbyOf: primary, in: PostgresServer.newFolder())
        try waitForStandby(primary)
        let schema = primary.newSchema()
        let journal = try journal(
            primary.address(schema, by: "\(primary.folder),\(standby.folder)"))
        #expect(await journal.verdict(on: .created("s")) == .committed)
        #expect(journal.name == "postgres-replicated")
        var pending: Pending?
        if late == .ended {
            try primary.execute(
                """
                SET search_path = \(schema); CREATE TABLE gate();
                CREATE FUNCTION wait_for_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    WHILE NOT EXISTS (SELECT FROM \(schema).gate)
                        LOOP PERFORM pg_sleep(0.005); END LOOP;
                    RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON runs DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION wait_for_gate()
                """)
            pending = Pending(Batch(records: [.mutation("s", 1)]), in: journal.takeCommitter())
            let waiting =
                "SELECT 1 FROM pg_stat_activity WHERE application_name = '\(schema)/writer' "
                + "AND wait_event = 'PgSleep'"
            try wait { try primary.query(waiting).count > 0 }
        }
        try primary.execute("CREATE TABLE \(schema).seen()")
        for one in [standby, second] { wait(for: "SELECT '\(schema).seen'::regclass", at: one) }
        try standby.promote()
        switch late {
        case .nothing: break
        case .own: #expect(await journal.verdict(on: .mutation("s", 1)) == .committed)
        case .answer:
            var batch = Batch(records: [])
            batch.expected = [ExpectedEnd(.of("s"), at: HistoryPosition(0), lineage: 0)]
            batch.answers = [.of("s", "k", time: 5)]
            #expect(await journal.verdict(on: batch) == .committed)
        case .ended:
            try primary.execute("INSERT INTO \(schema).gate DEFAULT VALUES")
            #expect(await pending?.value == .committed)
        case .others:
            let end = try primary.query("SELECT \(Connector.flushed)").integer(0, 0)
            let mark = try #require(journal.standing).mark
            journal.hear(DatabaseStanding(mark, committed: end + 1_000))
        }
        journal.lookAtHosts()
        let head = try #require(try await journal.head("s"))
        #expect(head.end.number == 0, "the standby has no more")
        #expect((head.key.generation == "g1") == (late == .nothing))
        #expect(journal.figures?.historyLosses == (late == .nothing ? 0 : 1))
        #expect(journal.standing?.mark.timeline == 2)
        await journal.close()
    }

    /// One standby is promoted to timeline 2, and the other one to timeline 3: neither has the
    /// other's history, and the second one is newer for all nodes.
    @Test(arguments: [true, false])
    func `a fork at another timeline begins another era`(isFoundAtStart: Bool) async throws {
        let primary = try PostgresServer()
        let first = try PostgresServer(standbyOf: primary, in: PostgresServer.newFolder())
        let second = try PostgresServer(standbyOf: primary, in: PostgresServer.newFolder())
        try waitForStandby(primary)
        let schema = primary.newSchema()
        let relay = try PostgresRelay(to: primary)
        var journal = try journal(primary.address(schema, by: relay.folder))
        #expect(await journal.verdict(on: .created("s")) == .committed)
        for standby in [first, second] { wait(for: "SELECT 1 FROM \(schema).runs", at: standby) }
        try first.promote()
        relay.lead(to: first)
        relay.cut()
        #expect(await journal.verdict(on: .mutation("s", 1)) == .committed)
        #expect(try await journal.head("s")?.key.generation == "g1", "nothing was lost")
        // After the position at which the first one was promoted.
        try primary.execute("CREATE TABLE \(schema).seen()")
        wait(for: "SELECT '\(schema).seen'::regclass", at: second)
        try second.learnTimeline("00000002", of: first)
        try second.promote()
        if isFoundAtStart {
            await journal.close()
            let hosts = "\(first.folder),\(second.folder)"
            journal = try self.journal(primary.address(schema, by: hosts))
        } else {
            relay.lead(to: second)
            relay.cut()
        }
        let head = try #require(try await journal.head("s"))
        #expect(head.end.number == 0, "the last record is at the first one")
        #expect(head.key.generation != "g1")
        #expect(journal.figures?.historyLosses == 1)
        await journal.close()
    }

    /// The node that acknowledged commits at the other database does not reach this one. So this
    /// node begins the era.
    @Test func `a node that hears of contents that its database lacks begins another era`()
        async throws
    {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        await (try journal(server.address(schema))).close()
        try server.waitForEnd(of: schema)
        // Less than any drawn number: of two branches of one timeline, the greater one is newer.
        try server.execute("UPDATE \(schema).cluster SET branch = 1")
        let journal = try journal(
            server.address(schema),
            member: Member(node: Node(number: 1), address: "10.0.0.1:7080", loops: 1))
        let ownership = try #require(journal.ownership)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        var generation = "g1"
        var former = ownership.standing.mark
        former.timeline = 0
        // Looks as if this server were a promoted standby that had everything.
        try server.execute(
            "UPDATE \(schema).cluster SET timeline = '00000000', is_synchronous = true")
        try server.cutConnections(to: schema)
        #expect(try await journal.head("s")?.key.generation == generation)
        let present = ownership.standing
        #expect(present.mark.branch != former.branch)
        #expect(present.committed > 0)
        let end = try server.query(
            "SELECT ended FROM \(schema).branches WHERE branch = \(former.branch)"
        ).integer(0, 0)
        let other = DatabaseMark(
            journal: former.journal, era: 1, timeline: 0, branch: 2)
        var earlier = other
        earlier.era = 0
        var unused = other
        unused.branch = 0
        var foreign = other
        foreign.journal ^= 1
        for harmless in [
            present, DatabaseStanding(former), DatabaseStanding(former, committed: end),
            DatabaseStanding(earlier), DatabaseStanding(unused), DatabaseStanding(foreign),
        ] {
            ownership.hear(harmless)
            #expect(journal.failure == nil)
            #expect(try await journal.head("s")?.key.generation == generation, "\(harmless)")
        }
        for (count, lost) in [
            DatabaseStanding(former, committed: end + 1), DatabaseStanding(other),
        ]
        .enumerated() {
            var lost = lost
            lost.mark.era = ownership.standing.mark.era
            // Each node repeats it with every ping.
            for _ in 0..<3 { ownership.hear(lost) }
            let head = try #require(try await journal.head("s"))
            #expect(head.key.generation != generation)
            #expect(journal.figures?.historyLosses == UInt64(count + 1))
            generation = head.key.generation
            ownership.hear(lost)
            #expect(try await journal.head("s")?.key.generation == generation, "its era is over")
        }
        await journal.close()
    }
}
