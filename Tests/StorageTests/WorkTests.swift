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
