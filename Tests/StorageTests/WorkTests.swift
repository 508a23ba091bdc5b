import EngineSuite
import Testing

@testable import Storage

@Suite("Sessions that act without a request are found in the file", .timeLimit(.minutes(60)))
struct WorkTests {
    private func page(_ rig: JournalRig, after place: Int64 = 0) async throws -> FoundWork {
        let finder = try #require(rig.journal.work)
        return try await withCheckedThrowingContinuation { continuation in
            finder.findWork(after: place) { continuation.resume(with: $0) }
        }
    }

    private func running(_ session: String) -> RunningAction {
        RunningAction(session: session, generation: "g1", action: 1, content: Array("{}".utf8))
    }

    private func listening(_ session: String, _ listens: Bool, at number: UInt64) -> Snapshot {
        var snapshot = Snapshot.of(session, number)
        snapshot.listens = listens
        return snapshot
    }

    @Test func `those with running effects, and those that listen by their newest snapshot`()
        async throws
    {
        let rig = try JournalRig()
        var batch = Batch()
        for id in ["a", "b", "c", "d", "e"] {
            batch.append(Batch(records: HistoryEntry.life(id, 2)))
        }
        batch.started = [running("b"), running("d")]
        batch.snapshots = [
            listening("c", true, at: 1), listening("e", true, at: 1), listening("e", false, at: 2),
        ]
        #expect(await rig.commit(batch) == nil)
        let version = Snapshot.of("c", 1).stateVersion
        let both = [
            WorkingSession(session: "b", reactor: "alerts", stateVersion: 0),
            WorkingSession(session: "c", reactor: "alerts", stateVersion: version),
        ]
        let found = try await page(rig)
        #expect(found.sessions.filter { $0.session != "d" } == both)
        #expect(found.sessions.count == 3 && found.next == nil)
        #expect(await rig.commit([.deleted("d", 3)]) == nil)
        #expect(try await page(rig).sessions == both)
        #expect(try await rig.load("c")?.snapshot?.listens == true)
        #expect(try await rig.load("e")?.snapshot?.listens == false)
        var settled = Batch()
        settled.settled = [SettledAction(session: "b", generation: "g1", action: 1)]
        settled.expected = [ExpectedEnd(.of("b"), at: HistoryPosition(2), lineage: 0)]
        #expect(await rig.commit(settled) == nil)
        #expect(try await page(rig).sessions == Array(both.dropFirst()))
    }

    private func timers(
        _ rig: JournalRig, _ kind: TimerKind = .actions, after place: TimerPosition = .start,
        before end: Int64
    ) async throws -> FoundTimers {
        let finder = try #require(rig.journal.work)
        return try await withCheckedThrowingContinuation { continuation in
            finder.findTimers(kind, after: place, before: end) { continuation.resume(with: $0) }
        }
    }

    private func change(_ session: String, _ name: String, due: Int64) -> TimerChange {
        let timer = SessionTimer(
            name: ExactText(name), number: 1, due: due, content: Array("{}".utf8))
        return TimerChange(of: .of(session), timer.name, timer)
    }

    @Test func `sessions with timers due before a time, the earliest first`() async throws {
        let rig = try JournalRig()
        var batch = Batch()
        for id in ["a", "b", "c"] { batch.append(Batch(records: [.created(id)])) }
        batch.snapshots = [.of("b", 0)]
        batch.timers = [
            change("a", "x", due: 30), change("a", "y", due: 10), change("a", "z", due: 10),
            change("b", "x", due: 20), change("c", "x", due: 15), change("b", "late", due: 40),
        ]
        #expect(await rig.commit(batch) == nil)
        #expect(await rig.commit([.deleted("c", 1)]) == nil)
        let found = try await timers(rig, before: 40)
        #expect(found.sessions.map(\.session.session) == ["a", "b", "a"])
        #expect(found.sessions.map(\.due) == [10, 20, 30])
        #expect(found.sessions.map(\.session.stateVersion) == [0, 3, 0])
        #expect(found.next == nil)
        let rest = try await timers(
            rig, after: TimerPosition(due: 10, row: 1), before: 31)
        #expect(rest.sessions.map(\.due) == [20, 30])
        let archive = try #require(rig.journal.archive)
        let all: [SessionTimer] = try await withCheckedThrowingContinuation { continuation in
            archive.timers(of: .of("b")) { continuation.resume(with: $0) }
        }
        #expect(all.map(\.name.text) == ["x", "late"])
    }

    @Test func `timers are found page by page`() async throws {
        let rig = try JournalRig()
        var batch = Batch()
        for number in 0..<(FoundTimers.limit + 5) {
            batch.append(Batch(records: [.created("s\(number)")]))
            batch.timers.append(change("s\(number)", "x", due: Int64(number % 7)))
        }
        #expect(await rig.commit(batch) == nil)
        let first = try await timers(rig, before: 100)
        #expect(first.sessions.count == FoundTimers.limit)
        let next = try #require(first.next)
        let second = try await timers(rig, after: next, before: 100)
        #expect(second.sessions.count == 5 && second.next == nil)
        let both = first.sessions + second.sessions
        #expect(Set(both.map(\.session.session)).count == FoundTimers.limit + 5)
        #expect(both.map(\.due) == both.map(\.due).sorted())
    }

