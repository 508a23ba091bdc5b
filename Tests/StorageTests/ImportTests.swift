import EngineSuite
import Foundation
import GRDB
import Synchronization
import Testing

@testable import Storage

@Suite("Case 147 — an import produces a whole journal or none", .timeLimit(.minutes(60)))
struct ImportTests {
    /// Imports the text into an empty directory, and checks that a refusal leaves it empty.
    private func refusal(of text: some Sequence<UInt8>) throws -> JournalTextFault? {
        let directory = JournalRig.makeDirectory()
        let importing = try JournalImport(into: directory + "/journal.sqlite")
        do {
            for line in Array(text).split(separator: 0x0A) { try importing.add(Array(line)) }
            try importing.finish()
        } catch let fault as JournalTextFault {
            importing.abandon()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
            return fault
        }
        #expect(try JournalCheck(directory + "/journal.sqlite").run().problems == [])
        return nil
    }

    private func lines(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func `truncated text is refused and its last line reported`() async throws {
        let text = try await JournalRig.withEverything().export()
        #expect(try refusal(of: text) == nil)
        var start = 0
        var number = 0
        for end in text.indices where text[end] == 0x0A {
            number += 1
            // Within the line, and after it.
            for cut in [start + (end - start) / 2, end + 1] where cut < text.count {
                let fault = try refusal(of: text[..<cut])
                #expect(fault?.line == number, "cut at \(cut): \(String(describing: fault))")
            }
            start = end + 1
        }
        #expect(number > 20)
    }

    @Test func `text without an end is refused`() throws {
        let text = lines(
            """
            {"journal":1}
            {"session":"s","reactor":"r","generation":"g","created":0,"keptAfter":0,"keptVersion":0}
            {"record":0,"kind":"created","version":0,"action":0,"time":0}
            """)
        let fault = try refusal(of: text)
        #expect(fault?.line == 1)
        #expect(fault?.reason.contains("has no end") == true)
        let newer = lines(String(decoding: text, as: UTF8.self).replacing(":1}", with: ":2}"))
        #expect(try refusal(of: newer)?.line == 3)
    }

    @Test(arguments: [
        (3, nil, "line 3: record 1 where record 0 should be"),
        (4, nil, "line 4: record 2 where record 1 should be"),
        (5, nil, "line 5: its counts do not match the lines"),
        (6, nil, "line 5: the text is cut off after this line"),
        (
            5, #"{"record":2,"kind":"mutation","version":3,"action":1,"time":0}"#,
            "version 3 after 1"
        ),
        (5, #"{"record":2,"kind":"deleted","version":1,"action":1,"time":0}"#, "end of a session"),
        (5, #"{"snapshot":9,"version":9,"lastAction":1,"stateVersion":1,"time":0}"#, "record 9"),
        (
            6,
            #"{"end":5,"sessions":2,"records":3,"snapshots":0,"answers":0,"running":0,"tombstones":0}"#,
            "line 6: its counts do not match the lines"
        ),
        (6, #"{"end":5,"sessions":1,"records":3}"#, "\"snapshots\" is missing"),
    ])
    func `a missing or changed line is found`(
        _ number: Int, _ replacement: String?, _ sentence: String
    ) throws {
        var text = [
            #"{"journal":2}"#,
            #"{"session":"s","reactor":"r","generation":"g","created":0,"keptAfter":0,"#
                + #""keptVersion":0}"#,
            #"{"record":0,"kind":"created","version":0,"action":0,"time":0}"#,
            #"{"record":1,"kind":"mutation","version":1,"action":1,"time":0}"#,
            #"{"record":2,"kind":"mutation","version":2,"action":1,"time":0}"#,
            #"{"end":5,"sessions":1,"records":3,"snapshots":0,"answers":0,"running":0,"#
                + #""tombstones":0}"#,
        ]
        #expect(try refusal(of: lines(text.joined(separator: "\n"))) == nil)
        text.replaceSubrange(number - 1..<number, with: replacement.map { [$0] } ?? [])
        let fault = try refusal(of: lines(text.joined(separator: "\n")))
        #expect(fault?.description.contains(sentence) == true, "\(String(describing: fault))")
    }

    @Test func `a session without a record, or a trimmed one without a snapshot, is refused`()
        throws
    {
        for kept in [0, 5] {
            let text = """
                {"journal":2}
                {"session":"s","reactor":"r","generation":"g","created":0,"keptAfter":\(kept),\
                "keptVersion":\(kept)}
                \(kept == 0 ? "" : #"{"record":6,"kind":"mutation","version":6,"action":0,"time":0}"#)
                {"tombstone":"t","reactor":"r","generation":"g","deleted":1}
                """
            let fault = try refusal(of: lines(text))
            #expect(fault?.reason.contains("the session s") == true, "\(String(describing: fault))")
        }
    }

    @Test func `no line may follow the end`() async throws {
        let text = try await JournalRig.withEverything().export()
        #expect(try refusal(of: text + text)?.reason == "it comes after the end")
    }

    @Test(arguments: ["-1", "7", "99", "404", "1000", "9223372036854775807"])
    func `a stored answer of a status that is never stored is refused`(_ status: String) throws {
        let text = """
            {"journal":2}
            {"session":"s","reactor":"r","generation":"g","created":0,"keptAfter":0,"keptVersion":0}
            {"record":0,"kind":"created","version":0,"action":0,"time":0}
            {"answer":"k","digest":"00","status":\(status),"time":0,"body":{}}
            """
        let fault = try refusal(of: lines(text))
        #expect(fault?.description == "line 4: \"status\" is missing or invalid")
    }

    @Test(arguments: ["18446744073709551615", "9223372036854775807", "4611686018427387904"])
    func `numbers that no session can reach are refused`(_ number: String) throws {
        let session =
            #"{"session":"s","reactor":"r","generation":"g","created":0,"keptAfter":0,"#
            + #""keptVersion":0}"#
        for (line, name) in [
            (session.replacing("\"keptAfter\":0", with: "\"keptAfter\":\(number)"), "keptAfter"),
            (
                session.replacing("\"keptVersion\":0", with: "\"keptVersion\":\(number)"),
                "keptVersion"
            ),
            (#"{"record":\#(number),"kind":"mutation","version":1,"action":0,"time":0}"#, "record"),
            (#"{"record":0,"kind":"created","version":\#(number),"action":0,"time":0}"#, "version"),
            (#"{"record":0,"kind":"created","version":0,"action":\#(number),"time":0}"#, "action"),
            (#"{"running":\#(number),"action":{}}"#, "running"),
            (#"{"timer":"a","number":\#(number),"due":1,"action":{}}"#, "number"),
        ] {
            let isSession = line.contains("session")
            let text = ["{\"journal\":2}", isSession ? line : session, line].joined(separator: "\n")
            let fault = try refusal(of: lines(text))
            #expect(fault?.reason == "\"\(name)\" is missing or invalid", "\(line)")
        }
    }

    private static let name = String(repeating: "a", count: 65)

    @Test(arguments: [
        (#""timer":"","number":1,"due":1"#, "the timer : its name must have 1 to 64 bytes"),
        (#""timer":"\#(name)","number":1,"due":1"#, "its name must have 1 to 64 bytes"),
        (#""timer":"a\u0007","number":1,"due":1"#, "bytes without control characters"),
        (#""timer":"a","number":0,"due":1"#, "the timer a: no action has the number 0"),
        (#""timer":"a","number":1,"due":-1"#, "the timer a: it is due at -1, but must be due"),
        (#""timer":"a","number":1,"due":8640000000000001"#, "due between 0 and 8640000000000000"),
    ])
    func `a timer that no program has set is refused`(_ timer: String, _ reason: String) throws {
        let fault = try refusal(of: lines(session(with: ["{\(timer),\"action\":{}}"])))
        #expect(fault?.line == 4)
        #expect(fault?.reason.contains(reason) == true, "\(String(describing: fault))")
    }

    @Test(arguments: [
        (#"{"tags":{"a":1},"changed":1}"#, "\"tags\" is missing or invalid"),
        (#"{"tags":{"a":"b"}}"#, "\"changed\" is missing or invalid"),
        (#"{"tags":{"A":"b"},"changed":1}"#, "a tag's name has 1 to 32 of a-z 0-9 _"),
        (#"{"tags":{"":"b"},"changed":1}"#, "a tag's name has 1 to 32 of a-z 0-9 _"),
        (#"{"tags":{"a":"\u0007"},"changed":1}"#, "1 to 64 bytes without control characters"),
        (#"{"tags":{"a":"b"},"changed":-1}"#, "changed at -1, which is not a valid time"),
    ])
    func `tags that no program has set are refused`(_ tags: String, _ reason: String) throws {
        let fault = try refusal(of: lines(session(with: [tags])))
        #expect(fault?.reason.contains(reason) ?? false, "\(fault?.reason ?? "none")")
    }

    @Test func `a second line of tags is refused`() throws {
        let tags = #"{"tags":{"a":"b"},"changed":1}"#
        let fault = try refusal(of: lines(session(with: [tags, tags])))
        #expect(fault?.reason == "the session s: it has two lines of tags")
    }

    @Test func `a session with more than 64 timers is refused`() throws {
        let timers = (1...65).map { #"{"timer":"t\#($0)","number":1,"due":1,"action":{}}"# }
        let fault = try refusal(of: lines(session(with: timers)))
        #expect(fault?.line == 3 + 65)
        #expect(fault?.reason == "the session s: it has more than 64 timers")
    }

    private func session(with timers: [String]) -> String {
        let head = [
            #"{"journal":2}"#,
            #"{"session":"s","reactor":"r","generation":"g","created":0,"keptAfter":0,"#
                + #""keptVersion":0}"#,
            #"{"record":0,"kind":"created","version":0,"action":0,"time":0}"#,
        ]
        return (head + timers).joined(separator: "\n")
    }
}

@Suite("A changed file is reported and ends no process", .timeLimit(.minutes(60)))
struct ChangedFileTests {
    @Test(arguments: [
        "UPDATE records SET number = -1 WHERE session = 1",
        "UPDATE records SET part = -5 WHERE session = 1",
        "UPDATE records SET part = 4294967296 WHERE session = 1",
        "UPDATE records SET number = 0, part = 5 WHERE session = 1",
        "UPDATE records SET version = -9 WHERE session = 1",
        "UPDATE records SET lines = replace(lines, '3 0 1 3 3', '18446744073709551615 0 1 3 3')",
        "UPDATE records SET lines = replace(lines, '3 0 1 3 3', '3 0 1 9223372036854775808 3')",
        "UPDATE records SET lines = replace(lines, '3 1 5 2 0', '3 4294967295 5 2 0')",
        "UPDATE records SET lines = replace(lines, '3 1 5 2 0', '0 1 5 2 0')",
        "UPDATE tail SET part = -5",
        "UPDATE tail SET number = -1",
        "UPDATE tail SET number = 0, part = 5",
        "UPDATE snapshots SET version = -1 WHERE session = 1",
        "UPDATE snapshots SET last_action = -1 WHERE session = 1",
        "UPDATE sessions SET kept_after = -1 WHERE row = 1",
        "UPDATE running SET action = -1",
        "UPDATE timers SET number = -1",
        "UPDATE answers SET status = -1",
        "UPDATE answers SET status = 1000",
    ])
    func `invalid numbers are refused`(_ change: String) async throws {
        let rig = try await JournalRig.withEverything()
        if change.contains("tail") { #expect(await rig.commit([.mutation("a", 4)]) == nil) }
        await rig.journal.close()
        try rig.tamper(change)
        // Each reports it, or does not depend on it.
        _ = try? rig.export()
        let report = try? JournalCheck(rig.path).run()
        #expect(report?.problemCount != 0)
        guard let journal = try? FileJournal(path: rig.path, looksEvery: nil) else { return }
        let archive = try #require(journal.archive)
        let saved = await withCheckedContinuation { continuation in
            archive.load("a") { continuation.resume(returning: $0) }
        }
        if case .success(let saved?) = saved {
            #expect(
                saved.end.number < HistoryPosition.limit
                    && saved.end.version < HistoryPosition.limit)
        }
        let answer = await withCheckedContinuation { continuation in
            archive.storedAnswer(of: SessionKey(session: "a", generation: "g1"), key: "k") {
                continuation.resume(returning: $0)
            }
        }
        // A status of another kind can't be sent: the status line has three digits for it.
        if case .success(let answer?) = answer {
            #expect(StoredAnswer.statuses.contains(answer.status))
        }
        await journal.trimNow()
        await journal.close()
    }
}

@Suite("A copy is of one moment, and its name is unique", .timeLimit(.minutes(60)))
struct BackupTests {
    @Test func `each commit beside it is in it as a whole or not at all`() async throws {
        let rig = try JournalRig()
        #expect(await rig.commit(HistoryEntry.life("s", 4_000)) == nil)
        let path = rig.path
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let isOver = Mutex(false)
        let writing = Task.detached {
            var pairs = 0
            while !isOver.withLock({ $0 }) {
                try JournalRig.run(
                    "INSERT INTO tombstones(id, reactor, generation, deleted) "
                        + "VALUES(hex(randomblob(8)), 'r', 'g', 1), (hex(randomblob(8)), 'r', 'g', 1)",
                    in: path)
                pairs += 1
                begin.yield()
            }
            return pairs
        }
        for await _ in begun { break }
        let copy = JournalRig.makeDirectory() + "/copy.sqlite"
        let copying = Result { try JournalBackup(path).run(to: copy) }
        isOver.withLock { $0 = true }
        let pairs = try await writing.value
        try copying.get()
        #expect(try JournalCheck(copy).run().problems == [])
        let copied =
            try JournalFile(copy).read { try $0.integer("SELECT count(*) FROM tombstones") } ?? 0
        #expect(copied >= 2 && copied.isMultiple(of: 2) && copied <= 2 * pairs)
    }

    @Test func `two copies of the same name do not write into each other`() async throws {
        let rig = try await JournalRig.withEverything()
        let copy = JournalRig.makeDirectory() + "/copy.sqlite"
        let first = try PartialFile(of: copy, suffix: ".backup")
        let fault = #expect(throws: JournalFileFault.self) {
            try JournalBackup(rig.path).run(to: copy)
        }
        #expect(fault?.sentence("x").contains("is being written by another process") == true)
        // A file that appeared there meanwhile is not replaced.
        try Data("mine".utf8).write(to: URL(fileURLWithPath: copy))
        #expect(throws: JournalFileFault.unusable("\(copy) exists already")) { try first.finish() }
        #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == Data("mine".utf8))
        #expect(!FileManager.default.fileExists(atPath: copy + ".backup"))
        try FileManager.default.removeItem(atPath: copy)
        // The partial file of a killed process does not block the next copy.
        try Data("half a copy".utf8).write(to: URL(fileURLWithPath: copy + ".backup"))
        try JournalBackup(rig.path).run(to: copy)
        #expect(try JournalCheck(copy).run().problems == [])
    }
}
