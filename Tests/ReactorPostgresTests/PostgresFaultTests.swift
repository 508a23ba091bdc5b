import EngineSuite
import PostgresRig
import Storage
import Synchronization
import Testing

@testable import ReactorPostgres

@Suite("PostgreSQL with lost connections and two writers", .timeLimit(.minutes(60)))
struct PostgresFaultTests {
    /// Each acknowledged record is there once, and no other.
    @Test func `connections that are cut lose and double nothing`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        for number: UInt64 in 1...150 {
            let pending = Pending(Batch(records: [.mutation("s", number)]), in: journal)
            if number.isMultiple(of: 3) { try server.cutConnections(to: schema) }
            #expect(await pending.value == .committed)
        }
        #expect(try await journal.records("s").map(\.number) == Array(1...150))
        await journal.close()
    }

    /// Batches that wait for none of their predecessors, of many sessions that end and begin again.
    @Test(arguments: UInt64(1)...4)
    func `a random history is kept while connections are cut`(_ seed: UInt64) async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        var (model, maker) = (JournalModel(), BatchMaker(seed: seed, sessions: 6))
        for _ in 0..<30 {
            var pending: [Pending] = []
            for _ in 0..<3 {
                let batch = maker.batch(model, records: 1...12)
                model.apply(batch)
                pending.append(Pending(batch, in: journal))
            }
            try server.cutConnections(to: schema)
            for one in pending { #expect(await one.value == .committed) }
        }
        for (session, stored) in model.lives where !stored.isDeleted {
            let read = try await journal.records(session, stored.generation)
            #expect(read == stored.records.filter { $0.number > 0 })
        }
        await journal.close()
    }

    /// Three processes that continue the same sessions at once: each position is taken once, and
    /// the winner alone is acknowledged.
    @Test func `several writers never fork a history`() async throws {
        let server = try PostgresServer.shared.get()
        let address = try PostgresAddress(server, server.newSchema())
        // The chain holds although the lock that keeps them apart is missing.
        let writers = try (0..<3).map { _ in
            try PostgresJournal(
                address, commitLimit: .seconds(600), rules: .all.subtracting(.locksUse),
                looksEvery: nil)
        }
        let ids = (0..<5).map { "s\($0)" }
        #expect(
            await writers[0].verdict(on: Batch(records: ids.map { .created($0) })) == .committed)
        let won = Won()
        await withTaskGroup(of: Void.self) { group in
            for (index, writer) in writers.enumerated() {
                group.addTask { await Self.race(writer, index, ids, won) }
            }
        }
        for id in ids {
            let all = try await writers[0].records(id)
            #expect(all.map(\.number) == Array(1..<UInt64(all.count + 1)))
            let there = Set(all.map { String(decoding: $0.content, as: UTF8.self) })
            #expect(there == won.marks.withLock { $0[id] })
            #expect(all.count > 100)
        }
        for writer in writers { await writer.close() }
    }

    private final class Won: Sendable {
        let marks = Mutex<[String: Set<String>]>([:])
    }

    private static func race(
        _ writer: PostgresJournal, _ index: Int, _ ids: [String], _ won: Won
    ) async {
        for round in 0..<150 as Range<UInt64> {
            var batch = Batch()
            for id in ids {
                let end = (try? await writer.head(id)?.end.number) ?? 0
                // Runs of different lengths continue one position.
                let some = (end + 1..<(end + UInt64(index) + 2)).map {
                    HistoryEntry.mutation(id, $0, content: "\"\(index) \(round)\"")
                }
                batch.append(Batch(records: some, lineage: round * 10 + UInt64(index) + 1))
            }
            let verdict = await writer.verdict(on: batch)
            for id in ids where verdict.failure(of: .of(id)) == nil {
                won.marks.withLock { _ = $0[id, default: []].insert("\"\(index) \(round)\"") }
            }
        }
    }

    // MARK: Away

    @Test func `a database that is away applies nothing, and says so`() async throws {
        let server = try PostgresServer.shared.get()
        let (schema, relay) = (server.newSchema(), try PostgresRelay(to: server))
        let journal = try PostgresJournal(
            PostgresAddress(server, schema, by: relay.folder), commitLimit: .milliseconds(300),
            looksEvery: .milliseconds(50))
        await journal.create("s")
        while journal.failure != nil { await Task.yield() }
        relay.close()
        while journal.failure == nil { await Task.yield() }
        // A writer that has not noticed yet loses its connection in the middle of a commit.
        var verdict = await journal.verdict(on: .mutation("s", 1))
        if case .failed(let failure) = verdict, failure.reason == .outcomeUnknown {
            verdict = await journal.verdict(on: .mutation("s", 1))
        }
        guard case .failed(let failure) = verdict else {
            Issue.record("it was committed")
            return
        }
        #expect(failure.reason == .unavailable)
        #expect(failure.detail.hasPrefix("PostgreSQL: "))
        await #expect(throws: JournalFailure.self) { try await journal.records("s") }
        try relay.listen()
        while journal.failure != nil { await Task.yield() }
        await journal.create("t")
        #expect(try await journal.head("s")?.end.number == 0)
        await journal.close()
    }

    @Test func `a commit that stays in doubt has an unknown outcome`() async throws {
        let server = try PostgresServer.shared.get()
        let (schema, relay) = (server.newSchema(), try PostgresRelay(to: server))
        // Without looks: the answer that is swallowed is that of the commit.
        let journal = try PostgresJournal(
            PostgresAddress(server, schema, by: relay.folder), commitLimit: .seconds(3),
            looksEvery: nil)
        // The first use of a statement prepares it, unless a slow machine fails it.
        var (session, count) = ("", 0)
        repeat {
            count += 1
            session = "s\(count)"
            await journal.create(session)
        } while await journal.verdict(on: .mutation(session, 1)) != .committed
        relay.become(.swallowingAnswers)
        let pending = Pending(Batch(records: [.mutation(session, 2)], lineage: 7), in: journal)
        await relay.untilSwallowed()
        relay.close()
        guard case .failed(let failure) = await pending.value else {
            Issue.record("nobody can know")
            return
        }
        #expect(failure.reason == .outcomeUnknown)
        relay.become(.passing)
        try relay.listen()
        while journal.failure != nil { await journal.look() }
        // It was decided upon a part that may not be there.
        let upon = await journal.verdict(
            on: Batch(records: [.mutation(session, 3)], lineage: 7))
        #expect(upon == .partial([.of(session): .lostLineage]))
        #expect(try await journal.head(session)?.end.number == 2)
        while try await journal.head(session)?.end.number != 3 {
            _ = await journal.verdict(on: .mutation(session, 3))
        }
        await journal.close()
    }

    /// The limit of a statement is what is tested: five seconds.
    @Test func `a connection that says nothing is given up`() async throws {
        let server = try PostgresServer.shared.get()
        let (schema, relay) = (server.newSchema(), try PostgresRelay(to: server))
        let journal = try PostgresJournal(
            PostgresAddress(server, schema, by: relay.folder), commitLimit: .seconds(600),
            looksEvery: nil)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        relay.stall()
        #expect(await journal.verdict(on: .mutation("s", 1)) == .committed)
        // The readers' connections are silent too, and a read waits for ten seconds.
        let newest = try server.query("SELECT max(number) FROM \(schema).runs")
        #expect(newest.integer(0, 0) == 1)
        await journal.close()
    }

    /// A lock on one session's place; the others do not wait for its verdict's reason.
    @Test func `a row that somebody has locked concerns its session alone`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), lockLimit: .seconds(10),
            looksEvery: nil)
        let ids = (0..<9).map { "s\($0)" }
        #expect(await journal.verdict(on: Batch(records: ids.map { .created($0) })) == .committed)
        let other = try server.connection()
        try other.execute(
            """
            BEGIN; INSERT INTO \(schema).runs
            SELECT session, 0, 4294967295, 1, 4294967295, 1, 1, 1, 1, ''
            FROM \(schema).sessions WHERE id = 's5'
            """, within: .seconds(600))
        let verdict = await journal.verdict(on: Batch(records: ids.map { .mutation($0, 1) }))
        guard case .partial(let refused) = verdict, Array(refused.keys) == [.of("s5")],
            case .failed(let failure) = refused[.of("s5")]
        else {
            Issue.record("\(verdict)")
            return
        }
        #expect(failure.reason == .unavailable)
        try other.execute("ROLLBACK", within: .seconds(600))
        #expect(await journal.verdict(on: .mutation("s5", 1)) == .committed)
        await journal.close()
    }

    @Test func `data that PostgreSQL does not take fail their session alone`() async throws {
        let server = try PostgresServer.shared.get()
        let journal = try PostgresJournal(
            PostgresAddress(server, server.newSchema()), commitLimit: .seconds(600),
            looksEvery: nil)
        var batch = Batch(records: ["a", "b", "c", "d"].map { .created($0) })
        batch.answers = [.of("c", "zero \0 byte")]
        let verdict = await journal.verdict(on: batch)
        guard case .partial(let refused) = verdict, Array(refused.keys) == [.of("c")],
            case .failed(let failure) = refused[.of("c")]
        else {
            Issue.record("\(verdict)")
            return
        }
        #expect(failure.reason == .refused)
        #expect(failure.publicDetail.contains("such as NUL (SQLSTATE 22021"))
        #expect(try await journal.load("c") == nil)
        #expect(try await journal.load("d")?.end.number == 0)
        await journal.close()
    }
}
