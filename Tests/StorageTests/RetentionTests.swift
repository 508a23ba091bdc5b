import EngineSuite
import Testing

@testable import Storage

@Suite(
    "Retention: kept records suffice for a rebuild; the rest is removed in small steps",
    .timeLimit(.minutes(60)))
struct RetentionTests {
    private static func keeping(_ records: Int) -> JournalRetention {
        var retention = JournalRetention(records: records, age: 1_000_000)
        retention.tailRecords = 20
        return retention
    }

    @Test func `records are trimmed by count, up to a snapshot`() async throws {
        let rig = try JournalRig(Self.keeping(100))
        #expect(await rig.commit([.created("s")]) == nil)
        try await rig.grow("s", 1...400, snapshotEvery: 30)
        await rig.journal.trimNow()
        let saved = try #require(try await rig.load("s"))
        // 400 - 100 = 300 is a snapshot's number: no record up to it has to stay.
        #expect(saved.keptAfter == 300)
        #expect(saved.keptVersion == 300)
        #expect(try await rig.records("s").map(\.number) == Array(301...400))
        #expect(try rig.count("SELECT count(*) FROM records WHERE number <= 300") == 0)
        #expect(try rig.count("SELECT min(number) FROM snapshots") == 300)
        #expect(try rig.count("SELECT count(*) FROM snapshots") == 4)
        #expect(saved.snapshot?.number == 390)
        #expect(saved.mutations.map(\.number) == Array(391...400))
        #expect(try await rig.snapshot("s", at: 300)?.number == 300)
        #expect(try await rig.snapshot("s", at: 359)?.number == 330)
    }

    @Test(arguments: [false, true])
    func `case 153: bytes at the limit stay; one byte more trims the oldest`(
        _ isPast: Bool
    ) async throws {
        // Committed one by one, so that the surplus is noticed when the last one comes.
        let records = (UInt64(1)...40).map { HistoryEntry.mutation("s", $0, content: Self.long) }
        let snapshots = [Snapshot.of("s", 10), .of("s", 20), .of("s", 30)]
        let total =
            Batch(records: [.created("s")]).bytes
            + records.reduce(0) { $0 + Batch(records: [$1]).bytes }
            + snapshots.reduce(0) { $0 + $1.state.count }
        let limit = try #require((1...total).first { $0 + $0 / 8 >= total })
        let retention = JournalRetention(
            records: 1_000_000, bytes: isPast ? limit - 1 : limit, age: 1_000_000)
        let rig = try JournalRig(retention)
        #expect(await rig.commit([.created("s")]) == nil)
        for record in records {
            var batch = Batch(records: [record])
            batch.snapshots = snapshots.filter { $0.number == record.number }
            #expect(await rig.commit(batch) == nil)
            // Its knowledge of the session is read from the file again.
            if record.number == 25 { try await rig.reopen(retention) }
        }
        await rig.journal.trimNow()
        #expect(try await rig.load("s")?.keptAfter == (isPast ? 10 : 0))
        #expect(try await rig.load("s")?.end.number == 40)
        #expect(try JournalCheck(rig.path).run().problems == [])
    }

