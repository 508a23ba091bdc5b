import Foundation
import Testing

@Suite(
    "A moved or removed journal acknowledges nothing", .timeLimit(.minutes(60)))
struct MovedJournalTests {
    @Test func `commits get 503 until the file is back, and acknowledged actions survive`()
        async throws
    {
        try await withJournal { journal in
            let server = try await journal.start()
            let session = try await server.client().session("alerts")
            let before = try await session.alert("before")
            let elsewhere = journal.path + ".moved"
            try FileManager.default.moveItem(atPath: journal.path, toPath: elsewhere)
            let refusal = try await session.client.post(
                "\(session.path)/actions", #"{"type":"alert","message":"failed"}"#)
            try expectProblem(
                refusal, 503, "journal_unavailable", detail: "removed or replaced")
            try expectProblem(try await session.client.get("/readyz"), 503, "journal_unavailable")
            try FileManager.default.moveItem(atPath: elsewhere, toPath: journal.path)

            try await untilReady(session.client)
            let after = try await session.alert("after")
            #expect(after.version == before.version + 1)
            try await server.murder()
            let again = session.on(try await journal.start())
            #expect(try await again.state()["alertMessage"] == "after")
            #expect(try await again.read()["version"]?.integer == after.version)
        }
    }

    @Test func `a removed write-ahead log loses nothing`() async throws {
        try await withJournal { journal in
            let server = try await journal.start()
            let session = try await server.client().session("alerts")
            try await session.alert("before")
            for suffix in ["-wal", "-shm"] {
                try FileManager.default.removeItem(atPath: journal.path + suffix)
            }
            let after = try await session.alert("after")
            try await server.murder()
            let again = session.on(try await journal.start())
            #expect(try await again.read()["version"]?.integer == after.version)
            let stream = try await again.open("pulses?from=start")
            #expect(try await stream.next(2).map(\.data) == [#""before""#, #""after""#])
        }
    }
}
