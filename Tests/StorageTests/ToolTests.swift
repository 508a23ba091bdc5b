import EngineSuite
import Foundation
import Testing

@testable import Storage

@Suite("A journal as text and back is the same journal", .timeLimit(.minutes(60)))
struct ExportTests {
    @Test func `export, import and export again give the same bytes`() async throws {
        let rig = try await JournalRig.withEverything()
        let text = try rig.export()
        let copy = try rig.imported(text)
        #expect(try copy.export() == text)
        #expect(try JournalCheck(copy.path).run().problems == [])
        for session in ["a", "é \"quoted\"", "trimmed"] {
            #expect(try await copy.load(session) == (try await rig.load(session)))
            #expect(try await copy.records(session) == (try await rig.records(session)))
        }
        #expect(try await copy.load("gone")?.isDeleted == true)
        #expect(try await copy.answer("a", key: "k") == .of("a", "k"))
        #expect(await copy.commit([.mutation("a", 4)]) == nil)
    }

    @Test func `every kind of line matches its description`() async throws {
        let text = String(decoding: try await JournalRig.withEverything().export(), as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        #expect(
            lines.last
                == #"{"end":30,"sessions":3,"records":19,"snapshots":2,"answers":1,"running":1,"#
                + #""tombstones":1,"timers":1,"tags":1}"#)
        #expect(lines.first == #"{"journal":2}"#)
        for line in [
            #"{"session":"a","reactor":"alerts","generation":"g1","created":0,"keptAfter":0,"#
                + #""keptVersion":0}"#,
            #"{"record":0,"kind":"created","version":0,"action":0,"time":0}"#,
            #"{"record":1,"kind":"mutation","version":1,"action":1,"time":1000000,"#
                + #""content":{"n":1},"events":[{"name":"alertMessage","data":"1"}],"#
                + #""traceparent":"00-aa-bb-01"}"#,
            #"{"record":3,"part":1,"kind":"note","version":2,"action":0,"time":0,"#
                + #""content":{"note":1}}"#,
            #"{"snapshot":2,"version":2,"lastAction":2,"stateVersion":3,"time":1000000,"#
                + #""state":{"at":2}}"#,
            #"{"answer":"k","digest":"010203","status":200,"time":1000000,"#
                + #""body":{"version":1}}"#,
            #"{"running":2,"action":{"type":"run"},"begun":2}"#,
            #"{"timer":"close","number":2,"due":7,"action":{"type":"close"}}"#,
            #"{"tags":{"status":"o\"pen","table":"é"},"changed":9}"#,
            #"{"tombstone":"gone","reactor":"alerts","generation":"g1","deleted":1000000}"#,
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        for line in lines {
            _ = try JSONSerialization.jsonObject(with: Data(line.utf8))
        }
    }

    @Test func `content that is no JSON is exported as a string`() async throws {
        let rig = try JournalRig()
        var batch = Batch(records: [.created("s"), .mutation("s", 1, content: "{\"broken\"")])
        batch.records[1].events = [HistoryEntry.Event(name: "e", data: Array("1 2".utf8))]
        #expect(await rig.commit(batch) == nil)
        let text = try rig.export()
        #expect(String(decoding: text, as: UTF8.self).contains(#""contentText":"{\"broken\"""#))
        let copy = try rig.imported(text)
        #expect(try await copy.records("s") == [batch.records[1]])
    }

    @Test func `a journal can be exported during commits`() async throws {
        var retention = JournalRetention()
        retention.tailRecords = 40
        retention.stepRows = 20
        let rig = try JournalRig(retention)
        #expect(await rig.commit([.created("s")]) == nil)
        for first: UInt64 in stride(from: 1, to: 600, by: 20) {
            #expect(await rig.commit((first..<first + 20).map { .mutation("s", $0) }) == nil)
            let lines = try rig.export().split(separator: 0x0A)
            #expect(lines.count == Int(first) + 19 + 4)
        }
    }

    @Test func `an import never touches an existing file`() async throws {
        let rig = try JournalRig()
        #expect(throws: JournalFileFault.unusable("\(rig.path) exists already")) {
            try JournalImport(into: rig.path)
        }
    }

    @Test(arguments: [
        ("nonsense", "line 2: it is not a JSON object"),
        (#"{"record":1}"#, "line 2: \"session\" is missing or invalid"),
        (
            #"{"session":"s","reactor":"alerts"}"#,
            "line 2: \"generation\" is missing or invalid"
        ),
    ])
    func `an invalid line is reported, and no file is left behind`(
        _ line: String, _ sentence: String
    ) throws {
        let directory = JournalRig.makeDirectory()
        let importing = try JournalImport(into: directory + "/new.sqlite")
        try importing.add(Array(#"{"journal":2}"#.utf8))
        let fault = #expect(throws: JournalTextFault.self) {
            try importing.add(Array(line.utf8))
        }
        #expect(fault?.description == sentence)
        importing.abandon()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
    }
}

@Suite("A journal's check finds faults", .timeLimit(.minutes(60)))
struct CheckTests {
    @Test func `an intact journal has no problems`() async throws {
        let rig = try await JournalRig.withEverything()
        let report = try JournalCheck(rig.path).run()
        #expect(report.problems == [])
        #expect(report.sessions == 3)
    }

    // Case 145. A request may nest 128 deep, and a note holds the request.
    @Test func `a note with an action of the greatest depth is no problem`() async throws {
        func deep(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        for (depth, problems) in [(128, 0), (129, 1)] {
            let rig = try JournalRig()
            var note = HistoryEntry.noteEntry("s", before: 1, 1, version: 0)
            note.content = Array(
                #"{"kind":"action.received","content":{"received":\#(deep(depth))}}"#.utf8)
            let batch = Batch(records: [.created("s"), note])
            #expect(await rig.commit(batch) == nil)
            let report = try JournalCheck(rig.path).run()
            #expect(report.problemCount == problems, "\(depth): \(report.problems)")
        }
    }

    @Test(arguments: [
        (tampering("0 0 0 0 0 0 0 0\n\n", ""), "record 1 where record 0 should be"),
        (tampering("2 0 1 2 2 ", "2 0 1 7 2 "), "version 7 after 1"),
        (tampering(#"{"n":2}"#, #"{"n":2,"#), "not a line of JSON"),
        (tampering("2 0 1 2 2 ", "2 0 5 2 2 "), "of the kind note"),
        (tampering("2 0 1 2 2 ", "2 0 9 2 2 "), "after record 1 is damaged"),
        (tampering("2 0 1 2 2 1000000 7", "2 0 1 2 2 1000000 8"), "after record 1 is damaged"),
        (tampering(#"{"n":2}"#, ""), "after record 1 is damaged"),
        ("UPDATE records SET version = 9 WHERE session = 1", "does not match its content"),
        ("UPDATE records SET count = 9 WHERE session = 1", "does not match its content"),
        ("UPDATE snapshots SET number = 90 WHERE session = 1", "record 90, which does not exist"),
        ("UPDATE snapshots SET version = 1 WHERE session = 1", "has version 1, but the record has"),
        ("UPDATE snapshots SET state = 'x' WHERE session = 1", "record 2 is not a line of JSON"),
        ("UPDATE answers SET status = 7", "the answer of the key k has the status 7"),
        ("DELETE FROM snapshots WHERE session = 3", "no snapshot to begin from"),
        (
            "INSERT INTO running VALUES(77, 1, '{}', 1, NULL, 1, NULL, NULL)",
            "running: 1 rows belong to no session"
        ),
        (
            "INSERT INTO timers VALUES(77, '', 1, 1, '{}', 0)",
            "timers: 1 rows belong to no session"
        ),
        ("UPDATE timers SET content = 'x'", "the timer close: it is not a line of JSON"),
        ("UPDATE timers SET number = 0", "the timer close: no action has the number 0"),
        ("UPDATE timers SET due = -1", "the timer close: it is due at -1, but must be due"),
        (
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 64)
            INSERT INTO timers SELECT session, 't' || i, number, due, content, 0 FROM timers, n
            """, "it has more than 64 timers"
        ),
        ("INSERT INTO tags VALUES(77, '', '', 1)", "tags: 1 rows belong to no session"),
        ("UPDATE tags SET value = '' WHERE name = 'table'", "a tag's value has 1 to 64 bytes"),
        ("UPDATE tags SET name = 'A' WHERE name = 'table'", "a tag's name has 1 to 32 of a-z"),
        ("UPDATE tags SET changed = -1", "its tags were changed at -1, which is not a valid time"),
        (
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 7)
            INSERT INTO tags SELECT session, 't' || i, 'v', 9 FROM tags, n WHERE name = ''
            """, "it has more than 8 tags"
        ),
        ("UPDATE tombstones SET id = 'a'", "1 sessions are both deleted and alive"),
    ])
    func `a changed row is reported`(_ tampering: String, _ sentence: String) async throws {
        let rig = try await JournalRig.withEverything()
        await rig.journal.close()
        try rig.tamper(tampering)
        let report = try JournalCheck(rig.path).run()
        #expect(report.problemCount > 0)
        #expect(report.problems.contains { $0.contains(sentence) }, "\(report.problems)")
    }

    private static func tampering(_ old: String, _ new: String) -> String {
        "UPDATE records SET lines = replace(lines, '\(old)', '\(new)') WHERE session = 1"
    }

    @Test func `an overwritten page is reported`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 2_000)) == nil)
        await rig.journal.close()
        let file = try #require(FileHandle(forUpdatingAtPath: rig.path))
        try file.seek(toOffset: 4_096 * 20)
        try file.write(contentsOf: Data(repeating: 0x5A, count: 4_096))
        try file.close()
        // Either it can't be read at all, or the check reports it.
        let report = try? JournalCheck(rig.path).run()
        #expect(report?.problemCount != 0)
    }

    @Test func `a file that is no journal is refused with a sentence`() throws {
        let directory = JournalRig.makeDirectory()
        let path = directory + "/file"
        #expect(throws: JournalFileFault.unusable("there is no such file")) {
            try JournalCheck(path).run()
        }
        try Data(repeating: 0x41, count: 9_000).write(to: URL(fileURLWithPath: path))
        #expect(throws: JournalFileFault.notAJournal) { try JournalCheck(path).run() }
    }
}

@Suite("A journal is copied", .timeLimit(.minutes(60)))
struct CopyTests {
    @Test func `a copy made during commits is a journal of one moment`() async throws {
        let rig = try await JournalRig.withEverything()
        let copy = JournalRig.makeDirectory() + "/journal.sqlite"
        try JournalBackup(rig.path).run(to: copy)
        #expect(await rig.commit([.mutation("a", 4)]) == nil)
        #expect(try JournalCheck(copy).run().problems == [])
        let restored = try FileJournal(path: copy)
        await restored.close()
        #expect(throws: JournalFileFault.unusable("\(copy) exists already")) {
            try JournalBackup(rig.path).run(to: copy)
        }
    }

    @Test func `a copy has none of the free space`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 5_000) + HistoryEntry.life("t", 3)) == nil)
        #expect(await rig.commit([.deleted("s", 5_001)]) == nil)
        await rig.journal.trimNow()
        let folder = JournalRig.makeDirectory()
        try JournalBackup(rig.path).run(to: folder + "/journal.sqlite")
        let restored = try JournalRig(in: folder)
        #expect(try restored.count("PRAGMA freelist_count") == 0)
        #expect(
            try restored.count("PRAGMA page_count") < rig.count("PRAGMA page_count") / 2)
        #expect(try await restored.records("t").count == 3)
        #expect(try await restored.load("s")?.isDeleted == true)
    }
}

