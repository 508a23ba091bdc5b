import EngineSuite
import Foundation
import Testing

@testable import Storage

/// The files of a journal as a killed process leaves them: copies of a journal in use.
private struct Killed {
    let path: String

    /// - Parameter names: What comes after the journal's path.
    init(_ rig: JournalRig, _ names: [String] = ["", "-wal", ".lock"]) throws {
        path = JournalRig.makeDirectory() + "/journal.sqlite"
        for name in names { try put(rig.path + name, name) }
    }

    /// Replaces a file by a copy of another, as cp(1) does.
    func put(_ other: String, _ name: String = "") throws {
        try? FileManager.default.removeItem(atPath: path + name)
        try FileManager.default.copyItem(atPath: other, toPath: path + name)
    }

    func remove(_ names: String...) throws {
        for name in names where FileManager.default.fileExists(atPath: path + name) {
            try FileManager.default.removeItem(atPath: path + name)
        }
    }

    var log: Data {
        get throws { try Data(contentsOf: URL(fileURLWithPath: path + "-wal")) }
    }

    func change(_ act: (inout Data) throws -> Void) throws {
        var bytes = try log
        try act(&bytes)
        try bytes.write(to: URL(fileURLWithPath: path + "-wal"))
    }

    /// The fault that keeps the journal from opening.
    func refusal() async -> JournalFileFault? {
        do {
            await (try FileJournal(path: path, looksEvery: nil)).close()
            return nil
        } catch {
            return error
        }
    }
}

extension JournalRig {
    /// Commits records of `s` one by one.
    fileprivate func post(_ numbers: ClosedRange<UInt64>) async {
        for number in numbers {
            let record: HistoryEntry = number == 0 ? .created("s") : .mutation("s", number)
            #expect(await commit([record]) == nil)
        }
    }

    fileprivate func backup() throws -> String {
        let copy = Self.makeDirectory() + "/copy.sqlite"
        try JournalBackup(path).run(to: copy)
        return copy
    }
}

