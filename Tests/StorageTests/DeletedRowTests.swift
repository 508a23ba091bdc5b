import EngineSuite
import GRDB
import Testing

@testable import Storage

@Suite("Contract §4 — no session gets the rows of a deleted one", .timeLimit(.minutes(60)))
struct DeletedRowTests {
    private static let large = "\"\(String(repeating: "x", count: 3_000))\""

    /// Moves rows out of the tail at the next opportunity.
    private static var moving: JournalRetention {
        var retention = JournalRetention()
        retention.tailRecords = 1
        return retention
    }

    private func writer(_ path: String) throws -> JournalWriter {
        let writer = JournalWriter(path: path, retention: JournalRetention(), now: { 1_000_000 })
        try writer.open()
        return writer
    }

    @Test func `maintenance in the commit that deletes a session leaves the session's row`()
        throws
    {
        let path = JournalRig.makeDirectory() + "/journal.sqlite"
        let writer = try writer(path)
        defer { writer.close() }
        func write(_ records: [HistoryEntry]) throws {
            for refused in try writer.write([Batch(records: records)]).get() {
                #expect(refused.isEmpty)
            }
        }
        try write([.created("s")])
        // Skips the tail together with the creation: no row of the session is in the tail.
        try write([.mutation("s", 1, content: Self.large)])
        #expect(!writer.tail.holds(1))
        writer.maintenance.isLookDue = true
        // Large enough that maintenance has its full budget.
        let padding = "\"\(String(repeating: "y", count: 400_000))\""
        try write([.deleted("s", 2), .created("t"), .mutation("t", 1, content: padding)])
        #expect(try JournalCheck(path).run().problems == [])
        let lost = "SELECT count(*) FROM tail WHERE session NOT IN (SELECT row FROM sessions)"
        #expect(try JournalFile(path).read { try $0.integer(lost) } == 0)
        // The second look removes what the first one has moved out of the tail.
        for _ in 1...2 {
            writer.maintenance.isLookDue = true
            while try writer.keepHouse().get() {}
        }
        let left = "SELECT count(*) FROM sessions WHERE row = 1"
        #expect(try JournalFile(path).read { try $0.integer(left) } == 0)
    }

    @Test func `a late reply of a deleted session refuses no other session's records`() throws {
        let path = JournalRig.makeDirectory() + "/journal.sqlite"
        for isRead in [false, true] {
            let first = try writer(path)
            let id = "s\(isRead)"
            #expect(
                try first.write([Batch(records: [.created(id), .created("t\(isRead)")])]).get()
                    == [[:]])
            #expect(try first.write([Batch(records: [.deleted(id, 1)])]).get() == [[:]])
            if isRead { first.close() }
            let second = isRead ? try writer(path) : first
            defer { second.close() }
            var batch = Batch(records: [.mutation("t\(isRead)", 1)])
            batch.answers = [.of(id, "k")]
            batch.expect(id, 1)
            #expect(try second.write([batch]).get() == [[:]])
            let stored = "SELECT count(*) FROM answers"
            #expect(try JournalFile(path).read { try $0.integer(stored) } == 0)
        }
    }

    @Test func `a record without a session is dropped and not given to the next session`()
        async throws
    {
        let rig = try JournalRig(Self.moving)
        #expect(await rig.commit(HistoryEntry.life("dead", 9) + [.mutation("dead", 10)]) == nil)
        await rig.journal.trimNow()
        #expect(await rig.commit([.mutation("dead", 11, content: Self.large)]) == nil)
        #expect(await rig.commit([.deleted("dead", 12)]) == nil)
        await rig.journal.close()
        // As an earlier version could have left it.
        try rig.tamper("DELETE FROM records")
        try rig.tamper("DELETE FROM sessions")
        #expect(
            try JournalCheck(rig.path).run().problems == ["tail: 1 rows belong to no session"])
        try await rig.reopen(Self.moving)
        #expect(try rig.count("SELECT count(*) FROM tail") == 0)
        #expect(await rig.commit(HistoryEntry.life("victim", 14)) == nil)
        await rig.journal.trimNow()
        #expect(try rig.count("SELECT count(*) FROM records") > 0)
        try await rig.reopen()
        let saved = try #require(try await rig.load("victim"))
        #expect(saved.mutations.map(\.version) == Array(1...14))
        #expect(saved.end.version == 14)
        #expect(try JournalCheck(rig.path).run().problems == [])
    }

    @Test func `one pass removes the rows of all deleted sessions, however many`() async throws {
        let rig = try JournalRig()
        for index in 0..<300 {
            #expect(
                await rig.commit(
                    HistoryEntry.life("s\(index)", 1) + [.deleted("s\(index)", 2)]) == nil)
        }
        await rig.journal.close()
        try JournalRig.queue(rig.path).inDatabase { database in
            let tail = TailIndex()
            try tail.rebuild(database)
            let retention = JournalRetention()
            let heads = SessionHeads(tail: tail, keeping: retention)
            try heads.reset(database)
            let maintenance = Maintenance(
                retention: retention, tail: tail, heads: heads, now: { 1_000_000 })
            // The first one finds all of it in the tail and moves it.
            for _ in 1...2 {
                maintenance.isLookDue = true
                while maintenance.areDue {
                    maintenance.charge(all: 1_000)
                    try maintenance.work(database)
                    maintenance.committed()
                }
            }
        }
        #expect(try rig.count("SELECT count(*) FROM sessions") == 0)
        #expect(try rig.count("SELECT count(*) FROM records") == 0)
    }

    @Test(arguments: [
        "INSERT INTO records VALUES(7, 1, 4294967295, 1, 1, '')",
        "INSERT INTO snapshots VALUES(7, 1, 1, 1, 1, 1, '{}', 2, 0)",
        "INSERT INTO answers VALUES(7, 'k', x'00', 200, 1, '{}')",
        "INSERT INTO running VALUES(7, 1, '{}', 1, NULL, 1, NULL, NULL)",
    ])
    func `a session row with remaining data is not used again`(_ leftover: String) async throws {
        let rig = try JournalRig()
        await rig.journal.close()
        try rig.tamper(leftover)
        try await rig.reopen()
        #expect(await rig.commit([.created("s")]) == nil)
        #expect(try rig.count("SELECT row FROM sessions") == 8)
    }

    @Test(arguments: ["tail", "records"])
    func `the check finds a record of a deleted session among those of a live one`(
        _ table: String
    ) async throws {
        let rig = try JournalRig(Self.moving)
        #expect(await rig.commit(HistoryEntry.life("victim", 8)) == nil)
        if table == "records" { await rig.journal.trimNow() }
        await rig.journal.close()
        var run = RecordPage(of: 1)
        run.append(.deleted("victim", 9))
        try rig.tamper(
            """
            UPDATE \(table) SET lines = '\(String(decoding: run.text, as: UTF8.self))' || lines
            """)
        let problems = try JournalCheck(rig.path).run().problems
        #expect(problems.contains { $0.contains("session victim g1: record 9") }, "\(problems)")
    }
}
