import EngineSuite
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

@Suite("PostgreSQL with several writers", .timeLimit(.minutes(60)))
struct PostgresWriterTests {
    private static func open(_ server: PostgresServer, _ schema: String) throws -> PostgresJournal {
        try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600),
            lockLimit: .seconds(600), looksEvery: nil)
    }

    /// Two loops; a row that somebody has locked holds up the first one's writer.
    @Test func `a writer does not wait for another one`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try Self.open(server, schema)
        let (first, second) = (journal.takeCommitter(), journal.takeCommitter())
        #expect(await Pending(.creating("a"), in: first).value == .committed)
        #expect(await Pending(.creating("b"), in: second).value == .committed)
        let other = try server.connection()
        try other.execute(
            """
            BEGIN; INSERT INTO \(schema).runs
            SELECT session, 0, 4294967295, 1, 4294967295, 1, 1, 1, 1, ''
            FROM \(schema).sessions WHERE id = 'a'
            """, within: .seconds(600))
        let held = Pending(Batch(records: [.mutation("a", 1)]), in: first)
        let waiting =
            "SELECT 1 FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM "
            + "pg_stat_activity WHERE application_name = '\(schema)/writer')"
        while held.present == nil, try server.query(waiting).count == 0 {}
        let free = Pending(Batch(records: [.mutation("b", 1)]), in: second)
        #expect(await free.value == .committed)
        #expect(held.present == nil)
        try other.execute("ROLLBACK", within: .seconds(600))
        #expect(await held.value == .committed)
        #expect(journal.figures?.batches == 4)
        await journal.close()
        #expect(await Pending(.creating("c"), in: second).value.failure(of: .of("c")) != nil)
    }

    @Test func `loops share as many writers as the address says`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = server.address(schema)
        for (suffix, count) in [("", 2), ("&lanes=1", 1), ("&lanes=3", 3)] {
            let journal = try PostgresJournal(
                PostgresAddress(address + suffix), commitLimit: .seconds(600), looksEvery: nil)
            let committers = (0..<6).map { _ in
                ObjectIdentifier(journal.takeCommitter() as AnyObject)
            }
            #expect(Set(committers).count == count)
            for (index, committer) in committers.enumerated() {
                #expect(committer == committers[index % count])
            }
            await journal.close()
            try server.waitForEnd(of: schema)
        }
    }

    @Test func `a server with too few connections for its writers does not start`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        try server.connection().execute(
            """
            CREATE ROLE few_\(schema) LOGIN CONNECTION LIMIT 5;
            GRANT CREATE ON DATABASE postgres TO few_\(schema);
            GRANT pg_monitor TO few_\(schema)
            """, within: .seconds(600))
        let address = "postgres://few_\(schema)@/postgres?host=\(server.folder)&schema=\(schema)"
        // A connection that was closed just now may still count.
        let journal = try PostgresJournal(
            PostgresAddress(address + "&lanes=1"), commitLimit: .seconds(600), looksEvery: nil)
        await journal.close()
        #expect(throws: JournalFailure.self) {
            try PostgresJournal(
                PostgresAddress(address + "&lanes=3"), commitLimit: .seconds(600), looksEvery: nil)
        }
    }

    /// Loops that wait for none of their batches, each with sessions of its own.
    @Test(arguments: UInt64(1)...3)
    func `each writer keeps the order of its loops while connections are cut`(
        _ seed: UInt64
    ) async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try Self.open(server, schema)
        var loops = (0..<3).map { index in
            let seed = seed * 10 + UInt64(index)
            return (
                committer: journal.takeCommitter(), model: JournalModel(),
                maker: BatchMaker(seed: seed, sessions: 4, prefix: "l\(index)s")
            )
        }
        for _ in 0..<20 {
            var pending: [Pending] = []
            for _ in 0..<3 {
                for index in loops.indices {
                    let batch = loops[index].maker.batch(loops[index].model, records: 1...8)
                    loops[index].model.apply(batch)
                    pending.append(Pending(batch, in: loops[index].committer))
                }
            }
            try server.cutConnections(to: schema)
            for one in pending { #expect(await one.value == .committed) }
        }
        for loop in loops {
            for (session, stored) in loop.model.lives where !stored.isDeleted {
                let read = try await journal.records(session, stored.generation)
                #expect(read == stored.records.filter { $0.number > 0 })
            }
        }
        await journal.close()
    }
}

extension Batch {
    fileprivate static func creating(_ session: String) -> Batch {
        Batch(records: [.created(session)])
    }
}
