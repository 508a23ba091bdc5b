import EngineSuite
import Foundation
import Testing

@testable import Storage

@Suite("A file of an earlier version is upgraded and loses nothing", .timeLimit(.minutes(60)))
struct UpgradeTests {
    /// The statements that undo the additions of each version.
    private static let additions: [(version: Int, undo: String)] = [
        (
            7,
            """
            DROP INDEX timers_by_due; DROP INDEX timers_expiring;
            CREATE INDEX timers_by_due ON timers(due, session);
            ALTER TABLE timers DROP COLUMN begun;
            ALTER TABLE running DROP COLUMN attempt; ALTER TABLE running DROP COLUMN due;
            ALTER TABLE running DROP COLUMN step; DROP TABLE tags
            """
        ),
        (6, "DROP TABLE timers; ALTER TABLE sessions DROP COLUMN input"),
        (5, "DROP INDEX snapshots_listening; ALTER TABLE snapshots DROP COLUMN listens"),
        (4, "ALTER TABLE running DROP COLUMN subject; ALTER TABLE sessions DROP COLUMN owner"),
        (3, "ALTER TABLE snapshots DROP COLUMN bytes"),
        (2, "ALTER TABLE running DROP COLUMN begun"),
    ]

    @Test(arguments: 1...6)
    func `from any version`(version: Int) async throws {
        let rig = try JournalRig()
        var batch = Batch(records: HistoryEntry.life("s", 3))
        batch.started = [
            RunningAction(session: "s", generation: "g1", action: 3, content: Array("{}".utf8))
        ]
        #expect(await rig.commit(batch) == nil)
        await rig.journal.close()
        for addition in Self.additions where addition.version > version {
            try rig.run(addition.undo)
        }
        try rig.run("PRAGMA user_version = \(version)")
        try await rig.reopen()
        #expect(try rig.pragma("user_version") == "7")
        let saved = try #require(try await rig.load("s"))
        #expect(saved.running == batch.started)
        #expect(saved.end.version == 3)
        #expect(try JournalCheck(rig.path).run().problems == [])
        try await continueAll(rig)
    }

    @Test func `a file that a server of version 5 has left behind`() async throws {
        let rig = try JournalRig()
        await rig.journal.close()
        try FileManager.default.removeItem(atPath: rig.path)
        try rig.run(FileOfVersion5.sql)
        try await rig.reopen()
        let noted = try #require(try await rig.load("noted"))
        #expect(noted.end.version == 3 && noted.mutations.count == 3 && noted.hasStoredAnswers)
        #expect(try await rig.load("running")?.running.map(\.action) == [1])
        #expect(try await rig.load("listening")?.snapshot?.listens == true)
        #expect(try await rig.load("gone")?.isDeleted == true)
        let living = try await rig.page().map(\.key.session)
        #expect(living == ["fresh", "listening", "noted", "running"])
        try await continueAll(rig)
    }

    /// Each session takes another record and a timer, which is found, kept over a restart and
    /// removed.
    private func continueAll(_ rig: JournalRig) async throws {
        let heads = try await rig.page()
        for (index, head) in heads.enumerated() {
            let saved = try #require(try await rig.load(head.key.session))
            var batch = next(after: saved)
            let timer = SessionTimer(
                name: "t", number: 1, due: Int64(index), content: Array("{}".utf8))
            batch.timers = [TimerChange(of: head.key, timer.name, timer)]
            #expect(await rig.commit(batch) == nil)
        }
        try await rig.reopen()
        #expect(try await timers(rig) == heads.map(\.key.session))
        for head in heads {
            let saved = try #require(try await rig.load(head.key.session))
            #expect(saved.timers.map(\.name) == ["t"])
            var batch = next(after: saved)
            batch.timers = [TimerChange(of: head.key, "t", nil)]
            #expect(await rig.commit(batch) == nil)
        }
        #expect(try await timers(rig) == [])
        #expect(try JournalCheck(rig.path).run().problems == [])
    }

    /// Another record of the session.
    private func next(after saved: SavedSession) -> Batch {
        let record = HistoryEntry.mutation(
            saved.key.session, saved.end.position.nextNumber, version: saved.end.version + 1,
            generation: saved.key.generation)
        return Batch(records: [record], after: [saved.key: saved.end.position])
    }

    private func timers(_ rig: JournalRig) async throws -> [String] {
        let finder = try #require(rig.journal.work)
        let found: FoundTimers = try await withCheckedThrowingContinuation { continuation in
            finder.findTimers(.actions, after: .start, before: .max) {
                continuation.resume(with: $0)
            }
        }
        return found.sessions.map(\.session.session)
    }
}
