import EngineSuite
import Foundation
import Testing

@testable import Storage

@Suite("Files that no path leads to are not mistaken for the journal", .timeLimit(.minutes(60)))
struct MovedFileTests {
    private let rig: JournalRig

    init() async throws {
        rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 2)) == nil)
    }

    private func move(_ name: String, to other: String) throws {
        try FileManager.default.moveItem(atPath: name, toPath: other)
    }

    @Test func `a file that was moved fails commits until it is back; nothing is lost`()
        async throws
    {
        let elsewhere = rig.directory + "/elsewhere"
        // A reader has opened it before.
        #expect(try await rig.load("s")?.end.number == 2)
        try move(rig.path, to: elsewhere)
        for _ in 0..<3 {
            let failure = await rig.commit([.mutation("s", 3)])
            #expect(failure?.reason == .unavailable)
            #expect(failure?.detail.contains("removed or replaced") == true)
            #expect(rig.journal.failure == failure)
            // Reading continues and shows nothing of the failed commit.
            #expect(try await rig.load("s")?.end.number == 2)
        }
        try move(elsewhere, to: rig.path)
        await rig.journal.checkDisk()
        #expect(rig.journal.failure == nil)
        #expect(await rig.commit([.mutation("s", 3)]) == nil)
        #expect(try await rig.crashed().records("s").map(\.number) == [1, 2, 3])
    }

    @Test func `another journal at its path is left alone`() async throws {
        try rig.removeFiles()
        let other = try JournalRig()
        #expect(await other.commit(HistoryEntry.life("t", 1)) == nil)
        await other.journal.close()
        try FileManager.default.copyItem(atPath: other.path, toPath: rig.path)
        let before = try Data(contentsOf: URL(fileURLWithPath: rig.path))
        #expect(await rig.commit([.mutation("s", 3)]) != nil)
        await rig.journal.checkDisk()
        #expect(rig.journal.failure != nil)
        await rig.journal.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: rig.path)) == before)
    }

    @Test(arguments: [["-wal"], ["-shm"], ["-wal", "-shm"]])
    func `without its write-ahead log it continues, and a restart finds everything`(
        _ removed: [String]
    ) async throws {
        for round: UInt64 in 1...3 {
            for suffix in removed { try FileManager.default.removeItem(atPath: rig.path + suffix) }
            // Without the log the next commit notices it, without its index the next check.
            if !removed.contains("-wal") { await rig.journal.checkDisk() }
            for number in 2 * round + 1...2 * round + 2 {
                #expect(await rig.commit([.mutation("s", number)]) == nil)
                // Not only once the log is back: at each acknowledgement.
                #expect(try await committed("s") == Array(1...number))
            }
            #expect(FileManager.default.fileExists(atPath: rig.path + "-wal"))
            #expect(FileManager.default.fileExists(atPath: rig.path + "-shm"))
        }
        #expect(rig.journal.failure == nil)
        #expect(try await rig.records("s").map(\.number) == Array(1...8))
        try await rig.reopen()
        #expect(try JournalCheck(rig.path).run().problems == [])
        #expect(try await rig.records("s").map(\.number) == Array(1...8))
    }

    /// The numbers that a restart would find now.
    private func committed(_ session: String) async throws -> [UInt64] {
        try await rig.crashed().records(session).map(\.number)
    }

    @Test func `commits fail while another process has a removed log open`() async throws {
        var reader: ForeignReader? = try ForeignReader(rig.path)
        #expect(await rig.commit([.mutation("s", 3)]) == nil)
        try FileManager.default.removeItem(atPath: rig.path + "-wal")
        #expect(await rig.commit([.mutation("s", 4)])?.reason == .unavailable)
        #expect(try reader?.count("SELECT sum(count) FROM tail") == 3)
        reader = nil
        #expect(await rig.commit([.mutation("s", 4)]) == nil)
        #expect(try await committed("s") == [1, 2, 3, 4])
    }

    @Test func `a removed lock file is locked again, unless another process has locked it`()
        async throws
    {
        let lock = rig.path + ".lock"
        try FileManager.default.removeItem(atPath: lock)
        await rig.journal.checkDisk()
        #expect(rig.journal.failure == nil)
        #expect(throws: JournalFileFault.locked(by: getpid())) { try JournalLock(for: rig.path) }

        // Like a server of another version, which knows only this lock.
        try FileManager.default.removeItem(atPath: lock)
        #expect(throws: JournalFileFault.locked(by: nil)) { try JournalLock(for: rig.path) }
        try FileManager.default.removeItem(atPath: lock)
        let other = unsafe open(lock, O_RDWR | O_CREAT, 0o644)
        #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
        await rig.journal.checkDisk()
        #expect(await rig.commit([.mutation("s", 3)])?.detail.contains("in use") == true)
        // Not left to `close`: a child of another test, between fork and exec, still has it open.
        #expect(flock(other, LOCK_UN) == 0)
        close(other)
        #expect(await rig.commit([.mutation("s", 3)]) == nil)
        #expect(throws: JournalFileFault.locked(by: getpid())) { try JournalLock(for: rig.path) }

        // A closed journal has released the lock for good.
        await rig.journal.close()
        await rig.journal.checkDisk()
        _ = try JournalLock(for: rig.path)
    }
}