@Suite("A write-ahead log is applied to its own file only", .timeLimit(.minutes(60)))
struct LogOwnerTests {
    @Test(arguments: [1, 400])
    func `a backup in the place of a killed server's file is refused until the log is removed`(
        _ more: UInt64
    ) async throws {
        let rig = try JournalRig()
        await rig.post(0...3)
        let copy = try rig.backup()
        await rig.post(4...3 + more)
        let killed = try Killed(rig)
        try killed.put(copy)
        let fault = await killed.refusal()
        #expect(fault == .foreignLog)
        #expect(fault?.sentence(killed.path).contains("\(killed.path)-wal") == true)
        // No tool reads or writes the mixture.
        #expect(throws: JournalFileFault.foreignLog) { try JournalCheck(killed.path).run() }
        #expect(throws: JournalFileFault.foreignLog) {
            try JournalBackup(killed.path).run(to: copy + "2")
        }
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: killed.path))
                == Data(contentsOf: URL(fileURLWithPath: copy)))
        try killed.remove("-wal", "-shm")
        let restored = try JournalRig(in: (killed.path as NSString).deletingLastPathComponent)
        #expect(try await restored.records("s").last?.number == 3)
    }

    @Test func `so is a plain copy that was made while no server ran`() async throws {
        let rig = try JournalRig()
        await rig.post(0...3)
        await rig.journal.close()
        let copy = JournalRig.makeDirectory() + "/copy"
        try FileManager.default.copyItem(atPath: rig.path, toPath: copy)
        try await rig.reopen()
        await rig.post(4...5)
        let killed = try Killed(rig)
        try killed.put(copy)
        #expect(await killed.refusal() == .foreignLog)
        try killed.remove(".lock")
        #expect(await killed.refusal() == nil)
    }

    @Test func `a copy of all files starts, with and without the lock file`() async throws {
        let rig = try JournalRig()
        await rig.post(0...3)
        for names in [["", "-wal", ".lock"], ["", "-wal"]] {
            let killed = try Killed(rig, names)
            let copy = try JournalRig(in: (killed.path as NSString).deletingLastPathComponent)
            #expect(try await copy.records("s").last?.number == 3)
        }
    }

    @Test func `a file of an earlier release, killed in the middle of its first start, starts`()
        async throws
    {
        let rig = try JournalRig()
        await rig.post(0...3)
        await rig.journal.close()
        try rig.run("DROP TABLE mark; PRAGMA wal_checkpoint(TRUNCATE)")
        try Data("1\n".utf8).write(to: URL(fileURLWithPath: rig.path + ".lock"))
        // Because of the reader, the new mark stays in the log.
        let reader = try ForeignReader(rig.path)
        let journal = try FileJournal(path: rig.path, looksEvery: nil)
        let killed = try Killed(rig)
        #expect(await killed.refusal() == nil)
        #expect(try JournalRig.mark(of: killed.path) != nil)
        try reader.end()
        await journal.close()
    }

    // Until the file has the new mark, the lock file names each mark that it may have.
    @Test func `a reader of the log during a start does not matter`() async throws {
        let rig = try JournalRig()
        await rig.post(0...3)
        let first = try #require(JournalLock.recorded(beside: rig.path))
        #expect(first.marks == [FileMark.inFile(rig.path, page: first.page)])
        let directory = (try Killed(rig).path as NSString).deletingLastPathComponent
        let path = directory + "/journal.sqlite"
        let reader = try ForeignReader(path)
        let journal = try FileJournal(path: path, looksEvery: nil)
        let note = try #require(JournalLock.recorded(beside: path))
        #expect(note.marks.count == 2)
        #expect(note.marks.last == FileMark.inFile(path, page: note.page))
        #expect(note.marks.first == (try JournalRig.mark(of: path)))
        try reader.end()
        await journal.close()
        let again = try JournalRig(in: directory)
        #expect(JournalLock.recorded(beside: path)?.marks.count == 1)
        #expect(try await again.records("s").last?.number == 3)
    }

    @Test func `an empty log of another file is no reason`() async throws {
        let rig = try JournalRig()
        await rig.post(0...3)
        let killed = try Killed(rig)
        try killed.put(try rig.backup())
        try Data().write(to: URL(fileURLWithPath: killed.path + "-wal"))
        #expect(await killed.refusal() == nil)
    }

    @Test func `a lock file that says nothing is no reason`() async throws {
        let rig = try JournalRig()
        await rig.post(0...3)
        for text in ["", "12", "12\n", "12\nx y", "12\n3", "12\n3 0123", "12\n-1 \u{1F}"] {
            let killed = try Killed(rig)
            try Data(text.utf8).write(to: URL(fileURLWithPath: killed.path + ".lock"))
            #expect(await killed.refusal() == nil, "\(text)")
        }
    }

    @Test func `a copy in the place of a closed file starts`() async throws {
        let rig = try JournalRig()
        await rig.post(0...3)
        let copy = try rig.backup()
        await rig.journal.close()
        try FileManager.default.removeItem(atPath: rig.path)
        try FileManager.default.moveItem(atPath: copy, toPath: rig.path)
        try await rig.reopen()
        let killed = try Killed(rig)
        #expect(JournalLock.recorded(beside: killed.path) != nil)
        #expect(await killed.refusal() == nil)
    }
}

@Suite("A damaged write-ahead log is refused, a torn one is not", .timeLimit(.minutes(60)))
struct LogDamageTests {
    private static let frame = 4_096 + 24

    private static func begin(_ frame: Int) -> Int { 32 + (frame - 1) * Self.frame }

    /// Offsets in a frame: its commit mark, its salts, its checksum, its page.
    @Test(arguments: [7, 9, 17, 24, 2_000])
    func `one changed bit before acknowledged commits is refused, with its frame`(
        _ place: Int
    ) async throws {
        let rig = try JournalRig()
        await rig.post(0...60)
        let frames = try #require(LogFrames(rig.path + "-wal"))
        #expect(frames.damage == nil)
        let killed = try Killed(rig)
        let last = frames.valid
        for number in [1, 13, last - 2] {
            let damaged = try Killed(rig)
            try damaged.change { $0[Self.begin(number) + place] ^= 0x10 }
            let fault = await damaged.refusal()
            guard let fault, case .damagedLog(number, let later) = fault else {
                Issue.record("frame \(number), byte \(place): \(String(describing: fault))")
                continue
            }
            // A frame with a damaged checksum or salts does not prove the next one valid either.
            #expect([last - number, last - number - 1].contains(later))
            #expect(throws: fault) { try JournalCheck(damaged.path).run() }
            #expect(throws: fault) { try JournalBackup(damaged.path).run(to: damaged.path + "2") }
        }
        #expect(await killed.refusal() == nil)
    }