    // MARK: Sessions that expire

    private func expiry(_ session: String, due: Int64) -> TimerChange {
        let timer = SessionTimer.expiry(at: due)
        return TimerChange(of: .of(session), timer.name, timer)
    }

    private func due(_ rig: JournalRig) async throws -> [String: Int64] {
        let found = try await timers(rig, .expiries, before: .max).sessions
        return Dictionary(uniqueKeysWithValues: found.map { ($0.session.session, $0.due) })
    }

    @Test func `their rows are no timers, only get later times, and go with the session`()
        async throws
    {
        let rig = try JournalRig()
        var batch = Batch(records: [.created("a")])
        batch.append(Batch(records: [.created("b")]))
        batch.timers = [expiry("a", due: 50), expiry("b", due: 60), change("a", "x", due: 55)]
        #expect(await rig.commit(batch) == nil)
        #expect(try await timers(rig, before: .max).sessions.map(\.due) == [55])
        #expect(try await due(rig) == ["a": 50, "b": 60])
        #expect(try await rig.load("a")?.timers.map(\.name.text) == ["x"])
        for (time, expected) in [(70, 70), (65, 70)] as [(Int64, Int64)] {
            var later = Batch()
            later.timers = [expiry("a", due: time)]
            later.expected = [ExpectedEnd(.of("a"), at: HistoryPosition(0), lineage: 0)]
            #expect(await rig.commit(later) == nil)
            #expect(try await due(rig)["a"] == expected)
        }
        #expect(await rig.commit([.deleted("a", 1)]) == nil)
        #expect(try await due(rig) == ["b": 60])
        await rig.journal.trimNow()
        #expect(try rig.count("SELECT count(*) FROM timers") == 1)
        #expect(try JournalCheck(rig.path).run().problems == [])
    }

    @Test func `a row is postponed without a commit, also when the disk has failed`() async throws {
        let rig = try JournalRig()
        var batch = Batch(records: [.created("a")])
        batch.timers = [expiry("a", due: 50)]
        #expect(await rig.commit(batch) == nil)
        let backlog = try #require(rig.journal.expiries)
        // Of a session without a row, and of one that never was.
        #expect(await rig.commit([.created("b")]) == nil)
        for id in ["a", "b", "c"] { backlog.postpone(.of(id), until: 1_000) }
        rig.disk.fail(.flush, with: .flush)
        await rig.journal.trimNow()
        rig.disk.heal()
        #expect(!backlog.isEmpty)
        await rig.journal.checkDisk()
        await rig.journal.trimNow()
        #expect(backlog.isEmpty)
        #expect(try await due(rig) == ["a": 1_000])
        // An earlier time changes nothing.
        backlog.postpone(.of("a"), until: 500)
        await rig.journal.trimNow()
        #expect(try await due(rig) == ["a": 1_000])
    }

    @Test func `what was postponed last is written before the file is closed`() async throws {
        let rig = try JournalRig()
        var batch = Batch(records: [.created("a")])
        batch.timers = [expiry("a", due: 50)]
        #expect(await rig.commit(batch) == nil)
        rig.journal.expiries?.postpone(.of("a"), until: 1_000)
        try await rig.reopen()
        #expect(try await due(rig) == ["a": 1_000])
    }

    @Test func `sessions of before get a row, a thousand at a time`() async throws {
        let rig = try JournalRig()
        var batch = Batch()
        for number in 0..<2_500 { batch.append(Batch(records: [.created("s\(number)")])) }
        batch.timers = [expiry("s7", due: 7)]
        #expect(await rig.commit(batch) == nil)
        #expect(await rig.commit([.deleted("s8", 1)]) == nil)
        let backlog = try #require(rig.journal.expiries)
        backlog.addMissing(["other": 5])
        await rig.journal.trimNow()
        #expect(try rig.count("SELECT count(*) FROM timers") == 1)
        backlog.addMissing(["alerts": 1_000])
        var steps = [0]
        while !backlog.isEmpty {
            await rig.journal.keepHouseOnce()
            steps.append(try rig.count("SELECT count(*) FROM timers"))
        }
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $1 - $0 <= ExpiryBacklog.step })
        let found = try await timers(rig, .expiries, before: 8).sessions
        #expect(found.map(\.session.session) == ["s7"])
        #expect(try rig.count("SELECT count(*) FROM timers") == 2_499)
    }

    @Test func `page by page`() async throws {
        let rig = try JournalRig()
        var batch = Batch()
        for number in 0..<(FoundWork.limit + 5) {
            batch.append(Batch(records: [.created("s\(number)")]))
            batch.started.append(running("s\(number)"))
        }
        #expect(await rig.commit(batch) == nil)
        let first = try await page(rig)
        #expect(first.sessions.count == FoundWork.limit)
        let second = try await page(rig, after: try #require(first.next))
        #expect(second.sessions.count == 5 && second.next == nil)
        #expect(
            Set((first.sessions + second.sessions).map(\.session)).count == FoundWork.limit + 5)
    }
}
