import EngineSuite
import Synchronization
import Testing

@testable import Storage

@Suite("A part of a batch is committed whole or not at all, and in order", .timeLimit(.minutes(60)))
struct FileJournalTests {
    @Test func `committed records are read back unchanged, after a restart too`() async throws {
        let rig = try JournalRig()
        var batch = Batch(records: HistoryEntry.life("s", 2))
        batch.records[2].traceparent = "00-aa-bb-01"
        batch.snapshots = [.of("s", 1)]
        batch.answers = [.of("s", "k")]
        batch.started = [
            RunningAction(
                session: "s", generation: "g1", action: 2, content: Array("{}".utf8), begun: 2)
        ]
        #expect(await rig.commit(batch) == nil)
        for _ in 0..<2 {
            let saved = try #require(try await rig.load("s"))
            #expect(saved.key == .of("s"))
            #expect(saved.reactor == "alerts")
            #expect(saved.end.number == 2)
            #expect(saved.end.version == 2)
            #expect(saved.snapshot == .of("s", 1))
            #expect(saved.mutations.map(\.number) == [2])
            #expect(saved.lastAction == 2)
            #expect(saved.running == batch.started)
            #expect(saved.hasStoredAnswers)
            #expect(try await rig.records("s") == Array(batch.records.dropFirst()))
            #expect(try await rig.answer("s", key: "k") == .of("s", "k"))
            #expect(try await rig.answer("s", key: "other") == nil)
            try await rig.reopen()
        }
    }

