import Foundation
import Testing

@Suite("A backup is restored by starting a server on it", .timeLimit(.minutes(60)))
struct BackupTests {
    @Test func `a backup of a running server is continued by a new one`() async throws {
        let folder = TemporaryFolder()
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            let stream = try await session.follow("pulses")
            try await session.alert("a")
            let last = try await session.alert("b")
            let seen = try await stream.next(2)
            let before = try await session.read()

            let copy = try JournalFile(in: folder.path)
            let run = try await ServerProcess.run(
                .server, ["journal", "backup", journal.path, copy.path])
            #expect(run.exit == .code(0), "\(run.errors)")
            // The server continues meanwhile; this is lost with its disk.
            let lost = try await session.alert("lost")
            let lostID = try await stream.next().id
            try await first.murder()

            let restored = session.on(try await copy.start())
            #expect(try await restored.read() == before)
            let known = try await restored.open("pulses", [("Last-Event-ID", seen[0].id)])
            #expect(try await known.next().data == #""b""#)
            // A client that has seen more gets a reset, and the state of the backup.
            let ahead = try await restored.open("pulses", [("Last-Event-ID", lostID)])
            let events = try await ahead.next(2)
            #expect(events.map(\.name) == ["reset", "snapshot"])
            #expect(events[0].data.contains("ahead"))
            let next = try await restored.alert("c")
            #expect(next.version == last.version + 1)
            // The position is given again: clients of the lost one have to be gone or reset.
            #expect(next.position == lost.position)
            #expect(try await known.next().data == #""c""#)
            #expect(try await ahead.next().data == #""c""#)

            let check = try await ServerProcess.run(.server, ["journal", "check", copy.path])
            #expect(check.exit == .code(0), "\(check.output)")
        }
    }

    @Test func `a journal that was copied every moment is restored from the copies`() async throws {
        let folder = TemporaryFolder()
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            try await session.alert("0")
            let sent = folder.path + "/sent"
            let copies = folder.path + "/copies"
            try FileManager.default.createDirectory(
                atPath: copies, withIntermediateDirectories: true)
            let backup = try ServerProcess.launch(
                .server,
                [
                    "journal", "backup", journal.path, copies, "--every", "100ms", "--then",
                    // It fails once, and is run again without a further commit.
                    "test -e \(sent).failed || { touch \(sent).failed; exit 1; }; "
                        + "echo $REACTOR_COPY >>\(sent)",
                ], environment: [:])
            for turn in 1...3 {
                try await backup.log.wait {
                    $0.output.split(separator: "\n").count >= turn || $0.exit != nil
                }
                try await session.alert("\(turn)")
            }
            // The last copy begins after it.
            kill(backup.pid, SIGTERM)
            try await backup.log.wait { $0.exit != nil }
            #expect(backup.log.present.exit == .code(0), "\(backup.log.present.errors)")
            #expect(backup.log.present.errors.contains("--then failed"))
            let names = try FileManager.default.contentsOfDirectory(atPath: copies).sorted()
            #expect(names.first == "000001-000001.pages" && names.count >= 4)
            #expect(
                try String(contentsOfFile: sent, encoding: .utf8).contains(names[names.count - 1]))
            let before = try await session.read()
            try await first.murder()

            let copy = try JournalFile(in: folder.path)
            let restore = try await ServerProcess.run(
                .server, ["journal", "restore", copies, copy.path])
            #expect(restore.exit == .code(0), "\(restore.errors)")
            #expect(restore.output.contains("as in \(names[names.count - 1])"))
            #expect(try await session.on(try await copy.start()).read() == before)
        }
    }

    @Test func `a backup never replaces a file`() async throws {
        let folder = TemporaryFolder()
        try await withJournal { journal in
            let server = try await journal.start()
            _ = try await server.client().session("alerts")
            let copy = "\(folder.path)/copy"
            for code: Int32 in [0, 1] {
                let run = try await ServerProcess.run(
                    .server, ["journal", "backup", journal.path, copy])
                #expect(run.exit == .code(code), "\(run.errors)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["copy"])
        }
    }
}
