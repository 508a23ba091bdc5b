import EngineSuite
import Foundation
import Testing

@testable import Storage

@Suite("The tail and the main table read as one history", .timeLimit(.minutes(60)))
struct TailTests {
    /// Moves come often, in small steps, and never finish in one of them.
    private static var busy: JournalRetention {
        var retention = JournalRetention()
        retention.tailRecords = 60
        retention.stepRows = 17
        return retention
    }

    @Test(arguments: UInt64(1)...8)
    func `reads equal the model after any commit and after a crash there`(
        _ seed: UInt64
    ) async throws {
        let rig = try JournalRig(Self.busy)
        var model = JournalModel()
        var maker = BatchMaker(seed: seed, sessions: 12)
        for round in 0..<120 {
            let batch = maker.batch(model, records: 1...20)
            #expect(await rig.commit(batch) == nil)
            model.apply(batch)
            if round % 10 == 0 { try await expectModel(model, rig) }
            if round % 30 == 7 {
                let crashed = try rig.crashed(Self.busy)
                try await expectModel(model, crashed)
                let more = maker.batch(model, records: 30...30)
                var ahead = model
                ahead.apply(more)
                #expect(await crashed.commit(more) == nil)
                try await expectModel(ahead, crashed)
            }
        }
        #expect(try rig.count("SELECT count(*) FROM records") > 0, "nothing was moved")
        #expect(try JournalCheck(rig.path).run().problems == [])
        try await rig.reopen(Self.busy)
        try await expectModel(model, rig)
    }

    @Test func `a page of the history may end in the tail or in the main table`() async throws {
        var retention = JournalRetention()
        retention.tailRecords = 50
        retention.stepRows = 8
        let rig = try JournalRig(retention)
        #expect(await rig.commit([.created("s")]) == nil)
        for first: UInt64 in stride(from: 1, to: 101, by: 10) {
            let records = (first..<(first + 10)).map { HistoryEntry.mutation("s", $0) }
            #expect(await rig.commit(records) == nil)
        }
        #expect(try rig.count("SELECT count(*) FROM records") > 0)
        let all = try await rig.records("s")
        #expect(all.map(\.number) == Array(1...100))
        for start: UInt64 in 0..<100 {
            let some = try await rig.records(
                "s", after: HistoryPosition(start), through: start + 7, limitBytes: 400)
            #expect(some.first?.number == start + 1)
            #expect(some.reduce(0) { $0 + $1.storedBytes } <= 400)
            #expect(some == Array(all.dropFirst(Int(start)).prefix(some.count)))
            let one = try await rig.records("s", after: HistoryPosition(start), limitBytes: 0)
            #expect(one == [all[Int(start)]])
            let few = try await rig.records("s", after: HistoryPosition(start), limit: 3)
            #expect(few == Array(all.dropFirst(Int(start)).prefix(3)))
        }
    }

    @Test func `a batch of half a page skips the tail, after the rows that wait there`()
        async throws
    {
        let rig = try JournalRig()
        let large = "\"\(String(repeating: "x", count: 3_000))\""
        #expect(await rig.commit([.created("s"), .created("t")]) == nil)
        for number: UInt64 in 1...3 { #expect(await rig.commit([.mutation("s", number)]) == nil) }
        #expect(try rig.count("SELECT sum(count) FROM tail") == 5)
        #expect(await rig.commit([.mutation("s", 4, content: large), .mutation("t", 1)]) == nil)
        #expect(try rig.count("SELECT sum(count) FROM tail") == 2)
        #expect(try rig.count("SELECT sum(count) FROM records") == 5)
        #expect(await rig.commit([.mutation("s", 5)]) == nil)
        for rig in [rig, try rig.crashed()] {
            #expect(try await rig.records("s").map(\.number) == Array(1...5))
            #expect(await rig.commit([.mutation("s", 6)]) == nil)
            #expect(try await rig.load("s")?.end.number == 6)
            #expect(try JournalCheck(rig.path).run().problems == [])
        }
    }

    @Test func `when many rows wait in the tail, it waits too`() async throws {
        let rig = try JournalRig()
        let large = "\"\(String(repeating: "x", count: 3_000))\""
        #expect(await rig.commit([.created("s")]) == nil)
        for number: UInt64 in 1...16 { #expect(await rig.commit([.mutation("s", number)]) == nil) }
        #expect(await rig.commit([.mutation("s", 17, content: large)]) == nil)
        #expect(try rig.count("SELECT sum(count) FROM tail") == 18)
        #expect(try await rig.records("s").map(\.number) == Array(1...17))
    }

    @Test func `the tail stays short during continuous commits`() async throws {
        var retention = JournalRetention()
        retention.tailRecords = 1_000
        let rig = try JournalRig(retention)
        var records = (0..<100).map { HistoryEntry.created("s\($0)") }
        #expect(await rig.commit(records) == nil)
        var longest = 0
        for number: UInt64 in 1..<120 {
            records = (0..<100).map { HistoryEntry.mutation("s\($0)", number) }
            #expect(await rig.commit(records) == nil)
            longest = max(longest, try rig.count("SELECT sum(count) FROM tail"))
        }
        #expect(longest < 3_000)
        #expect(longest >= 1_000)
    }

    private func expectModel(_ model: JournalModel, _ rig: JournalRig) async throws {
        for (session, life) in model.lives {
            let saved = try #require(try await rig.load(session))
            #expect(saved.key.generation == life.generation)
            #expect(saved.isDeleted == life.isDeleted)
            guard !life.isDeleted else { continue }
            #expect(saved.end.number == life.number)
            #expect(saved.end.version == life.version)
            #expect(saved.end.notes == life.trailingNotes)
            #expect(saved.snapshot?.number == life.snapshots.last?.number)
            let from = life.snapshots.last?.number ?? 0
            let mutations = life.records.filter { $0.kind == .mutation && $0.number > from }
            #expect(saved.mutations.map(\.number) == mutations.map(\.number))
            let read = try await rig.records(session, generation: life.generation)
            #expect(read == life.records.filter { $0.number > 0 })
        }
        let living = model.lives.filter { !$0.value.isDeleted }
        let page = try await rig.page()
        #expect(page.map(\.key.session) == living.keys.sorted())
        #expect(page.map(\.end.number) == living.sorted { $0.key < $1.key }.map(\.value.number))
        #expect(page.map(\.end.version) == living.sorted { $0.key < $1.key }.map(\.value.version))
    }
}
