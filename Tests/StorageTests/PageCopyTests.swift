import EngineSuite
import Foundation
import Testing

@testable import Storage

@Suite("Copies of pages: what changed since the last one", .timeLimit(.minutes(60)))
struct PageCopyTests {
    private let rig: JournalRig
    private let folder = JournalRig.makeDirectory()

    init() throws {
        var retention = JournalRetention()
        retention.tailRecords = 40
        retention.stepRows = 20
        rig = try JournalRig(retention)
    }

    private func pages() throws -> JournalPages {
        try JournalPages(
            of: rig.path, in: folder, scratch: JournalRig.makeDirectory() + "/journal.sqlite")
    }

    private func restored() throws -> String {
        let path = JournalRig.makeDirectory() + "/restored.sqlite"
        _ = try JournalRestore(folder).run(to: path)
        return path
    }

    private func export(_ path: String) throws -> [UInt8] {
        try JournalRig.export(path)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    }

    /// Commits that many records of a session, which is created first.
    private func commit(_ session: String, _ count: UInt64) async {
        #expect(await rig.commit([.created(session)]) == nil)
        #expect(
            await rig.commit((1...count).map { .mutation(session, $0, content: padding) }) == nil)
    }

    private let padding = "\"\(String(repeating: "x", count: 500))\""

    @Test func `each copy restores the journal of its moment`() async throws {
        let pages = try pages()
        var texts: [[UInt8]] = []
        for turn in 0..<12 {
            await commit("s\(turn)", 30)
            _ = try #require(try pages.copy())
            texts.append(try rig.export())
            #expect(try export(try restored()) == texts.last)
            #expect(try JournalCheck(try restored()).run().problems == [])
        }
        // Without the last copies of a chain, what is before is restored.
        let last = try #require(try names.last)
        let chain = try names.filter { $0.hasPrefix(last.prefix(6)) }
        for (back, name) in chain.reversed().dropLast().enumerated() {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            #expect(try export(try restored()) == texts[texts.count - back - 2])
        }
    }

    @Test func `nothing is copied without a commit, and few pages after a small one`() async throws
    {
        await commit("s", 2_000)
        let pages = try pages()
        let first = try #require(try pages.copy())
        #expect(first.pages == first.count)
        #expect(try pages.copy() == nil)
        #expect(await rig.commit([.created("t")]) == nil)
        let second = try #require(try pages.copy())
        #expect(second.pages < first.pages / 4)
        #expect(try names == ["000001-000001.pages", "000001-000002.pages"])
    }

    @Test func `a new chain replaces all but the one before`() async throws {
        for start in 1...4 {
            let pages = try pages()
            await commit("s\(start)", 10)
            _ = try pages.copy()
            #expect(
                try names
                    == (max(1, start - 1)...start).map { "00000\($0)-000001.pages" })
        }
        // In the folder of an earlier chain that was begun and never completed.
        try Data("half".utf8).write(to: URL(filePath: folder + "/000005-000001.pages.partial"))
        let pages = try pages()
        var turn = 0
        // Large commits: a chain does not grow without a bound.
        while !(try names.contains { $0.hasPrefix("000007") }) {
            await commit("t\(turn)", 100)
            _ = try pages.copy()
            turn += 1
            let text = try rig.export()
            #expect(try export(try restored()) == text)
        }
    }

    @Test func `a damaged, cut, missing or foreign copy is found`() async throws {
        let pages = try pages()
        for turn in 0..<3 {
            await commit("s\(turn)", 20)
            _ = try pages.copy()
        }
        let second = folder + "/000001-000002.pages"
        let bytes = try Data(contentsOf: URL(filePath: second))
        let third = try Data(contentsOf: URL(filePath: folder + "/000001-000003.pages"))
        let cases: [(String, Data)] = [
            ("cut off", bytes.dropLast(5_000)), ("damaged", bytes.dropLast(1)),
            ("damaged", bytes + [0]), ("not a copy", Data("{}\n".utf8)), ("not a copy", Data()),
            ("is the copy 000001-000003.pages", third), ("version 2", Data("{\"pages\":2}\n".utf8)),
        ]
        for (reason, content) in cases {
            try content.write(to: URL(filePath: second))
            try expectRefusal("000001-000002.pages: ", reason)
        }
        for place in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 64)) {
            var damaged = bytes
            damaged[place] ^= 1
            try damaged.write(to: URL(filePath: second))
            #expect(throws: JournalFileFault.self, "\(place)") { try restored() }
        }
        try FileManager.default.removeItem(atPath: second)
        try expectRefusal("000001-000002.pages is missing")
        // A copy of another chain under the name.
        let other = try PageCopyTests()
        let foreign = try other.pages()
        for turn in 0..<2 {
            await other.commit("s\(turn)", 20)
            _ = try foreign.copy()
        }
        try FileManager.default.copyItem(
            atPath: other.folder + "/000001-000002.pages", toPath: second)
        try expectRefusal("000001-000002.pages: ", "another chain")
    }

    private func expectRefusal(_ parts: String...) throws {
        let fault = #expect(throws: JournalFileFault.self) { try restored() }
        for part in parts { #expect(fault?.sentence(folder).contains(part) == true, "\(part)") }
    }

    @Test func `a file that was replaced is not copied`() async throws {
        await commit("s", 1)
        let pages = try pages()
        _ = try pages.copy()
        try FileManager.default.moveItem(atPath: rig.path, toPath: rig.path + ".old")
        try Data().write(to: URL(filePath: rig.path))
        #expect(throws: JournalFileFault.replaced) { try pages.copy() }
    }

    @Test func `a chain of which something was removed, or that another follows, ends`()
        async throws
    {
        let pages = try pages()
        for turn in 1...3 {
            await commit("s\(turn)", 2)
            _ = try pages.copy()
        }
        try FileManager.default.removeItem(atPath: folder + "/000001-000002.pages")
        await commit("t", 2)
        _ = try pages.copy()
        #expect(try export(try restored()) == rig.export())
        // Another process, for a moment.
        _ = try self.pages().copy()
        await commit("u", 2)
        _ = try pages.copy()
        #expect(try names.last == "000004-000001.pages")
        #expect(try export(try restored()) == rig.export())
    }

    @Test func `a reader of a file does not touch what has taken its place`() async throws {
        await commit("s", 10)
        await rig.journal.close()
        let copy = rig.path + ".copy"
        try JournalBackup(rig.path).run(to: copy)
        let before = try Data(contentsOf: URL(filePath: copy))
        var file: JournalFile? = try JournalFile(rig.path)
        try await rig.reopen()
        await commit("later", 10)
        let crashed = try rig.crashed()
        _ = crashed
        try FileManager.default.removeItem(atPath: rig.path)
        try FileManager.default.moveItem(atPath: copy, toPath: rig.path)
        #expect(file != nil)
        file = nil
        #expect(try Data(contentsOf: URL(filePath: rig.path)) == before)
    }

    // A server that starts without its file makes an empty journal. Its copies would have removed
    // those of the journal that was lost.
    @Test func `copies of another journal are kept`() async throws {
        await commit("s", 10)
        _ = try pages().copy()
        let text = try rig.export()
        let other = try PageCopyTests()
        let fault = #expect(throws: JournalFileFault.self) {
            try JournalPages(
                of: other.rig.path, in: folder,
                scratch: JournalRig.makeDirectory() + "/journal.sqlite")
        }
        #expect(fault?.sentence("").contains("another journal") == true)
        #expect(try export(try restored()) == text)
        // The restored journal is the same one.
        let directory = JournalRig.makeDirectory()
        _ = try JournalRestore(folder).run(to: directory + "/journal.sqlite")
        let rig = try JournalRig(in: directory)
        #expect(await rig.commit([.created("t")]) == nil)
        _ = try #require(
            try JournalPages(
                of: rig.path, in: folder, scratch: JournalRig.makeDirectory() + "/journal.sqlite"
            ).copy())
        #expect(try names == ["000001-000001.pages", "000002-000001.pages"])
    }

    @Test func `a folder that is missing or empty is named`() throws {
        #expect(throws: JournalFileFault.self) {
            try JournalPages(of: rig.path, in: folder + "/none", scratch: folder + "/scratch")
        }
        #expect(throws: JournalFileFault.unusable("it has no copies of pages")) { try restored() }
    }
}
