import EngineSuite
import Testing

@testable import Storage

@Suite("Case 149 — a session's head is known without its records", .timeLimit(.minutes(60)))
struct HeadTests {
    private static let large = "\"\(String(repeating: "x", count: 3_000))\""

    /// Moves rows out of the tail at the next opportunity.
    private static var moving: JournalRetention {
        var retention = JournalRetention()
        retention.tailRecords = 1
        retention.records = 1
        return retention
    }

    @Test func `case 149: the head is found wherever the newest record is`() async throws {
        let rig = try JournalRig(Self.moving)
        #expect(try await rig.head("s") == nil)
        #expect(
            await rig.commit(
                HistoryEntry.life("s", 2) + [.noteEntry("s", before: 3, 1, version: 2)])
                == nil)
        var expected = SavedHead(key: .of("s"), reactor: "alerts")
        expected.end = HistoryEnd(number: 2, version: 2, notes: 1)
        #expect(try await rig.head("s") == expected)
        await rig.journal.trimNow()
        #expect(try rig.count("SELECT count(*) FROM tail") == 0)
        #expect(try await rig.head("s") == expected)

        var batch = Batch(
            records: [.mutation("s", 3, content: Self.large), .mutation("s", 4)],
            after: [.of("s"): HistoryPosition(3, part: 1)])
        batch.snapshots = [.of("s", 3)]
        #expect(await rig.commit(batch) == nil)
        await rig.journal.trimNow()
        expected.end = HistoryEnd(number: 4, version: 4)
        expected.keptAfter = 3
        expected.keptVersion = 3
        #expect(try await rig.head("s") == expected)
        #expect(await rig.commit([.deleted("s", 5)]) == nil)
        #expect(try await rig.head("s")?.isDeleted == true)
    }

    @Test func `case 149: a session with unreadable records can be deleted by its head`()
        async throws
    {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 2)) == nil)
        await rig.journal.close()
        try rig.tamper("UPDATE tail SET lines = 'no record'")
        try await rig.reopen()
        await #expect(throws: JournalFailure.self) { try await rig.load("s") }
        let head = try #require(try await rig.head("s"))
        #expect(head.end.number == 2)
        #expect(await rig.commit([.deleted("s", head.end.number + 1)]) == nil)
        for _ in 0..<2 {
            #expect(try await rig.load("s")?.isDeleted == true)
            await rig.journal.trimNow()
            try await rig.reopen()
        }
        #expect(await rig.commit([.created("s", "g2")]) == nil)
        #expect(try await rig.head("s")?.key == .of("s", "g2"))
    }
}