    @Test func `a gap is refused and changes nothing`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 2)) == nil)
        let gap = await rig.commit([.mutation("s", 3), .mutation("s", 5)])
        #expect(gap?.reason == .unavailable)
        #expect(gap?.detail.contains("ends at g1.3") == true)
        #expect(try await rig.load("s")?.end.number == 2)
        #expect(await rig.commit([.mutation("s", 3)]) == nil)
    }

    @Test func `a batch that does not continue the file is refused`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 2)) == nil)
        let wrong: [[HistoryEntry]] = [
            [.mutation("s", 2)], [.mutation("s", 3, generation: "g2")], [.created("s", "g2")],
            [.mutation("t", 1)], [.noteEntry("s", before: 3, 2, version: 2)],
            [.noteEntry("s", before: 2, 1, version: 2)], [.mutation("s", 3), .mutation("s", 3)],
        ]
        for records in wrong {
            #expect(await rig.commit(records) != nil, "\(records)")
        }
        #expect(try await rig.load("t") == nil)
        #expect(
            await rig.commit([.noteEntry("s", before: 3, 1, version: 2), .mutation("s", 3)]) == nil)
    }

    @Test func `a snapshot of records that are not in the file is refused`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 2)) == nil)
        var ahead = Batch()
        ahead.snapshots = [.of("s", 3)]
        ahead.expect("s", 3)
        #expect(await rig.commit(ahead) != nil)
        ahead.expected = []
        ahead.records = [.mutation("s", 3)]
        #expect(await rig.commit(ahead) == nil)
        #expect(try await rig.load("s")?.snapshot?.number == 3)
    }

    @Test func `a stored reply for records that are not in the file is refused`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 2)) == nil)
        var ahead = Batch()
        ahead.answers = [.of("s", "k")]
        ahead.expect("s", 3)
        #expect(await rig.commit(ahead) != nil)
        #expect(try await rig.answer("s", key: "k") == nil)
        ahead.expected = []
        ahead.records = [.mutation("s", 3)]
        #expect(await rig.commit(ahead) == nil)
        #expect(try await rig.answer("s", key: "k") == .of("s", "k"))
    }

    @Test func `a session may be saved, deleted and created again in one batch`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 2)) == nil)
        var batch = Batch(records: [.deleted("s", 3), .created("s", "g2")])
        batch.records.append(.mutation("s", 1, generation: "g2"))
        batch.snapshots = [.of("s", 2)]
        batch.answers = [.of("s", "k")]
        #expect(await rig.commit(batch) == nil)
        let saved = try #require(try await rig.load("s"))
        #expect(saved.key == .of("s", "g2"))
        #expect(saved.end.number == 1)
        #expect(saved.snapshot == nil)
        #expect(!saved.hasStoredAnswers)
        #expect(try await rig.records("s", generation: "g2").map(\.number) == [1])
        #expect(try await rig.records("s").isEmpty)
    }

    @Test func `a refused batch does not fail the others of its group`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("a", 1) + HistoryEntry.life("b", 1)) == nil)
        let ends = try await rig.commitTogether([
            Batch(records: [.mutation("a", 2)]),
            Batch(records: [.mutation("b", 2), .mutation("b", 4)]),
            Batch(records: [.mutation("b", 3)]),
            Batch(records: [.mutation("b", 2, content: "{\"again\":1}")]),
            Batch(records: [.mutation("a", 3)]),
        ])
        #expect(ends.map { $0 == nil } == [true, false, false, true, true])
        #expect(try await rig.load("a")?.end.number == 3)
        #expect(try await rig.records("b").last?.content == Array("{\"again\":1}".utf8))
    }

    @Test func `a refused part does not fail the other parts of its batch`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("a", 1) + HistoryEntry.life("b", 1)) == nil)
        var batch = Batch(records: [
            .mutation("b", 2), .mutation("a", 2), .created("c"), .mutation("b", 4),
            .created("a", "g2"),
        ])
        batch.snapshots = [.of("b", 4), .of("a", 2)]
        batch.answers = [.of("b", "k"), .of("a", "k")]
        let verdict = await withCheckedContinuation { continuation in
            _ = rig.journal.commit(batch) { continuation.resume(returning: $0) }
        }
        #expect(
            verdict
                == .partial([.of("b"): .endsAt(HistoryPosition(2)), .of("a", "g2"): .exists]))
        for rig in [rig, try rig.crashed()] {
            #expect(try await rig.load("a")?.end.number == 2)
            #expect(try await rig.load("a")?.snapshot?.number == 2)
            #expect(try await rig.load("b")?.end.number == 1)
            #expect(try await rig.load("b")?.snapshot == nil)
            #expect(try await rig.load("c")?.end.number == 0)
            #expect(try await rig.answer("a", key: "k") != nil)
            #expect(try await rig.answer("b", key: "k") == nil)
            #expect(await rig.commit([.mutation("b", 2)]) == nil)
        }
    }

    @Test func `a part says which note it continues`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 2)) == nil)
        let note = HistoryPosition(3, part: 1)
        // The notes before it have failed.
        let late = Batch(records: [.mutation("s", 3)], after: [.of("s"): note])
        #expect(await rig.commit(late)?.detail.contains("ends at g1.2") == true)
        var settled = Batch()
        settled.settled = [SettledAction(session: "s", generation: "g1", action: 7)]
        settled.expect("s", 3, part: 1)
        #expect(await rig.commit(settled) != nil)
        #expect(await rig.commit([.noteEntry("s", before: 3, 1, version: 2)]) == nil)
        #expect(await rig.commit([.mutation("s", 3)]) != nil)
        #expect(await rig.commit(settled) == nil)
        #expect(await rig.commit(late) == nil)
    }

    @Test func `each batch ends once, in order of submission`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit([.created("s")]) == nil)
        let ends = try await rig.commitTogether(
            (1..<501).map { Batch(records: [.mutation("s", $0)]) })
        #expect(ends.allSatisfy { $0 == nil })
        #expect(try await rig.records("s").map(\.number) == Array(1..<501))
    }

    @Test func `a callback never comes from inside the call`() async throws {
        let rig = try JournalRig()
        for round in 0..<200 {
            let ended: JournalFailure? = await withCheckedContinuation { continuation in
                let isInside = Mutex(true)
                // The lock is held for the whole call: a callback inside it would deadlock, which
                // ends here with a trap.
                isInside.withLock { isInside in
                    _ = rig.journal.commit(Batch(records: [.created("s\(round)")])) { verdict in
                        continuation.resume(returning: verdict.failure)
                    }
                    isInside = false
                }
            }
            #expect(ended == nil)
        }
    }

    @Test func `an empty batch succeeds`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(Batch()) == nil)
    }

    @Test func `empty and odd values are kept`() async throws {
        let rig = try JournalRig()
        var batch = Batch(records: [.created("s"), .mutation("s", 1, content: "")])
        batch.records[1].events = [
            HistoryEntry.Event(name: "a", data: []),
            HistoryEntry.Event(name: "b", data: Array("\"é\\n\"".utf8)),
        ]
        batch.records[1].head.action = HistoryPosition.limit - 1
        batch.records[1].head.time = -5
        var answer = StoredAnswer.of("s", "é \"'")
        answer.bodyDigest = []
        answer.body = []
        batch.answers = [answer]
        #expect(await rig.commit(batch) == nil)
        #expect(try await rig.records("s") == [batch.records[1]])
        #expect(try await rig.answer("s", key: "é \"'") == answer)
    }

    @Test func `after close everything fails, and others may open the file`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit([.created("s")]) == nil)
        let closed = rig.journal
        await closed.close()
        let other = try FileJournal(path: rig.path)
        let failure: JournalFailure? = await withCheckedContinuation { continuation in
            _ = closed.commit(Batch(records: [.mutation("s", 1)])) {
                continuation.resume(returning: $0.failure)
            }
        }
        #expect(failure?.detail == "the journal is closed")
        await other.close()
    }

    @Test func `a batch submitted before close is in the file`() async throws {
        let rig = try JournalRig()
        let ended = Mutex<[JournalFailure?]>([])
        for number: UInt64 in 0..<100 {
            let record = number == 0 ? HistoryEntry.created("s") : .mutation("s", number)
            _ = rig.journal.commit(Batch(records: [record])) { verdict in
                ended.withLock { $0.append(verdict.failure) }
            }
        }
        await rig.journal.close()
        #expect(ended.withLock { $0 } == Array(repeating: nil, count: 100))
        try await rig.reopen()
        #expect(try await rig.load("s")?.end.number == 99)
    }
}

