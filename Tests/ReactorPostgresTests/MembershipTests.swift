import Cluster
import EngineSuite
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

@Suite("members find each other in the database", .timeLimit(.minutes(60)))
struct MembershipTests {
    private func rig() throws -> (PostgresServer, String) {
        let server = try PostgresServer.shared.get()
        return (server, server.newSchema())
    }

    private func age(_ node: ClusterNode, _ server: PostgresServer, _ schema: String) throws {
        try server.execute(
            """
            UPDATE \(schema).nodes SET seen = seen - interval '1 h'
            WHERE node = \(node.node.number)
            """)
    }

    @Test func `each beat shows the members`() async throws {
        let (server, schema) = try rig()
        let a = try ClusterNode(1, server, schema)
        let changes = try Changes(of: a)
        #expect(try a.members.isAlone)
        let b = try ClusterNode(2, server, schema, reactors: ["x": 1, "y": 2])
        try await a.journal.beat()
        let member = Member(
            node: b.node, address: "10.0.0.2:7080", loops: 2, reactors: ["x": 1, "y": 2])
        #expect(try a.members.others == [member])
        #expect(try b.members.others.map(\.node) == [a.node])
        // Nothing new: nobody is notified.
        try await a.journal.beat()
        #expect(await changes.first(1).map(\.members.others) == [[member]])
        try b.ownership.leave()
        try await b.journal.beat()
        try await a.journal.beat()
        var leaving = member
        leaving.isLeaving = true
        #expect(await changes.first(2).last?.members.others == [leaving])
        // It is not claimed there any more.
        try await a.create("s")
        try await a.release(OwnedSession(.of("s"), epoch: 1))
        #expect(try await b.claim("s") == .elsewhere(a.node, .alerts))
        await b.close()
        try await a.journal.beat()
        #expect(await changes.first(3).last?.members.others == [])
        await a.close()
    }

    // The other one's row is written while this one looks: a statement does not see it yet.
    @Test func `of two nodes that join at once one knows the other`() async throws {
        let (server, schema) = try rig()
        let first = try ClusterNode(3, server, schema)
        try server.execute(
            """
            CREATE FUNCTION \(schema).join() RETURNS trigger LANGUAGE plpgsql AS $$
                DECLARE other \(schema).nodes := NEW;
                BEGIN
                    other.node := 2;
                    other.address := '127.0.0.1:2';
                    INSERT INTO \(schema).nodes SELECT (other).*;
                    RETURN NULL;
                END $$;
            CREATE TRIGGER joins AFTER INSERT ON \(schema).nodes
                FOR EACH ROW WHEN (NEW.node = 1) EXECUTE FUNCTION \(schema).join()
            """)
        let node = try ClusterNode(1, server, schema)
        #expect(try node.members[Node(number: 2)] != nil)
        for node in [first, node] { await node.close() }
    }

    // Without the rule: a client gets 503 until the next beat.
    @Test func `an owner that has just started is known as soon as its session is asked for`()
        async throws
    {
        let (server, schema) = try rig()
        let a = try ClusterNode(1, server, schema)
        let b = try ClusterNode(2, server, schema)
        try await b.create("s", 1)
        #expect(try a.members.isAlone)
        #expect(try await a.claim("s") == .elsewhere(b.node, .alerts))
        let met = try a.members[b.node]
        #expect(met?.address == "10.0.0.2:7080")
        await a.close()
        await b.close()
    }

    /// The others' connections are fine, so nothing else makes a node look.
    @Test func `an era that another node has begun is noticed with the next beat`() async throws {
        let (server, schema) = try rig()
        let a = try ClusterNode(1, server, schema)
        try await a.create("s", 1)
        #expect(a.journal.figures?.historyLosses == 0)
        try server.execute(
            "UPDATE \(schema).cluster SET era = 2; UPDATE \(schema).sessions SET generation = 'g2'")
        try await a.journal.beat()
        #expect(a.journal.figures?.historyLosses == 1)
        #expect(try a.members.database.era == 2)
        // It happens once.
        try await a.journal.beat()
        #expect(try await a.journal.head("s")?.key == .of("s", "g2"))
        #expect(a.journal.figures?.historyLosses == 1)
        await a.close()
    }

