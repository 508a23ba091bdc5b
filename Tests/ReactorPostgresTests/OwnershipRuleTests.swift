import Cluster
import EngineSuite
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

/// Each rule is tried with it, and without it.
@Suite("The rules of owners in PostgreSQL", .timeLimit(.minutes(60)))
struct OwnershipRuleTests {
    private func check(_ rule: Rules, _ holds: (Rules) async throws -> Bool) async throws {
        #expect(try await holds(.all))
        #expect(try await !holds(Rules.all.subtracting(rule)))
    }

    @Test func `an append of a deposed owner is refused`() async throws {
        try await check(.fences) { rules in
            let server = try PostgresServer.shared.get()
            let schema = server.newSchema()
            let a = try ClusterNode(1, server, schema, rules: rules)
            let b = try ClusterNode(2, server, schema)
            try await a.create("s", 1)
            _ = try await b.own("s", deposing: a)
            // The new owner has written nothing yet: the place alone would let it in.
            let verdict = await a.commit(.mutation("s", 2), epoch: 1)
            let count = try await b.journal.records("s").count
            await a.close()
            await b.close()
            return verdict == .partial([.of("s"): .moved(b.node)]) && count == 1
        }
    }

    /// A batch that was handed in while this node was the owner is decided by its place, even if
    /// the owner has changed meanwhile: a statement on its way may be accepted at any time.
    @Test func `a batch without an answer is handed in again without the fence`() async throws {
        try await check(.resubmitsWithoutFence) { rules in
            let server = try PostgresServer.shared.get()
            let (schema, relay) = (server.newSchema(), try PostgresRelay(to: server))
            let a = try ClusterNode(1, server, schema, by: relay, rules: rules)
            let b = try ClusterNode(2, server, schema)
            try await a.create("s", 1)
            relay.become(.swallowingRequests)
            let pending = Pending(.of([.mutation("s", 2)], epoch: 1), in: a.journal)
            await relay.untilSwallowed()
            _ = try await b.own("s", deposing: a)
            relay.become(.passing)
            relay.cut()
            let verdict = await pending.value
            let count = try await b.journal.records("s").count
            await a.close()
            await b.close()
            return verdict == .committed && count == 2
        }
    }

    /// The next owner loads all that the one before has acknowledged until the claim.
    @Test func `a session is loaded after its claim`() async throws {
        try await check(.loadsAfterClaim) { rules in
            let server = try PostgresServer.shared.get()
            let schema = server.newSchema()
            let a = try ClusterNode(1, server, schema)
            let b = try ClusterNode(2, server, schema, rules: rules)
            try await a.create("s", 1)
            // Somebody holds the row, and so delays the claim, but neither appends nor reads.
            let other = try server.connection()
            try other.execute(
                "BEGIN; SELECT 1 FROM \(schema).sessions WHERE id = 's' FOR UPDATE",
                within: .seconds(600))
            async let claimed = b.own("s", deposing: a)
            let asked =
                "SELECT 1 FROM pg_stat_activity WHERE application_name = '\(schema)/claims' "
                + "AND query LIKE 'WITH c AS%' OR application_name = '\(schema)/claims' "
                + "AND query LIKE '%FROM unnest%'"
            while try server.query(asked).count == 0 { await Task.yield() }
            #expect(await a.commit(.mutation("s", 2), epoch: 1) == .committed)
            try other.execute("ROLLBACK", within: .seconds(600))
            let saved = try await claimed
            await a.close()
            await b.close()
            #expect(saved.epoch == 2)
            return saved.end.number == 2
        }
    }

    /// The row of a batch that was let in and not answered may be trimmed before it is looked for.
    @Test func `nobody says that a row which may be trimmed was never there`() async throws {
        try await check(.heedsTrimming) { rules in
            let server = try PostgresServer.shared.get()
            let (schema, relay) = (server.newSchema(), try PostgresRelay(to: server))
            let a = try ClusterNode(1, server, schema, by: relay, rules: rules)
            let b = try ClusterNode(2, server, schema)
            try await a.create("s", 1)
            // The first use of a statement prepares it.
            #expect(await a.commit(.mutation("s", 2), epoch: 1) == .committed)
            relay.become(.swallowingAnswers)
            let pending = Pending(.of([.mutation("s", 3)], epoch: 1), in: a.journal)
            await relay.untilSwallowed()
            while try await b.journal.head("s")?.end.number != 3 {}
            let saved = try await b.own("s", deposing: a)
            #expect(await b.commit(.mutation("s", 4), epoch: saved.epoch) == .committed)
            try server.execute("DELETE FROM \(schema).runs WHERE number <= 3")
            relay.become(.passing)
            relay.cut()
            let failure = await pending.value.failure(of: .of("s"))
            await a.close()
            await b.close()
            return failure?.reason == .outcomeUnknown
        }
    }
}