    @Test(arguments: [0, 8, 16, 24])
    func `a changed header is refused`(_ place: Int) async throws {
        let rig = try JournalRig()
        await rig.post(0...10)
        let damaged = try Killed(rig)
        try damaged.change { $0[place] ^= 0x01 }
        guard case .damagedLog(0, _)? = await damaged.refusal() else {
            Issue.record("byte \(place)")
            return
        }
    }

    @Test func `a commit that was not flushed may lack any of its frames`() async throws {
        let rig = try JournalRig()
        await rig.post(0...5)
        let before = try #require(LogFrames(rig.path + "-wal")).valid
        let long = "\"" + String(repeating: "x", count: 40_000) + "\""
        #expect(await rig.commit([.mutation("s", 6, content: long)]) == nil)
        let after = try #require(LogFrames(rig.path + "-wal")).valid
        #expect(after - before > 8)
        for lost in before + 1...after {
            let torn = try Killed(rig)
            try torn.change {
                $0.replaceSubrange(
                    Self.begin(lost)..<Self.begin(lost + 1),
                    with: Data(repeating: 0, count: Self.frame))
            }
            #expect(try #require(LogFrames(torn.path + "-wal")).valid == lost - 1)
            let rest = try JournalRig(in: (torn.path as NSString).deletingLastPathComponent)
            #expect(try await rest.records("s").last?.number == 5)
        }
        let cut = try Killed(rig)
        try cut.change { $0.removeSubrange((Self.begin(after) + 100)...) }
        #expect(await cut.refusal() == nil)
    }

    @Test func `what failed commits have left after later ones is no damage`() async throws {
        let rig = try JournalRig()
        await rig.post(0...2)
        // The frames of both commits are complete; only the flushes have failed.
        for bytes in [90_000, 40_000] {
            rig.disk.fail(.flush, with: .flush)
            let long = "\"" + String(repeating: "x", count: bytes) + "\""
            #expect(await rig.commit([.mutation("s", 3, content: long)]) != nil)
            rig.disk.heal()
        }
        await rig.post(3...3)
        let frames = try #require(LogFrames(rig.path + "-wal"))
        let killed = try Killed(rig)
        #expect(try killed.log.count > Self.begin(frames.valid + 10))
        #expect(frames.damage == nil)
        #expect(await killed.refusal() == nil)
    }

    @Test func `recovery continues before the damage, under other generations`() async throws {
        let rig = try JournalRig()
        await rig.post(0...60)
        let damaged = try Killed(rig)
        let whole = damaged.path
        #expect(throws: JournalFileFault.unusable("its write-ahead log is not damaged")) {
            try JournalRecovery(whole).run()
        }
        try damaged.change { $0[Self.begin(30) + 999] ^= 0x04 }
        #expect(try JournalRecovery(damaged.path).run() == 1)
        #expect(try JournalCheck(damaged.path).run().problems == [])
        let rest = try JournalRig(in: (damaged.path as NSString).deletingLastPathComponent)
        let saved = try #require(try await rest.load("s"))
        let generation = saved.key.generation
        #expect(generation != "g1")
        #expect(generation.utf8.count == 8)
        let records = try await rest.records("s", generation: generation)
        let last = try #require(records.last?.number)
        #expect((1..<60).contains(last))
        #expect(records.map(\.number) == Array(1...last))
    }

    @Test func `a log of 50 MiB is examined in a moment`() async throws {
        let rig = try JournalRig()
        await rig.post(0...1)
        let reader = try ForeignReader(rig.path)
        let long = "\"" + String(repeating: "x", count: 900_000) + "\""
        for number: UInt64 in 2...55 {
            #expect(await rig.commit([.mutation("s", number, content: long)]) == nil)
        }
        let frames = try #require(LogFrames(rig.path + "-wal"))
        #expect(frames.valid > 12_000)
        #expect(frames.damage == nil)
        try reader.end()
    }
}

