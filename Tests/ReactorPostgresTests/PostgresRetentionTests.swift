import EngineSuite
import PostgresRig
import Storage
import Synchronization
import Testing

@testable import ReactorPostgres

@Suite("Retention in PostgreSQL", .timeLimit(.minutes(60)))
struct PostgresRetentionTests {
    private final class Rig {
        let server: PostgresServer
        let schema: String
        let time = Clock()
        let journal: PostgresJournal

        /// - Parameter limit: How long retention may work in each second.
        init(_ retention: JournalRetention, sweepLimit limit: Duration = .seconds(600)) throws {
            server = try PostgresServer.shared.get()
            schema = server.newSchema()
            let clock = time
            journal = try PostgresJournal(
                PostgresAddress(server, schema), retention: retention,
                commitLimit: .seconds(600),
                now: { database in database + clock.now.withLock { $0 } }, sweepLimit: limit,
                looksEvery: nil)
        }

        func count(_ table: String) throws -> Int64 {
            try server.query("SELECT count(*) FROM \(schema).\(table)").integer(0, 0)
        }
    }

    /// How far it is ahead of the database's, in milliseconds.
    private final class Clock: Sendable { let now = Mutex<Int64>(0) }

    /// One of several nodes may have a wrong clock, and would remove what all others still keep.
    @Test func `the time is that of the database`() async throws {
        let server = try PostgresServer.shared.get()
        let read = Clock()
        let journal = try PostgresJournal(
            PostgresAddress(server, server.newSchema()),
            now: { database in
                read.now.withLock { $0 = database }
                return database
            }, looksEvery: nil)
        let time = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
        let before = try server.query(time).integer(0, 0)
        await journal.keepHouse()
        // Rounded to the next millisecond.
        let after = try server.query(time).integer(0, 0) + 1
        #expect((before...after).contains(read.now.withLock { $0 }))
        await journal.close()
    }

    private static func retention(records: Int = 100_000, bytes: Int = 1 << 28) -> JournalRetention
    {
        var retention = JournalRetention(records: records, bytes: bytes, age: 1_000_000_000)
        retention.stepRows = 7
        return retention
    }

    /// A session with a snapshot at every tenth record.
    private func write(_ count: UInt64, to rig: Rig, content: String? = nil) async {
        #expect(await rig.journal.verdict(on: .created("s")) == .committed)
        for number in 1..<(count + 1) {
            var batch = Batch(records: [.mutation("s", number, content: content)])
            if number.isMultiple(of: 10) { batch.snapshots = [.of("s", number, time: 2_000_000)] }
            #expect(await rig.journal.verdict(on: batch) == .committed)
        }
    }

    @Test func `old records are trimmed up to a snapshot`() async throws {
        let rig = try Rig(Self.retention(records: 25))
        await write(64, to: rig)
        await rig.journal.keepHouse()
        let head = try #require(try await rig.journal.head("s"))
        #expect(head.keptAfter == 30)
        #expect(head.keptVersion == 30)
        #expect(head.end == HistoryEnd(number: 64, version: 64))
        #expect(try await rig.journal.records("s").map(\.number) == Array(31...64))
        #expect(try rig.count("runs") == 34)
        #expect(try rig.count("snapshots") == 4)
        let saved = try #require(try await rig.journal.load("s"))
        #expect(saved.snapshot?.number == 60)
        #expect(saved.mutations.map(\.number) == [61, 62, 63, 64])
        // It continues where it was.
        #expect(await rig.journal.verdict(on: .mutation("s", 65)) == .committed)
        await rig.journal.close()
    }

    @Test func `records beyond the bytes are trimmed up to a snapshot`() async throws {
        let rig = try Rig(Self.retention(bytes: 20_000))
        await write(64, to: rig, content: "\"\(String(repeating: "x", count: 1_000))\"")
        await rig.journal.keepHouse()
        // The journal may trim between two reads.
        var (kept, numbers): (UInt64, [UInt64]) = (0, [])
        repeat {
            kept = try #require(try await rig.journal.head("s")).keptAfter
            numbers = try await rig.journal.records("s").map(\.number)
        } while try await rig.journal.head("s")?.keptAfter != kept
        #expect((40...50).contains(kept))
        #expect(numbers == Array(kept + 1...64))
        await rig.journal.close()
    }

    @Test func `records expire by age, and the newest stay`() async throws {
        let rig = try Rig(Self.retention())
        await write(20, to: rig)
        await rig.journal.keepHouse()
        #expect(try await rig.journal.head("s")?.keptAfter == 0)
        rig.time.now.withLock { $0 += 1_000_000_001 }
        await rig.journal.keepHouse()
        #expect(try await rig.journal.head("s")?.keptAfter == 20)
        #expect(try await rig.journal.head("s")?.end.number == 20)
        #expect(try await rig.journal.load("s")?.snapshot?.number == 20)
        #expect(await rig.journal.verdict(on: .mutation("s", 21)) == .committed)
        await rig.journal.close()
    }

    @Test func `answers expire`() async throws {
        let rig = try Rig(Self.retention())
        var batch = Batch(records: [.created("s")])
        batch.answers = (0..<20).map { .of("s", "k\($0)") }
        batch.answers.append(.of("s", "late"))
        #expect(await rig.journal.verdict(on: batch) == .committed)
        // As if it had been stored a quarter of an hour later.
        try rig.server.execute(
            "UPDATE \(rig.schema).answers SET time = time + 900000 WHERE key = 'late'")
        await rig.journal.keepHouse()
        #expect(try rig.count("answers") == 21)
        rig.time.now.withLock { $0 += 90_000_001 }
        await rig.journal.keepHouse()
        #expect(try rig.count("answers") == 1)
        #expect(try await rig.journal.answer("s", "late") != nil)
        await rig.journal.close()
    }