extension JournalRig {
    /// Three sessions, one of them trimmed, and one that was deleted.
    static func withEverything() async throws -> JournalRig {
        let rig = try JournalRig(JournalRetention(records: 10))
        var batch = Batch(records: HistoryEntry.life("a", 2))
        batch.records[1].traceparent = "00-aa-bb-01"
        batch.records.append(.noteEntry("a", before: 3, 1, version: 2))
        batch.records.append(.mutation("a", 3))
        batch.snapshots = [.of("a", 2)]
        batch.answers = [.of("a", "k")]
        batch.started = [
            RunningAction(
                session: "a", generation: "g1", action: 2, content: Array(#"{"type":"run"}"#.utf8),
                begun: 2)
        ]
        let close = SessionTimer(
            name: "close", number: 2, due: 7, content: Array(#"{"type":"close"}"#.utf8))
        batch.timers = [TimerChange(of: .of("a"), close.name, close)]
        batch.tags = [.of("a", 9, ["status": "o\"pen", "table": "é"])]
        #expect(await rig.commit(batch) == nil)
        #expect(await rig.commit(HistoryEntry.life("é \"quoted\"", 2)) == nil)
        batch = Batch(records: HistoryEntry.life("trimmed", 30))
        batch.snapshots = [.of("trimmed", 10), .of("trimmed", 20)]
        #expect(await rig.commit(batch) == nil)
        #expect(await rig.commit(HistoryEntry.life("gone", 1) + [.deleted("gone", 2)]) == nil)
        await rig.journal.trimNow()
        #expect(await rig.commit([.mutation("trimmed", 31)]) == nil)
        return rig
    }

    func export() throws -> [UInt8] { try Self.export(path) }

    static func export(_ path: String) throws -> [UInt8] {
        let text = Mutexed<[UInt8]>([])
        let writer = JournalTextWriter { lines in text.value += lines }
        try JournalExport(path).visit(writer)
        try writer.finish()
        return text.value
    }

    func imported(_ text: [UInt8]) throws -> JournalRig {
        let directory = Self.makeDirectory()
        let importing = try JournalImport(into: directory + "/journal.sqlite")
        for line in text.split(separator: 0x0A) { try importing.add(Array(line)) }
        try importing.finish()
        return try JournalRig(in: directory, JournalRetention(records: 10))
    }

    /// A value that a closure may change.
    private final class Mutexed<Value> {
        var value: Value
        init(_ value: Value) { self.value = value }
    }
}