@Suite("Files are their owner's, and whole under their names", .timeLimit(.minutes(60)))
struct OwnFileTests {
    private static func mode(_ path: String) throws -> Int {
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        return try #require(mode as? Int)
    }

    @Test func `the owner alone can read what a journal, a backup and an import make`()
        async throws
    {
        let rig = try await JournalRig.withEverything()
        for name in ["", "-wal", "-shm", ".lock"] {
            #expect(try Self.mode(rig.path + name) == 0o600, "\(name)")
        }
        #expect(try Self.mode(try rig.backup()) == 0o600)
        let imported = try rig.imported(try rig.export())
        #expect(try Self.mode(imported.path) == 0o600)
        #expect(!FileMode.admitsOthers(rig.path))
    }

    @Test func `an operator's mode of the journal stays, and its log gets it`() async throws {
        let rig = try JournalRig()
        await rig.journal.close()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: rig.path)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: rig.path + ".lock")
        try await rig.reopen()
        await rig.post(0...1)
        #expect(try Self.mode(rig.path) == 0o644)
        #expect(try Self.mode(rig.path + "-wal") == 0o644)
        #expect(try Self.mode(rig.path + ".lock") == 0o600)
        #expect(FileMode.admitsOthers(rig.path))
    }

    @Test func `a left-over that is another name of a complete copy is not written to`()
        async throws
    {
        let rig = try JournalRig()
        await rig.post(0...3)
        let copy = try rig.backup()
        // A backup was killed after it gave its file the final name, and before it removed the
        // temporary one.
        try FileManager.default.linkItem(atPath: copy, toPath: copy + ".backup")
        let kept = copy + ".yesterday"
        try FileManager.default.moveItem(atPath: copy, toPath: kept)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: kept))
        await rig.post(4...9)
        try JournalBackup(rig.path).run(to: copy)
        #expect(try Data(contentsOf: URL(fileURLWithPath: kept)) == bytes)
        #expect(try JournalCheck(copy).run().records == 10)
        #expect(!FileManager.default.fileExists(atPath: copy + ".backup"))
    }

    @Test func `the name of a complete file is flushed`() throws {
        let name = JournalRig.makeDirectory() + "/file"
        nonisolated(unsafe) var flushed: [String] = []
        let partial = try PartialFile(of: name, suffix: ".part") { path in
            // By then the file has its final name.
            #expect(!FileManager.default.fileExists(atPath: name + ".part"))
            #expect(FileManager.default.fileExists(atPath: name))
            unsafe flushed.append(path)
        }
        try partial.finish()
        #expect(unsafe flushed == [name])
        try FileIdentity.flushFolder(of: name)
        #expect(throws: JournalFileFault.self) {
            try FileIdentity.flushFolder(of: name + "/nothing/here")
        }
    }

    @Test func `a file never replaces another one, also if the move is no single step`() throws {
        let folder = JournalRig.makeDirectory()
        let (path, name) = (folder + "/new", folder + "/old")
        for file in [path, name] { try Data(file.utf8).write(to: URL(fileURLWithPath: file)) }
        #expect(throws: JournalFileFault.unusable("\(name) exists already")) {
            try FileIdentity.move(path, to: name)
        }
        try FileManager.default.removeItem(atPath: name)
        try FileIdentity.move(path, to: name)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["old"])
    }

    @Test func `a copy is not made beside the log of a file that is gone`() async throws {
        let rig = try JournalRig()
        let copy = JournalRig.makeDirectory() + "/copy"
        try Data("log".utf8).write(to: URL(fileURLWithPath: copy + "-wal"))
        #expect(throws: JournalFileFault.unusable("\(copy)-wal exists already")) {
            try JournalBackup(rig.path).run(to: copy)
        }
    }

    @Test func `a tool leaves nothing beside a file that no server uses`() async throws {
        let rig = try await JournalRig.withEverything()
        let copy = try rig.backup()
        #expect(try JournalCheck(copy).run().problems == [])
        let folder = (copy as NSString).deletingLastPathComponent
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["copy.sqlite"])
        // The log of a killed server must stay.
        let killed = try Killed(rig)
        #expect(try JournalCheck(killed.path).run().problems == [])
        #expect(FileManager.default.fileExists(atPath: killed.path + "-wal"))
    }
}
