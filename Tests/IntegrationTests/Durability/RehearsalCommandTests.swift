import Foundation
import ReactorReplay
import SampleReactors
import Testing

@Suite(
    "journal rehearse reads what a server uses, and exits 1 if a session would not wake",
    .enabled(if: Tool.hasPython, "python3 edits the file"), .timeLimit(.minutes(60)))
struct RehearsalCommandTests {
    private func rehearse(_ file: String) async throws -> ProcessLog.Present {
        try await ServerProcess.run(.server, ["journal", "rehearse", file])
    }

    @Test func `a file in use, and a copy of it`() async throws {
        try await withJournal { journal in
            let server = try await journal.start()
            let session = try await server.client().session("alerts")
            try await session.alert("poison")
            let run = try await rehearse(journal.path)
            #expect(run.exit == .code(0), "\(run.errors)")
            #expect(run.output.contains("1 sessions: 0 would be quarantined"))
            #expect(try await session.read()["version"] == 1)
            // The code is the same, so the replay finds no difference.
            let present = try await ServerProcess.run(.server, ["journal", "export", journal.path])
            let exported = try ExportedSession(session.id, of: present.output)
            #expect(try exported.replay(with: Alerts()) == nil)
            try await server.murder()

            try await journal.edit(
                "UPDATE TABLE SET COLUMN = replace(COLUMN, 'setAlertMessage', 'setNoSuchThings') "
                    + "WHERE COLUMN LIKE '%poison%'")
            let copy = journal.path + ".copy"
            let backup = try await ServerProcess.run(
                .server, ["journal", "backup", journal.path, copy])
            #expect(backup.exit == .code(0), "\(backup.errors)")
            for run in [try await rehearse(journal.path), try await rehearse(copy)] {
                #expect(run.exit == .code(1), "\(run.errors)")
                #expect(
                    run.output.hasPrefix(
                        "session \(session.id) of alerts would be quarantined: the mutation of "
                            + "version 1: "))
                #expect(run.errors == "")
            }
        }
    }

    @Test func `a file that is not there is named`() async throws {
        let folder = TemporaryFolder()
        let run = try await rehearse(folder.path + "/none.sqlite")
        #expect(run.exit == .code(1))
        #expect(
            run.errors.contains("none.sqlite can't be used as a journal: there is no such file"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }
}