    @Test func `case 153: a session that is written without end is bounded in bytes`() async throws
    {
        let retention = JournalRetention(records: 1_000_000, bytes: 100_000, age: 1_000_000)
        let rig = try JournalRig(retention)
        #expect(await rig.commit([.created("s")]) == nil)
        for first in stride(from: UInt64(1), to: 1_000, by: 10) {
            var batch = Batch(
                records: (first..<(first + 10)).map { .mutation("s", $0, content: Self.long) })
            batch.snapshots = [.of("s", first + 9)]
            #expect(await rig.commit(batch) == nil)
            if first % 300 == 1 { try await rig.reopen(retention) }
        }
        await rig.journal.trimNow()
        let bytes = try ["records", "tail"].reduce(0) {
            $0 + (try rig.count("SELECT coalesce(sum(length(lines)), 0) FROM \($1)"))
        }
        #expect(bytes > 50_000)
        #expect(bytes < 130_000)
        let saved = try #require(try await rig.load("s"))
        let after = HistoryPosition(saved.keptAfter)
        #expect(
            try await rig.records("s", after: after).map(\.number)
                == Array((saved.keptAfter + 1)...1_000))
        #expect(try await rig.snapshot("s", at: saved.keptAfter)?.number == saved.keptAfter)
    }

    @Test func `case 153: records after the newest snapshot stay, however large`() async throws {
        let rig = try JournalRig(
            JournalRetention(records: 1_000_000, bytes: 10_000, age: 1_000_000))
        var batch = Batch(records: HistoryEntry.life("s", 20))
        batch.snapshots = [.of("s", 20)]
        #expect(await rig.commit(batch) == nil)
        for number: UInt64 in 21...100 {
            #expect(await rig.commit([.mutation("s", number, content: Self.long)]) == nil)
        }
        await rig.journal.trimNow()
        let saved = try #require(try await rig.load("s"))
        #expect(saved.keptAfter == 20)
        #expect(saved.mutations.map(\.number) == Array(21...100))
    }

    private static let long = "\"\(String(repeating: "x", count: 1_000))\""

    @Test func `a busy session is trimmed by its own commits`() async throws {
        let rig = try JournalRig(Self.keeping(1_000))
        #expect(await rig.commit([.created("s")]) == nil)
        try await rig.grow("s", 1...20_000, snapshotEvery: 100)
        let kept =
            try rig.count("SELECT sum(count) FROM records")
            + rig.count("SELECT sum(count) FROM tail")
        #expect(kept < 5_000)
        #expect(try #require(try await rig.load("s")).keptAfter > 15_000)
    }

    @Test func `without a snapshot nothing is trimmed`() async throws {
        let rig = try JournalRig(Self.keeping(100))
        #expect(await rig.commit([.created("s")]) == nil)
        try await rig.grow("s", 1...2_000, snapshotEvery: nil)
        await rig.journal.trimNow()
        #expect(try await rig.load("s")?.keptAfter == 0)
        #expect(try await rig.records("s").count == 2_000)
    }

    @Test func `records are trimmed by age, up to a snapshot of that age`() async throws {
        let rig = try JournalRig(Self.keeping(100))
        #expect(await rig.commit(HistoryEntry.life("s", 30) + [.created("t")]) == nil)
        var batch = Batch()
        batch.snapshots = [.of("s", 20, time: rig.clock.now)]
        batch.expect("s", 30)
        #expect(await rig.commit(batch) == nil)
        await rig.journal.trimNow()
        #expect(try await rig.load("s")?.keptAfter == 0)
        rig.clock.advance(by: 1_000_001)
        await rig.journal.trimNow()
        let saved = try #require(try await rig.load("s"))
        #expect(saved.keptAfter == 20)
        #expect(saved.snapshot?.number == 20)
        #expect(try await rig.records("s").map(\.number) == Array(21...30))
    }

    @Test func `a session whose newest record was trimmed continues where it stood`() async throws {
        let rig = try JournalRig(Self.keeping(100))
        var batch = Batch(records: HistoryEntry.life("s", 30))
        batch.records.append(.noteEntry("s", before: 31, 1, version: 30))
        batch.snapshots = [.of("s", 30, time: rig.clock.now)]
        #expect(await rig.commit(batch) == nil)
        rig.clock.advance(by: 1_000_001)
        await rig.journal.trimNow()
        try await rig.reopen(Self.keeping(100))
        let saved = try #require(try await rig.load("s"))
        #expect(saved.keptAfter == 30)
        #expect(saved.end.number == 30)
        #expect(saved.end.version == 30)
        #expect(saved.end.notes == 1)
        #expect(saved.lastAction == 30)
        #expect(
            await rig.commit([.noteEntry("s", before: 31, 2, version: 30), .mutation("s", 31)])
                == nil)
    }

    @Test func `a deleted session leaves a tombstone and nothing else`() async throws {
        let rig = try JournalRig(Self.keeping(100))
        var batch = Batch(records: HistoryEntry.life("s", 60) + HistoryEntry.life("t", 5))
        batch.snapshots = [.of("s", 20), .of("t", 2)]
        batch.answers = [.of("s", "k")]
        batch.started = [RunningAction(session: "s", generation: "g1", action: 1, content: [])]
        let timer = SessionTimer(name: "t", number: 1, due: 7, content: Array("{}".utf8))
        batch.timers = [TimerChange(of: .of("s"), timer.name, timer)]
        batch.tags = [.of("s", 1, ["x": "1"])]
        #expect(await rig.commit(batch) == nil)
        #expect(await rig.commit([.deleted("s", 61)]) == nil)
        await rig.journal.trimNow()
        for table in ["records", "snapshots", "answers", "running", "timers", "tags", "tail"] {
            let rest = try rig.count("SELECT count(*) FROM \(table) WHERE session = 1")
            #expect(rest == 0, "\(table)")
        }
        #expect(try rig.count("SELECT count(*) FROM sessions") == 1)
        let saved = try #require(try await rig.load("s"))
        #expect(saved.isDeleted)
        #expect(saved.key == .of("s"))
        #expect(saved.reactor == "alerts")
        #expect(try await rig.page().map(\.key.session) == ["t"])
        #expect(try await rig.records("t").count == 5)
    }

    @Test func `many deleted sessions are removed in bounded steps`() async throws {
        var retention = Self.keeping(100)
        retention.stepRows = 10
        let rig = try JournalRig(retention)
        for index in 0..<200 {
            #expect(
                await rig.commit(HistoryEntry.life("s\(index)", 3) + [.deleted("s\(index)", 4)])
                    == nil)
        }
        await rig.journal.trimNow()
        #expect(try rig.count("SELECT count(*) FROM sessions") == 0)
        #expect(try rig.count("SELECT count(*) FROM records") == 0)
        #expect(try rig.count("SELECT count(*) FROM tombstones") == 200)
    }

    @Test(arguments: [false, true])
    func `large rows of a session are removed one in a step`(_ isDeleted: Bool) throws {
        let path = JournalRig.makeDirectory() + "/journal.sqlite"
        var retention = JournalRetention(records: 5)
        retention.tailRecords = 1
        let writer = JournalWriter(path: path, retention: retention, now: { 1_000_000 })
        try writer.open()
        defer { writer.close() }
        let text = Array("\"\(String(repeating: "x", count: 1_100_000))\"".utf8)
        #expect(try writer.write([Batch(records: [.created("s")])]).get() == [[:]])
        for number: UInt64 in 1...20 {
            var batch = Batch(records: [
                .mutation(
                    "s", number, content: number <= 6 ? String(decoding: text, as: UTF8.self) : "1")
            ])
            if number <= 6 || number == 12 {
                batch.snapshots = [.of("s", number)]
                batch.snapshots[0].state = text
            }
            #expect(try writer.write([batch]).get() == [[:]])
        }
        if isDeleted {
            #expect(try writer.write([Batch(records: [.deleted("s", 21)])]).get() == [[:]])
        }
        let file = try JournalFile(path)
        func kept() throws -> Int64 {
            try ["length(lines)) FROM records", "length(state)) FROM snapshots"].reduce(0) {
                $0 + (try file.read { [query = $1] in try $0.integer("SELECT sum(\(query)") } ?? 0)
            }
        }
        var before = try kept()
        #expect(before > 8_000_000)
        for _ in 1...2 {
            writer.maintenance.isLookDue = true
            var isMore = true
            while isMore {
                isMore = try writer.keepHouse().get()
                let present = try kept()
                #expect(before - present < 1_500_000)
                before = present
            }
        }
        // The snapshot up to which the session was trimmed stays.
        #expect(before < (isDeleted ? 1 : 1_200_000))
    }

    @Test(arguments: ["answers", "running", "timers"])
    func `large rows besides records are removed in bounded steps`(_ table: String) throws {
        let path = JournalRig.makeDirectory() + "/journal.sqlite"
        let writer = JournalWriter(
            path: path, retention: JournalRetention(), now: { 1_000_000 })
        try writer.open()
        defer { writer.close() }
        let text = Array("\"\(String(repeating: "x", count: 500_000))\"".utf8)
        var batch = Batch(records: [.created("s")])
        for number: UInt64 in 1...12 {
            if table == "answers" {
                batch.answers.append(.of("s", "k\(number)"))
                batch.answers[batch.answers.count - 1].body = text
            } else if table == "timers" {
                let name = ExactText("t\(number)")
                let timer = SessionTimer(name: name, number: 1, due: 7, content: text)
                batch.timers.append(TimerChange(of: .of("s"), name, timer))
            } else {
                batch.started.append(
                    RunningAction(
                        session: "s", generation: "g1", action: number, content: text))
            }
        }
        #expect(try writer.write([batch]).get() == [[:]])
        #expect(try writer.write([Batch(records: [.deleted("s", 1)])]).get() == [[:]])
        let file = try JournalFile(path)
        func kept() throws -> Int64 {
            try file.read { try $0.integer("SELECT count(*) FROM \(table)") } ?? -1
        }
        var before = try kept()
        #expect(before == 12)
        for _ in 1...3 {
            writer.maintenance.isLookDue = true
            var isMore = true
            while isMore {
                isMore = try writer.keepHouse().get()
                let present = try kept()
                #expect(before - present <= 3)
                before = present
            }
        }
        #expect(before == 0)
    }

    @Test func `tombstones expire by age and by count, the oldest first`() async throws {
        var retention = Self.keeping(100)
        retention.tombstones = 10
        let rig = try JournalRig(retention)
        for index in 0..<15 {
            #expect(
                await rig.commit([
                    .created("s\(index)"), .deleted("s\(index)", 1, time: rig.clock.now),
                ]) == nil)
        }
        await rig.journal.trimNow()
        #expect(try await rig.load("s4") == nil)
        #expect(try await rig.load("s5")?.isDeleted == true)
        rig.clock.advance(by: 1_000_001)
        #expect(
            await rig.commit([.created("new"), .deleted("new", 1, time: rig.clock.now)]) == nil)
        await rig.journal.trimNow()
        #expect(try await rig.load("s14") == nil)
        #expect(try await rig.load("new")?.isDeleted == true)
        #expect(await rig.commit([.created("s14")]) == nil)
    }

    @Test func `stored replies are kept for a day, then removed`() async throws {
        let rig = try JournalRig(Self.keeping(100))
        var batch = Batch(records: HistoryEntry.life("s", 1))
        batch.answers = [.of("s", "old"), .of("s", "young", time: rig.clock.now + 80_000_000)]
        #expect(await rig.commit(batch) == nil)
        rig.clock.advance(by: 86_400_000)
        await rig.journal.trimNow()
        #expect(try await rig.answer("s", key: "old") != nil)
        rig.clock.advance(by: 5_000_000)
        await rig.journal.trimNow()
        #expect(try await rig.answer("s", key: "old") == nil)
        #expect(try await rig.answer("s", key: "young") != nil)
    }

    @Test func `rows being trimmed are not shown, even before the last one is removed`()
        async throws
    {
        var retention = Self.keeping(100)
        retention.stepRows = 16
        let rig = try JournalRig(retention)
        #expect(await rig.commit([.created("s")]) == nil)
        for first in stride(from: 1 as UInt64, to: 1_500, by: 40) {
            let numbers = first..<first + 40
            let batches = numbers.map { number in
                var batch = Batch(records: [.mutation("s", number)])
                if number % 50 == 0 { batch.snapshots = [.of("s", number)] }
                return batch
            }
            #expect(await rig.commit(inTurn: batches) == nil)
            let saved = try #require(try await rig.load("s"))
            let shown = try await rig.records("s").map(\.number)
            #expect(shown == Array(saved.keptAfter + 1..<numbers.upperBound))
            #expect(saved.snapshot.map(\.number) ?? 0 >= saved.keptAfter)
        }
        #expect(try #require(try await rig.load("s")).keptAfter > 1_000)
    }
}

extension JournalRig {
    /// Commits mutations, ten at a time.
    func grow(
        _ session: String, _ numbers: ClosedRange<UInt64>, snapshotEvery: UInt64?
    ) async throws {
        let firsts = stride(from: numbers.lowerBound, through: numbers.upperBound, by: 10)
        let batches = firsts.map { first in
            let some = first...min(first + 9, numbers.upperBound)
            var batch = Batch(records: some.map { .mutation(session, $0) })
            batch.snapshots = some.filter { $0 % (snapshotEvery ?? .max) == 0 }.map {
                .of(session, $0, time: clock.now)
            }
            return batch
        }
        #expect(await commit(inTurn: batches) == nil)
    }
}
