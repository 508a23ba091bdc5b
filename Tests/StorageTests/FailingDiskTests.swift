import EngineSuite
import Foundation
import Synchronization
import Testing

@testable import Storage

@Suite(
    "A failing disk is an error, never a false success, and needs no restart",
    .timeLimit(.minutes(60)))
struct FailingDiskTests {
    private let rig: JournalRig

    init() async throws {
        rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 2)) == nil)
    }

    @Test func `a flush of the write-ahead log precedes the end of each commit`() async throws {
        #expect(try rig.pragma("journal_mode") == "wal")
        for number: UInt64 in 3...50 {
            let before = rig.disk.flushes
            let flushed = Mutex(0)
            let ended: JournalFailure? = await withCheckedContinuation { continuation in
                _ = rig.journal.commit(Batch(records: [.mutation("s", number)])) { [rig] verdict in
                    // Invariant: it is called after the flush, not at about the same time.
                    flushed.withLock { $0 = rig.disk.flushes }
                    continuation.resume(returning: verdict.failure)
                }
            }
            #expect(ended == nil)
            #expect(flushed.withLock { $0 } > before)
        }
    }

    @Test(arguments: [
        (FaultyDisk.Operation.write, FaultyDisk.Fault.full, JournalFailure.Reason.full),
        (.write, .write, .unavailable), (.flush, .flush, .unavailable),
    ])
    func `a failed write is an error, and the next commit succeeds once the disk recovers`(
        _ operation: FaultyDisk.Operation, _ fault: FaultyDisk.Fault,
        _ reason: JournalFailure.Reason
    ) async throws {
        rig.disk.fail(operation, with: fault)
        for attempt in 0..<3 {
            // Contract §5: the outcome of a commit that could not be flushed is unknown. Later
            // batches are not tried before the disk recovers.
            let isUnknown = operation == .flush && attempt == 0
            let told = await rig.commit([.mutation("s", 3)])?.reason
            #expect(told == (isUnknown ? .outcomeUnknown : reason))
            #expect(rig.journal.failure?.reason == reason)
            #expect(rig.journal.figures?.isFailing == true)
            // Reading continues and shows nothing of the failed commit.
            #expect(try await rig.load("s")?.end.number == 2)
            #expect(try await rig.records("s").count == 2)
        }
        let figures = try #require(rig.journal.figures)
        #expect(figures.failures == 3)
        #expect(figures.commits.count == 1)
        rig.disk.heal()
        #expect(await rig.commit([.mutation("s", 3, content: "{\"n\":\"again\"}")]) == nil)
        #expect(rig.journal.failure == nil)
        let records = try await rig.records("s")
        #expect(records.map(\.number) == [1, 2, 3])
        #expect(records.last?.content == Array("{\"n\":\"again\"}".utf8))
        let restarted = try rig.crashed()
        #expect(try await restarted.records("s") == records)
    }

    // SQLite reports an I/O error, and `errno` has changed by the end of the statement.
    @Test(arguments: [
        (EDQUOT, JournalFailure.Reason.full), (ENOSPC, .full), (EIO, .unavailable),
    ])
    func `a write beyond a quota is one to a full disk`(
        _ code: Int32, _ reason: JournalFailure.Reason
    ) async {
        rig.disk.fail(.write, with: .write)
        rig.disk.report(systemCode: code)
        #expect(await rig.commit([.mutation("s", 3)])?.reason == reason)
        rig.disk.heal()
        #expect(await rig.commit([.mutation("s", 3)]) == nil)
    }

    @Test func `the whole group fails, and batches decided upon it are refused`() async throws {
        rig.disk.fail(.flush, with: .flush)
        let ends = try await rig.commitTogether(
            (3...40).map { Batch(records: [.mutation("s", $0)]) })
        #expect(ends.allSatisfy { $0 != nil })
        rig.disk.heal()
        #expect(await rig.commit([.mutation("s", 41)]) != nil)
        #expect(await rig.commit([.mutation("s", 3)]) == nil)
    }

    @Test func `a full disk stays full until the rejected group fits`() async throws {
        rig.disk.fail(.write, with: .full)
        let long = String(repeating: "x", count: 50_000)
        #expect(await rig.commit([.mutation("s", 3, content: "\"\(long)\"")])?.reason == .full)
        rig.disk.heal()
        #expect(await rig.commit([.mutation("s", 3)]) == nil)
        #expect(rig.journal.failure?.reason == .full)
        await rig.journal.checkDisk()
        #expect(rig.journal.failure == nil)
    }

    @Test func `after a failed flush the outcome is unknown until the disk recovers`()
        async throws
    {
        rig.disk.fail(.flush, with: .flush)
        #expect(await rig.commit([.mutation("s", 3)])?.reason == .outcomeUnknown)
        // The reason that it is not 503: the process ends here, and the failed commit is there.
        let crashed = try rig.crashed()
        #expect(try await crashed.load("s")?.end.number == 3)
        #expect(try await rig.load("s")?.end.number == 2)
        #expect(await rig.commit([.mutation("s", 3)])?.reason == .unavailable)
        rig.disk.heal()
        await rig.journal.checkDisk()
        // A state that was read meanwhile stays valid, whatever follows.
        #expect(try await rig.load("s")?.end.number == 2)
        let settled = try rig.crashed()
        #expect(try await settled.load("s")?.end.number == 2)
    }

    @Test func `batches after a commit of unknown outcome were certainly not written`()
        async throws
    {
        rig.disk.stall()
        async let first = rig.commit([.mutation("s", 3)])
        while !rig.disk.isStalled { await Task.yield() }
        let ends = Mutex<[JournalFailure.Reason?]>([])
        for number: UInt64 in 4...6 {
            _ = rig.journal.commit(Batch(records: [.mutation("s", number)])) { verdict in
                ends.withLock { $0.append(verdict.failure?.reason) }
            }
        }
        rig.disk.fail(.flush, with: .flush)
        rig.disk.endStall()
        #expect(await first?.reason == .outcomeUnknown)
        #expect(await rig.commit([.mutation("s", 3)])?.reason == .unavailable)
        #expect(ends.withLock { $0 } == [.unavailable, .unavailable, .unavailable])
    }

    @Test func `the journal recovers without a commit`() async throws {
        rig.disk.fail(.flush, with: .flush)
        #expect(await rig.commit([.mutation("s", 3)]) != nil)
        await rig.journal.checkDisk()
        #expect(rig.journal.failure != nil)
        rig.disk.heal()
        await rig.journal.checkDisk()
        #expect(rig.journal.failure == nil)
    }

    @Test(arguments: 0..<40, [FaultyDisk.Fault.write, .full])
    func `wherever in a commit it fails, the file has all of it or nothing`(
        _ skip: Int, _ fault: FaultyDisk.Fault
    ) async throws {
        rig.disk.fail(.write, with: fault, after: skip)
        var acknowledged: UInt64 = 2
        var failure: JournalFailure?
        for number: UInt64 in 3...20 where failure == nil {
            let batch = Batch(records: [.mutation("s", number), .created("t\(number)")])
            failure = await rig.commit(batch)
            if failure == nil { acknowledged = number }
        }
        if failure?.reason != .outcomeUnknown {
            // 503 and 507 mean that nothing of it is there, even before the disk recovers.
            #expect(try await rig.crashed().load("s")?.end.number == acknowledged)
        }
        rig.disk.heal()
        let restarted = try rig.crashed()
        for some in [rig, restarted] {
            let saved = try #require(try await some.load("s"))
            #expect(saved.end.number == acknowledged)
            #expect(try await some.page().count == Int(acknowledged) - 1)
            #expect(await some.commit([.mutation("s", acknowledged + 1)]) == nil)
        }
    }

    @Test func `while the disk is broken, batches fail in the order in which they came`()
        async throws
    {
        rig.disk.fail(.flush, with: .flush)
        // Some come while the first of them detects that the disk is still broken.
        for _ in 0..<200 {
            let ends = try await rig.commitTogether(
                (0..<30).map { _ in Batch(records: [.mutation("s", 3)]) })
            #expect(ends.allSatisfy { $0 != nil })
        }
        rig.disk.heal()
        #expect(await rig.commit([.mutation("s", 3)]) == nil)
    }

    @Test func `a failed move or trim loses nothing`() async throws {
        var retention = JournalRetention(records: 100)
        retention.tailRecords = 30
        retention.stepRows = 8
        try await rig.reopen(retention)
        var number: UInt64 = 2
        for round in 0..<200 {
            if round % 3 == 0 { rig.disk.fail(.write, with: .write, after: round % 11) }
            var batch = Batch(records: (number + 1...number + 5).map { .mutation("s", $0) })
            batch.snapshots = [.of("s", number + 5)]
            if await rig.commit(batch) == nil { number += 5 }
            rig.disk.heal()
            let saved = try #require(try await rig.load("s"))
            #expect(saved.end.number == number)
            #expect(
                try await rig.records("s").map(\.number) == Array((saved.keptAfter + 1)...number))
        }
        #expect(number > 500)
        #expect(try #require(try await rig.load("s")).keptAfter > 300)
    }

    @Test func `a disk that hangs for ten seconds is reported until it responds`() async throws {
        rig.disk.stall()
        async let ended = rig.commit([.mutation("s", 3)])
        while !rig.disk.isStalled { await Task.yield() }
        rig.clock.advance(by: 9_999)
        #expect(rig.journal.failure == nil)
        rig.clock.advance(by: 1)
        #expect(rig.journal.failure?.reason == .unavailable)
        #expect(rig.journal.failure?.detail.contains("10 s") == true)
        rig.disk.heal()
        #expect(await ended == nil)
        // At the next one nothing is waiting.
        #expect(await rig.commit([.mutation("s", 4)]) == nil)
        // A commit ends inside one block of the journal's queue, which adds the next; the second
        // wait comes after that one, and by then the journal knows that nothing is waiting.
        await rig.journal.endCheckpoint()
        await rig.journal.endCheckpoint()
        rig.clock.advance(by: 60_000)
        #expect(rig.journal.failure == nil)
    }

    @Test func `a replaced file is not mistaken for the journal`() async throws {
        rig.disk.fail(.flush, with: .flush)
        #expect(await rig.commit([.mutation("s", 3)]) != nil)
        try rig.removeFiles()
        rig.disk.heal()
        let failure = await rig.commit([.mutation("s", 3)])
        #expect(failure?.detail.contains("removed or replaced") == true)
    }

    @Test(arguments: [(0, 150), (1, 150), (2, 150), (4, 150), (0, 1), (3, 1)])
    func `pages that a failed flush lost are checkpointed again`(
        _ skip: Int, _ goesOnFor: Int
    ) async throws {
        rig.disk.loseUnflushed(after: skip)
        let padding = String(repeating: "x", count: 200_000)
        var number: UInt64 = 2
        var since = 0
        // Either it closes at once, or the write-ahead log, which has all of it, restarts.
        while since < goesOnFor {
            let record = HistoryEntry.mutation(
                "s", number + 1, content: "\"\(number + 1)\(padding)\"")
            // Commits continue during a checkpoint: SQLite flushes one by itself that no commit
            // overtakes.
            if await rig.commit([record]) == nil { number += 1 }
            if rig.disk.hasLost { since += 1 }
            try #require(number < 3_000)
        }
        #expect(rig.journal.failure == nil)
        let crashed = try rig.crashed()
        try await rig.reopen()
        #expect(try JournalCheck(rig.path).run().problems == [])
        for some in [rig, crashed] {
            let saved = try #require(try await some.load("s"))
            #expect(saved.end.number == number)
            let records = try await some.records("s", after: HistoryPosition(saved.keptAfter))
            #expect(records.map(\.number) == Array((saved.keptAfter + 1)...number))
            #expect(
                records.dropFirst(2).allSatisfy {
                    $0.content.starts(with: Array("\"\($0.number)x".utf8))
                })
        }
    }
}
