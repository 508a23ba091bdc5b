import EngineSuite
import Foundation
import TestProcesses
import Testing

@testable import Storage

@Suite(
    "One process holds a journal's file; the next one gets it however the first ended",
    .timeLimit(.minutes(60)))
struct LockTests {
    @Test func `a second journal on the same file is refused and names the first's process`()
        async throws
    {
        let rig = try JournalRig()
        let fault = #expect(throws: JournalFileFault.self) { try FileJournal(path: rig.path) }
        #expect(fault == .locked(by: getpid()))
        #expect(fault?.sentence("x") == "x is in use by this process already")
        #expect(await rig.commit([.created("s")]) == nil)
    }

    @Test func `another path to the same file is refused`() async throws {
        let rig = try JournalRig()
        let link = rig.directory + "/link.sqlite"
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: rig.path)
        #expect(throws: JournalFileFault.self) { try FileJournal(path: link) }
    }

    // Case 152.
    @Test func `a hard link to the same file is refused, and the lock is kept`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 5)) == nil)
        let link = rig.directory + "/hard.sqlite"
        try FileManager.default.linkItem(atPath: rig.path, toPath: link)
        let watcher = unsafe open(rig.path, O_RDWR)
        #expect(try Self.isLocked(watcher))
        let fault = #expect(throws: JournalFileFault.self) { try FileJournal(path: link) }
        #expect(fault == .locked(by: nil))
        #expect(fault?.sentence("x") == "x is in use already, perhaps under another name")
        // Closing any descriptor of a file drops the process' POSIX locks on it, including
        // SQLite's.
        #expect(try Self.isLocked(watcher))
        #expect(await rig.commit([.mutation("s", 6)]) == nil)
        await rig.journal.close()
        let other = try FileJournal(path: link, looksEvery: nil)
        await other.close()
        close(watcher)
    }

    /// Whether any process has a POSIX lock on the file, including this one.
    private static func isLocked(_ descriptor: Int32) throws -> Bool {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        // F_OFD_GETLK: asks like a different open file, which does not count as this process.
        let code = unsafe fcntl(descriptor, 36, &lock)
        try #require(code == 0)
        return lock.l_type != F_UNLCK
    }

    @Test func `the process that holds the file is named, and killing it releases the file`()
        async throws
    {
        let directory = JournalRig.makeDirectory()
        let path = directory + "/journal.sqlite"
        let holder = try LockHolder(path + ".lock")
        let fault = #expect(throws: JournalFileFault.self) { try FileJournal(path: path) }
        #expect(fault == .locked(by: holder.pid))
        #expect(
            fault?.sentence("x")
                == "x is in use by another process (\(holder.pid))")
        kill(holder.pid, SIGKILL)
        TestProcess.wait(for: holder.pid)
        let journal = try FileJournal(path: path)
        await journal.close()
    }

    @Test func `a missing directory is reported`() {
        let path = JournalRig.makeDirectory() + "/none/journal.sqlite"
        let fault = #expect(throws: JournalFileFault.self) { try FileJournal(path: path) }
        #expect(fault?.sentence("x").contains("No such file or directory") == true)
    }

    /// A process that holds the lock like a server.
    private struct LockHolder {
        let pid: pid_t
        private let input = Pipe()

        init(_ lock: String) throws {
            let output = Pipe()
            // flock(1) is part of util-linux, which every Debian has. It waits for the end of its
            // input, which comes when this process ends, unless it is killed before.
            pid = try TestProcess.spawn(
                "/bin/sh",
                ["-c", "exec 9<>\"$0\" && flock 9 && echo $$ >&9 && echo held && read -r _", lock],
                input: input.fileHandleForReading.fileDescriptor,
                output: output.fileHandleForWriting.fileDescriptor)
            // It has the lock once it reports so.
            let said = output.fileHandleForReading.availableData
            #expect(said.starts(with: Array("held".utf8)))
        }
    }
}

@Suite("A file is used, upgraded, or refused and left alone", .timeLimit(.minutes(60)))
struct SchemaTests {
    @Test func `a new file names its application and format version`() async throws {
        let rig = try JournalRig()
        #expect(try rig.pragma("application_id") == "1382249586")
        #expect(try rig.pragma("user_version") == "7")
        #expect(try rig.pragma("journal_mode") == "wal")
    }

