import EngineSuite
import Foundation
import Testing

@testable import Storage

@Suite(
    "Case 151 — the work of loops is recorded when the process ends because of it",
    .timeLimit(.minutes(60)))
struct CrashRecordTests {
    private let rig: JournalRig
    private var file: String { rig.path + ".running" }
    private var isWritten: Bool { FileManager.default.fileExists(atPath: file) }

    init() throws { rig = try JournalRig() }

    @Test func `a loop that is busy with one task across two looks is recorded`() throws {
        let slots = (0..<3).map { _ in rig.journal.takeCrashSlot() }
        slots[0].name("quick", "alerts", owner: 1)
        slots[1].name("slow-session_1", "counter", owner: 7)
        slots[1].begin(.action, action: 42)
        rig.journal.lookForStuckLoops()
        #expect(!isWritten)
        slots[0].begin(.reading, action: 0)
        slots[0].end()
        rig.journal.lookForStuckLoops()
        #expect(try left() == [work("slow-session_1", "counter", 42, .action)])
        // It makes progress, so it is not reported.
        slots[1].end()
        slots[1].begin(.effect, action: 43)
        rig.journal.lookForStuckLoops()
        #expect(!isWritten)
    }

    @Test func `a clean end removes the file, and a start reads it once`() async throws {
        let slot = rig.journal.takeCrashSlot()
        slot.name("s", "alerts", owner: 1)
        slot.begin(.rebuilding, action: 0)
        rig.journal.lookForStuckLoops()
        rig.journal.lookForStuckLoops()
        let bytes = try contents()
        await rig.journal.close()
        #expect(!isWritten)
        let (again, path) = try reopened(with: bytes)
        #expect(again.journal.interrupted == [work("s", "alerts", 0, .rebuilding)])
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `damaged entries are left out and never prevent the start`() throws {
        let slots = (1...2).map { index in
            let slot = rig.journal.takeCrashSlot()
            slot.name("s\(index)", "alerts", owner: UInt64(index))
            slot.begin(.action, action: 9)
            return slot
        }
        rig.journal.lookForStuckLoops()
        rig.journal.lookForStuckLoops()
        let whole = try contents()
        let known = [work("s1", "alerts", 9, .action), work("s2", "alerts", 9, .action)]
        for place in stride(from: 0, to: 256, by: 5) {
            var bytes = whole
            bytes[place] = 0xFF
            let found = try reopened(with: bytes).rig.journal.interrupted
            #expect(found.last == known[1])
            #expect(found.count <= 2)
        }
        for count in [0, 1, 255, 256, 300] {
            let found = try reopened(with: Array(whole.prefix(count))).rig.journal.interrupted
            #expect(found == (count < 256 ? [] : [known[0]]))
        }
        withExtendedLifetime(slots) {}
    }

    // A process that is killed while the file is renewed would leave an empty one.
    @Test func `each look replaces the file, and never writes into it`() throws {
        let slot = rig.journal.takeCrashSlot()
        slot.name("s", "alerts", owner: 1)
        slot.begin(.action, action: 3)
        rig.journal.lookForStuckLoops()
        rig.journal.lookForStuckLoops()
        let first = try fileNumber()
        rig.journal.lookForStuckLoops()
        #expect(try fileNumber() != first)
        #expect(try left() == [work("s", "alerts", 3, .action)])
        #expect(!FileManager.default.fileExists(atPath: file + ".new"))
    }

    @Test func `what an end in the middle of a look leaves is removed by the next start`() throws {
        let directory = JournalRig.makeDirectory()
        let fresh = directory + "/journal.sqlite.running.new"
        try Data([1]).write(to: URL(filePath: fresh))
        let rig = try JournalRig(in: directory)
        #expect(rig.journal.interrupted == [])
        #expect(!FileManager.default.fileExists(atPath: fresh))
    }

    @Test func `the longest possible names are complete`() throws {
        let slot = rig.journal.takeCrashSlot()
        let session = String(repeating: "s", count: 128)
        let reactor = String(repeating: "r", count: 64)
        slot.name(session, reactor, owner: 1)
        slot.begin(.effect, action: HistoryPosition.limit - 1)
        rig.journal.lookForStuckLoops()
        rig.journal.lookForStuckLoops()
        #expect(try left() == [work(session, reactor, HistoryPosition.limit - 1, .effect)])
    }

    @Test func `actions with running effects are named, those begun most often first`()
        async throws
    {
        var batch = Batch(records: HistoryEntry.life("s", 1) + HistoryEntry.life("t", 1))
        batch.started = [
            RunningAction(session: "s", generation: "g1", action: 1, content: [0x31]),
            RunningAction(session: "t", generation: "g1", action: 1, content: [0x31], begun: 2),
        ]
        #expect(await rig.commit(batch) == nil)
        #expect(
            try rig.crashed().journal.interrupted == [
                InterruptedWork(
                    session: "t", reactor: "alerts", action: 1, trace: .running(begun: 2)),
                InterruptedWork(
                    session: "s", reactor: "alerts", action: 1, trace: .running(begun: 1)),
            ])
    }

    private func work(
        _ session: String, _ reactor: String, _ action: UInt64, _ work: CrashSlot.Work
    ) -> InterruptedWork {
        InterruptedWork(session: session, reactor: reactor, action: action, trace: .loop(work))
    }

    private func contents() throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: file)))
    }

    private func fileNumber() throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int
    }

    private func left() throws -> [InterruptedWork] {
        try reopened(with: contents()).rig.journal.interrupted
    }

    /// A journal that is started on these left-over bytes.
    private func reopened(with bytes: [UInt8]) throws -> (rig: JournalRig, path: String) {
        let directory = JournalRig.makeDirectory()
        let path = directory + "/journal.sqlite.running"
        try Data(bytes).write(to: URL(filePath: path))
        return (try JournalRig(in: directory), path)
    }
}