    /// Without the rule, the first request for it traps at a link, or no node has a beat any more.
    @Test func `a row that no node has written ends neither a process nor a membership`()
        async throws
    {
        let (server, schema) = try rig()
        let a = try ClusterNode(1, server, schema)
        let b = try ClusterNode(2, server, schema)
        try await b.create("s")
        let (highest, lowest) = (Int64.max, Int64.min)
        for (number, loops) in [(highest, 65_536), (lowest, 0), (-1, 0)] {
            try server.execute(
                """
                UPDATE \(schema).nodes SET loops = \(number), state_versions = '{\(number)}'
                WHERE node = 2;
                DELETE FROM \(schema).nodes WHERE node NOT IN (1, 2);
                INSERT INTO \(schema).nodes(node, address, loops, reactors, state_versions, lease)
                    VALUES (-7, '', 1, '{}', '{}', 4000), (0, '', 1, '{}', '{}', 4000),
                        (5, '', 1, '{}', '{}', \(number));
                UPDATE \(schema).nodes SET seen = seen - interval '2 days' WHERE node = 5
                """)
            try await a.journal.beat()
            #expect(try a.members.others.map(\.node) == [b.node])
            #expect(try a.members[b.node]?.loops == loops)
            #expect(try await a.claim("s") == .elsewhere(b.node, .alerts))
        }
        await a.close()
        await b.close()
    }