    @Test func `every commit is flushed, also after the file was opened again`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit([.created("s")]) == nil)
        try await expectFlushes(rig, from: 1)
        try await rig.reopen()
        try await expectFlushes(rig, from: 4)
        rig.disk.fail(.flush, with: .flush)
        #expect(await rig.commit([.mutation("s", 7)]) != nil)
        rig.disk.heal()
        try await expectFlushes(rig, from: 7)
    }

    /// Three commits: the first flush of a log may be for its head alone.
    private func expectFlushes(_ rig: JournalRig, from first: UInt64) async throws {
        for number in first..<first + 3 {
            let before = rig.disk.flushes
            #expect(await rig.commit([.mutation("s", number)]) == nil)
            #expect(rig.disk.flushes > before)
        }
    }

    @Test func `a file of a later version is refused and left alone`() async throws {
        let rig = try JournalRig()
        await rig.journal.close()
        try rig.run("PRAGMA user_version = 8")
        let before = try Data(contentsOf: URL(fileURLWithPath: rig.path))
        let fault = #expect(throws: JournalFileFault.self) { try FileJournal(path: rig.path) }
        #expect(fault == .newer(8))
        #expect(
            fault?.sentence("x")
                == "x has version 8 of the journal's form; this program knows up to 7")
        #expect(try Data(contentsOf: URL(fileURLWithPath: rig.path)) == before)
    }

    @Test(arguments: [
        "CREATE TABLE mine(a)", "PRAGMA application_id = 77", "PRAGMA user_version = 1",
    ])
    func `another program's database is refused and left alone`(_ sql: String) throws {
        let path = JournalRig.makeDirectory() + "/other.sqlite"
        try JournalRig.run(sql, in: path)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(throws: JournalFileFault.notAJournal) { try FileJournal(path: path) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func `a file that is no database is refused and left alone`() throws {
        let path = JournalRig.makeDirectory() + "/text"
        let text = Data("this is a letter to somebody, and no database at all\n".utf8)
        try text.write(to: URL(fileURLWithPath: path))
        #expect(throws: JournalFileFault.notAJournal) { try FileJournal(path: path) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == text)
    }

    @Test func `an empty file becomes a journal`() async throws {
        let path = JournalRig.makeDirectory() + "/empty"
        try Data().write(to: URL(fileURLWithPath: path))
        let journal = try FileJournal(path: path)
        await journal.close()
        #expect(try JournalCheck(path).run().problems == [])
    }
}

@Suite(
    "Other processes that read the file neither stop commits nor see half of one",
    .timeLimit(.minutes(60)))
struct ForeignReaderTests {
    @Test func `a reader with an open transaction sees one moment, and commits continue`()
        async throws
    {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 10)) == nil)
        let reader = try ForeignReader(rig.path)
        for first: UInt64 in stride(from: 11, to: 20_011, by: 500) {
            #expect(await rig.commit((first..<first + 500).map { .mutation("s", $0) }) == nil)
        }
        #expect(try reader.count("SELECT sum(count) FROM tail") == 11)
        try reader.end()
        #expect(try await rig.records("s").count == 20_010)
    }

    @Test func `the write-ahead log restarts during continuous commits`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit([.created("s")]) == nil)
        let content = "\"" + String(repeating: "x", count: 3_000) + "\""
        for first: UInt64 in stride(from: 1, to: 40_001, by: 100) {
            let records = (first..<first + 100).map {
                HistoryEntry.mutation("s", $0, content: content)
            }
            #expect(await rig.commit(records) == nil)
        }
        // 120 MB were written; without the checkpoints of the writer the log would have all of it.
        let bytes = try FileManager.default.attributesOfItem(atPath: rig.path + "-wal")[.size]
        #expect(try #require(bytes as? Int) < 64_000_000)
    }

    @Test func `the write-ahead log has preallocated space that is not part of it`() async throws {
        let rig = try JournalRig()
        func logBytes() throws -> Int {
            let file = try FileManager.default.attributesOfItem(atPath: rig.path + "-wal")
            return try #require(file[.size] as? Int)
        }
        #expect(await rig.commit([.created("s")]) == nil)
        var sizes: Set<Int> = []
        for number: UInt64 in 1...300 {
            #expect(await rig.commit([.mutation("s", number)]) == nil)
            sizes.insert(try logBytes())
            if number % 60 == 1 {
                // Its zeros mark its end, for a restart after a crash and for other readers.
                let crashed = try rig.crashed()
                #expect(try await crashed.records("s").map(\.number) == Array(1...number))
                #expect(try rig.count("SELECT sum(count) FROM tail") == Int(number) + 1)
            }
        }
        // 300 commits, of a page or two each, and one length for each piece of 64 pages.
        #expect(sizes.count < 20)
        #expect(sizes.count > 2)
    }
}
