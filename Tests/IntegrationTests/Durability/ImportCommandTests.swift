import Foundation
import Testing

@Suite("journal import takes what journal export has written", .timeLimit(.minutes(60)))
struct ImportCommandTests {
    /// Runs a line of shell with the program as `$0`, the file as `$1` and a new file as `$2`.
    private func run(_ line: String, _ journal: JournalFile) async throws -> ProcessLog.Present {
        try await Tool.run(
            "sh", ["-c", line, ServerProcess.Program.server.path, journal.path, journal.path + "2"])
    }

    @Test func `and refuses bytes that are no text`() async throws {
        let journal = try JournalFile()
        let server = try await journal.start()
        try await server.client().session("alerts").alert("a mark")
        server.signal(SIGTERM)
        _ = try await server.exit()
        let damaged = try await run(
            #"$0 journal export $1 | sed 's/a mark/\xff\xfe/' | $0 journal import $2"#, journal)
        #expect(damaged.exit == .code(1))
        #expect(damaged.errors.contains("line "))
        #expect(!FileManager.default.fileExists(atPath: journal.path + "2"))
        // Ends of lines are no part of them, and the last one may lack its own.
        let copied = try await run(
            #"printf %s "$($0 journal export $1 | sed 's/$/\r/')" | $0 journal import $2"#, journal)
        #expect(copied.exit == .code(0), "\(copied.errors)")
        let same = try await run(
            #"test "$($0 journal export $1)" = "$($0 journal export $2)""#, journal)
        #expect(same.exit == .code(0))
    }
}