@Suite(
    "Running actions and stored replies are part of their session's commits",
    .timeLimit(.minutes(60)))
struct RunningActionTests {
    @Test func `a running action is stored from its starting commit to its settling one`()
        async throws
    {
        let rig = try JournalRig()
        var batch = Batch(records: HistoryEntry.life("s", 1))
        batch.started = [7, 9].map {
            RunningAction(session: "s", generation: "g1", action: $0, content: Array("{}".utf8))
        }
        #expect(await rig.commit(batch) == nil)
        #expect(try await rig.load("s")?.lastAction == 9)
        var end = Batch()
        end.settled = [SettledAction(session: "s", generation: "g1", action: 7)]
        end.expect("s", 1)
        #expect(await rig.commit(end) == nil)
        #expect(try await rig.load("s")?.running.map(\.action) == [9])
    }

    @Test func `running actions of another generation are refused`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 1)) == nil)
        var batch = Batch()
        var answer = StoredAnswer.of("s", "k")
        answer.generation = "g0"
        batch.answers = [answer]
        batch.expect("s", 1, generation: "g0")
        #expect(await rig.commit(batch) != nil)
    }

    @Test func `a batch that deletes a session removes its other rows too`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 1)) == nil)
        var batch = Batch(records: [.deleted("s", 2)])
        batch.answers = [.of("s", "k")]
        batch.settled = [SettledAction(session: "s", generation: "g1", action: 1)]
        #expect(await rig.commit(batch) == nil)
        #expect(try await rig.load("s")?.isDeleted == true)
    }
}

extension JournalRig {
    /// Submits all at once, so that they share groups; returns their results, which must come in
    /// order.
    func commitTogether(_ batches: [Batch]) async throws -> [JournalFailure?] {
        let journal = journal
        return await withCheckedContinuation { continuation in
            let ends = Mutex<[(Int, JournalFailure?)]>([])
            for (index, batch) in batches.enumerated() {
                _ = journal.commit(batch) { verdict in
                    let all = ends.withLock { ends in
                        ends.append((index, verdict.failure))
                        return ends
                    }
                    guard all.count == batches.count else { return }
                    #expect(all.map(\.0) == Array(batches.indices))
                    continuation.resume(returning: all.map(\.1))
                }
            }
        }
    }
}