    /// A statement that takes longer than its limit would be repeated for ever.
    @Test func `a step removes rows of a bounded size`() async throws {
        let retention = Self.retention()
        let rig = try Rig(retention, sweepLimit: .zero)
        var batch = Batch(records: [.created("s")])
        batch.answers = (0..<20).map { .of("s", "k\($0)") }
        #expect(await rig.journal.verdict(on: batch) == .committed)
        let connection = try rig.server.connection()
        try connection.execute("SET search_path = \(rig.schema)", within: .seconds(600))
        // Larger than a step; half of a step; and small. In the order of their times.
        try connection.execute(
            """
            UPDATE answers SET time = substr(key, 2)::bigint, body = convert_to(repeat('x', CASE
                WHEN key = 'k0' THEN 1000000 WHEN key IN ('k1', 'k2') THEN 229376 ELSE 1 END), 'UTF8')
            """, within: .seconds(600))
        var left: [Int64] = []
        while try Sweeper.answers.run(connection, retention, 19) {
            left.append(try rig.count("answers"))
        }
        left.append(try rig.count("answers"))
        // One; two with 7 times 64 KiB; and 7 at a time.
        #expect(left == [19, 17, 10, 3, 1])
        await rig.journal.close()
    }

    @Test func `rows of a deleted session are removed, and its id is remembered`() async throws {
        let rig = try Rig(Self.retention())
        await write(40, to: rig)
        #expect(await rig.journal.verdict(on: .created("t")) == .committed)
        #expect(
            await rig.journal.verdict(on: .deleted("s", 41, time: 2_000_000)) == .committed)
        // A statement that began before may be under way for a moment.
        await rig.journal.keepHouse()
        #expect(try rig.count("runs") == 42 + 1)
        try rig.server.execute("UPDATE \(rig.schema).removals SET queued = queued - interval '1 h'")
        await rig.journal.keepHouse()
        #expect(try rig.count("runs") == 1)
        #expect(try rig.count("snapshots") == 0)
        #expect(try rig.count("removals") == 0)
        #expect(try await rig.journal.head("s")?.isDeleted == true)
        #expect(try await rig.journal.load("s")?.isDeleted == true)
        let late = Batch(records: [.mutation("s", 42)])
        #expect(await rig.journal.verdict(on: late) == .partial([.of("s"): .absent]))
        rig.time.now.withLock { $0 += 1_000_000_001 }
        await rig.journal.keepHouse()
        #expect(try await rig.journal.head("s") == nil)
        #expect(try await rig.journal.head("t") != nil)
        await rig.journal.close()
    }

    @Test func `the number of deleted sessions that are remembered is bounded`() async throws {
        var retention = Self.retention()
        retention.tombstones = 5
        let rig = try Rig(retention)
        let ids = (0..<9).map { "s\($0)" }
        #expect(
            await rig.journal.verdict(on: Batch(records: ids.map { .created($0) })) == .committed)
        for (index, id) in ids.enumerated() {
            let end = HistoryEntry.deleted(id, 1, time: 2_000_000 + Int64(index))
            #expect(await rig.journal.verdict(on: end) == .committed)
        }
        await rig.journal.keepHouse()
        #expect(try await rig.journal.head("s3") == nil)
        #expect(try await rig.journal.head("s4")?.isDeleted == true)
        #expect(try rig.count("sessions") == 5)
        await rig.journal.close()
    }

    /// A step removes the rows of one session. With a hundred steps a second, retention could not
    /// keep up with a busy server.
    @Test(arguments: [Duration.zero, .seconds(600)])
    func `the work of a second is limited by its time, not by its steps`(limit: Duration)
        async throws
    {
        let rig = try Rig(Self.retention(), sweepLimit: limit)
        let ids = (0..<200).map { "s\($0)" }
        #expect(
            await rig.journal.verdict(on: Batch(records: ids.map { .created($0) })) == .committed)
        let ends = ids.map { HistoryEntry.deleted($0, 1, time: 2_000_000) }
        #expect(await rig.journal.verdict(on: Batch(records: ends)) == .committed)
        try rig.server.execute("UPDATE \(rig.schema).removals SET queued = queued - interval '1 h'")
        #expect(try rig.count("removals") == 200)
        await rig.journal.keepHouse()
        #expect(try rig.count("removals") == (limit == .zero ? 200 : 0))
        await rig.journal.close()
    }

    @Test func `of sessions that have not grown 160 are examined each second`() async throws {
        let rig = try Rig(Self.retention())
        let ids = (0..<400).map { "s\($0)" }
        #expect(
            await rig.journal.verdict(on: Batch(records: ids.map { .created($0) })) == .committed)
        var batch = Batch(records: ids.map { .mutation($0, 1) })
        batch.snapshots = ids.map { .of($0, 1, time: 2_000_000) }
        #expect(await rig.journal.verdict(on: batch) == .committed)
        rig.time.now.withLock { $0 += 1_000_000_001 }
        let trimmed = "SELECT count(*) FROM \(rig.schema).sessions WHERE kept_number = 1"
        for count in [160, 320, 400] as [Int64] {
            await rig.journal.keepHouse()
            #expect(try rig.server.query(trimmed).integer(0, 0) == count)
        }
        await rig.journal.close()
    }
}