    /// The database's clock decides, and its own lease for each.
    @Test func `a node that is paused is no member until it beats again`() async throws {
        let (server, schema) = try rig()
        let a = try ClusterNode(1, server, schema)
        let b = try ClusterNode(2, server, schema)
        let changes = try Changes(of: b)
        try await b.create("s", 1)
        try age(b, server, schema)
        try await a.journal.beat()
        #expect(try a.members.isAlone)
        #expect(try await a.own("s").epoch == 2)
        // It comes back, learns it, and does no harm.
        #expect(
            await b.commit(.mutation("s", 2), epoch: 1) == .partial([.of("s"): .moved(a.node)]))
        try await b.journal.beat()
        #expect(
            await changes.first(1).map(\.deposed) == [[OwnedSession(.of("s"), epoch: 1)]])
        try await b.journal.beat()
        try await a.journal.beat()
        #expect(try a.members.others.map(\.node) == [b.node])
        #expect(changes.count == 1)
        #expect(try server.query("SELECT 1 FROM \(schema).depositions").count == 0)
        await a.close()
        await b.close()
    }

    /// Each 60th beat removes old rows as well. Here it cannot, and the beat before had
    /// read nothing.
    @Test func `a deposition is reported, even if old rows cannot be removed`() async throws {
        let (server, schema) = try rig()
        let a = try ClusterNode(1, server, schema)
        let b = try ClusterNode(2, server, schema)
        let changes = try Changes(of: b)
        try await b.create("s", 1)
        for _ in 0..<59 { try await b.journal.beat() }
        #expect(try await a.own("s", deposing: b).epoch == 2)
        try server.execute(
            """
            CREATE FUNCTION \(schema).fail() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
            CREATE TRIGGER fail BEFORE DELETE ON \(schema).nodes FOR EACH STATEMENT
                EXECUTE FUNCTION \(schema).fail()
            """)
        try? await b.journal.beat()
        try server.execute("DROP TRIGGER fail ON \(schema).nodes")
        try await b.journal.beat()
        // The last change of all.
        let c = try ClusterNode(3, server, schema)
        try await b.journal.beat()
        var all = await changes.first(1)
        while all.last?.members.others.count != 2 { all = await changes.first(all.count + 1) }
        #expect(all.flatMap(\.deposed) == [OwnedSession(.of("s"), epoch: 1)])
        for node in [a, b, c] { await node.close() }
    }

    /// The clock of the server that was promoted is ten hours behind.
    @Test func `a beat by the clock of a former primary is as old as it was there`() async throws {
        let (server, schema) = try rig()
        let a = try ClusterNode(1, server, schema)
        let b = try ClusterNode(2, server, schema)
        try server.execute(
            """
            UPDATE \(schema).nodes SET seen = seen + interval '10 h';
            UPDATE \(schema).cluster SET timeline = '00000000'
            """)
        try server.cutConnections(to: schema)
        #expect(try await a.journal.head("s") == nil)
        try await a.journal.beat()
        #expect(try a.members.others.map(\.node) == [b.node])
        try age(b, server, schema)
        try await a.journal.beat()
        #expect(try a.members.isAlone, "it has had no beat for an hour")
        // The clock is set back without a promotion.
        try server.execute("UPDATE \(schema).nodes SET seen = seen + interval '10 h'")
        try await a.journal.beat()
        #expect(try a.members.isAlone)
        try await b.journal.beat()
        try await a.journal.beat()
        #expect(try a.members.others.map(\.node) == [b.node])
        await a.close()
        await b.close()
    }

    /// The limit of a lease is what is tested: half a second.
    @Test func `a node without beats ends its own membership`() async throws {
        let (server, schema) = try rig()
        let relay = try PostgresRelay(to: server)
        var a: ClusterNode
        var changes: Changes
        // On a slow machine the lease may end before it is watched.
        repeat {
            a = try ClusterNode(1, server, schema, by: relay, lease: .milliseconds(500))
            changes = try Changes(of: a)
        } while try !a.members.isHeard
        relay.close()
        let change = try #require(await changes.first(1).first)
        #expect(!change.members.isHeard)
        await #expect(throws: JournalFailure.self) { try await a.claim("s") }
        try relay.listen()
        while changes.last?.members.isHeard != true { try? await a.journal.beat() }
        await a.close()
    }

    /// Without the rule its connection begins with a commit that waits, and its lease ends.
    @Test func `a node beats over a new connection while commits hang`() async throws {
        // Its own, because its settings are changed.
        let server = try PostgresServer()
        let schema = server.newSchema()
        let a = try ClusterNode(1, server, schema)
        try await a.create("s")
        try server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try server.execute("SELECT pg_reload_conf()")
        let waiting =
            "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
            + "AND application_name = '\(schema)/writer'"
        // The server takes a setting over later: commits before that do not wait.
        var (number, pending) = (0 as UInt64, nil as Pending?)
        while pending == nil || pending?.present != nil {
            number += 1
            pending = Pending(.of([.mutation("s", number)], epoch: 1), in: a.journal)
            while pending?.present == nil, try server.query(waiting).count == 0 {}
        }
        try server.cutConnections(to: schema, for: "beat")
        try await a.journal.beat()
        #expect(pending?.present == nil, "the commit still waits")
        try server.execute("ALTER SYSTEM RESET synchronous_standby_names")
        try server.execute("SELECT pg_reload_conf()")
        #expect(await pending?.value == .committed)
        await a.close()
    }

    @Test func `a process that begins again at its address replaces the one before`() async throws {
        let (server, schema) = try rig()
        let a = try ClusterNode(1, server, schema)
        let dead = try ClusterNode(2, server, schema)
        try await dead.create("s")
        try server.execute(
            "UPDATE \(schema).nodes SET address = '10.0.0.1:7080' WHERE node = 1")
        let node = Node(number: 3)
        let member = Member(node: node, address: "10.0.0.2:7080", loops: 1, reactors: ["alerts": 5])
        let next = try PostgresJournal(
            PostgresAddress(server, schema), member: member, lease: .seconds(3_600),
            looksEvery: nil)
        try await a.journal.beat()
        #expect(try a.members.others.map(\.node) == [node])
        #expect(try await a.own("s").epoch == 2)
        await next.close()
        await a.close()
        await dead.close()
    }
}
