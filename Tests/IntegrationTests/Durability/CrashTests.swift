import Foundation
import Glibc
import Testing

@testable import Storage

@Suite(
    "Case 151 — the next start names the action that ended the process", .timeLimit(.minutes(60)))
struct CrashTests {
    @Test(arguments: ["trapInMutate", "trapInReduce", "recurse"])
    func `case 151: a trap during an action names session, reactor and number`(
        _ action: String
    ) async throws {
        try await withJournal { journal in
            let session = try await end(journal, by: action)
            let second = try await start(journal)
            try await expectLine(
                "session \(session.id) of reactor trapping was carrying out action 3", second)
            // The action was not committed; the others are there.
            #expect(try await session.on(second).read()["version"] == 2)
            try await expectForgotten(journal, second)
        }
    }

    @Test func `case 151: an action of a batch is named by its own number`() async throws {
        try await withJournal { journal in
            let first = try await start(journal)
            let session = try await first.client().session("trapping")
            await expectNoAnswer(
                session, #"[{"type":"add"},{"type":"add"},{"type":"trapInReduce"}]"#)
            _ = try await first.exit()
            try await expectLine("was carrying out action 3", try await start(journal))
        }
    }

    @Test func `case 151: effects that ran are named, and how often they were begun`()
        async throws
    {
        try await withJournal { journal in
            let session = try await end(journal, by: "trapLater")
            for begun in 1...2 {
                let next = try await start(journal, "--wake-on-demand")
                // It is received again under its own number.
                try await expectLine(
                    "effects of action 3 of session \(session.id) of reactor trapping", next)
                try await expectLine("begun \(begun) of at most 3 times", next)
                // The next request for the session runs the action again.
                _ = try? await session.on(next).read()
                _ = try await next.exit()
            }
        }
    }

    @Test func `case 151: a process killed while a reactor does not return names it`()
        async throws
    {
        try await withJournal { journal in
            let first = try await start(journal)
            let session = try await first.client().session("trapping")
            let hanging = Task { try await session.post(#"{"type":"hang"}"#) }
            // The file alone proves nothing: on a slow machine the creation may have been written.
            while CrashRecord.traces(at: journal.path + ".running").first?.action != 1 {
                try Task.checkCancellation()
                await Task.yield()
            }
            try await first.murder()
            await #expect(throws: (any Error).self) { try await hanging.value }
            let second = try await start(journal)
            try await expectLine(
                "session \(session.id) of reactor trapping was carrying out action 1", second)
            try await expectForgotten(journal, second)
        }
    }

    /// Nobody asks for the session: it is woken because its effects ran.
    @Test func `effects that end each process are begun three times without a request`()
        async throws
    {
        try await withJournal { journal in
            let session = try await end(journal, by: "trapLater")
            for begun in 1...2 {
                let log = try await ServerProcess.run(
                    .fixtures, ["--port", "0"] + journal.options,
                    environment: ["SWIFT_BACKTRACE": "enable=no"])
                guard case .signal? = log.exit else {
                    Issue.record("it has not ended by a signal")
                    return
                }
                #expect(log.errors.contains("begun \(begun) of at most 3 times"))
            }
            // Then they have failed, and the server stays.
            let server = try await start(journal)
            let client = server.client()
            // A page shows the failure once it is committed; the session wakes in the background.
            var log = try await client.get("\(session.path)/log").text
            while !log.contains("effect.failed") {
                log = try await client.get("\(session.path)/log").text
            }
            #expect(log.contains("abandoned: it was begun 3 times"))
            #expect(log.ranges(of: "effect.started").count == 3)
        }
    }

    private func start(_ journal: JournalFile, _ options: String...) async throws -> ServerProcess {
        // A backtrace takes seconds per crash.
        try await ServerProcess.start(
            .fixtures, journal.options + options, environment: ["SWIFT_BACKTRACE": "enable=no"])
    }

    /// Two harmless actions, and one that ends the process.
    private func end(_ journal: JournalFile, by action: String) async throws -> SessionHandle {
        let server = try await start(journal)
        let session = try await server.client().session("trapping")
        for _ in 1...2 { try await session.post(#"{"type":"add"}"#) }
        await expectNoAnswer(session, #"{"type":"\#(action)"}"#, mayAnswer: action == "trapLater")
        guard case .signal = try await server.exit() else {
            Issue.record("it has not ended by a signal")
            return session
        }
        return session
    }

    private func expectNoAnswer(
        _ session: SessionHandle, _ body: String, mayAnswer: Bool = false
    ) async {
        let answer = try? await session.client.post("\(session.path)/actions", body)
        #expect(answer == nil || mayAnswer)
    }

    private func expectLine(_ text: String, _ server: ServerProcess) async throws {
        try await server.log.wait { $0.errors.contains("of reactor trapping") || $0.exit != nil }
        #expect(server.log.present.errors.contains(text), "\(server.log.present.errors)")
    }

    /// The start after a clean end reports nothing.
    private func expectForgotten(_ journal: JournalFile, _ server: ServerProcess) async throws {
        #expect(!FileManager.default.fileExists(atPath: journal.path + ".running"))
        server.signal(SIGTERM)
        #expect(try await server.exit() == .code(0))
        let next = try await start(journal)
        next.signal(SIGTERM)
        _ = try await next.exit()
        #expect(!next.log.present.errors.contains("the process ended"))
    }
}
