import Foundation
import Testing

@Suite("reactor-server session tail", .timeLimit(.minutes(60)))
struct SessionTailTests {
    private func tail(_ address: String, _ arguments: String...) throws -> ServerProcess {
        try ServerProcess.begin(.server, ["session", "tail"] + arguments + ["--server", address])
    }

    @Test func `each event comes once, although the server was killed`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("alerts")
            let tail = try tail(first.address, session.id, "--pulse", "alertMessage")
            try await tail.log.wait { $0.output.contains("snapshot") }
            var expected = ["\(session.created)  snapshot  {\"alertMessage\":null}"]
            func alert(_ text: String, _ server: ServerProcess) async throws {
                let receipt = try await session.on(server).alert(text)
                expected.append("\(receipt.position)  alertMessage  \"\(text)\"")
            }
            try await alert("one", first)
            try await tail.log.wait { $0.output.contains("one") }
            try await first.murder()
            // An event that comes while the command has no connection.
            let elsewhere = try await journal.start()
            try await alert("two", elsewhere)
            try await elsewhere.murder()
            try await tail.log.wait { $0.errors.contains("connecting again") }
            let second = try await journal.start("--port", "\(first.port)")
            try await alert("three", second)
            // A reader that has no connection when a session ends gets nothing more of it.
            try await tail.log.wait { $0.output.contains("three") }
            #expect(try await second.client().delete(session.path).status == 204)
            #expect(try await tail.exit() == .code(0))
            let lines = tail.log.present.output.split(separator: "\n").map(String.init)
            #expect(lines.dropLast() == expected[...])
            #expect(lines.last?.hasSuffix(#"  end  {"reason":"deleted"}"#) == true)
            let later = try await ServerProcess.run(
                .server, ["session", "tail", session.id, "--server", second.address])
            #expect(later.exit == .code(0) && later.output.isEmpty)
            #expect(later.errors == "reactor-server: the session has ended\n")
        }
    }

    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    private static let first =
        head + "retry: 1\nevent: a\nid: x.1\ndata: 1\n\nevent: a\nid: x.2\nda"

    @Test func `it continues after the last whole event, past proxies and problems`() async throws {
        let server = try CannedServer(
            Self.first, "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<html>", "",
            Self.head + "event: problem\n"
                + #"data: {"status":503,"code":"draining","detail":"it ends"}"# + "\n\n",
            Self.head + "event: b\nid: x.2\ndata: 2\n\nevent: end\nid: x.3\ndata: {}\n\n")
        let tail = try tail(server.address, "s", "--after", "x.0", "--json", "--states")
        #expect(try await tail.exit() == .code(0))
        #expect(
            tail.log.present.output == """
                {"name":"a","position":"x.1","data":1}
                {"name":"b","position":"x.2","data":2}
                {"name":"end","position":"x.3","data":{}}

                """)
        let requests = server.log.present.output
        let ids = requests.matches(of: /Last-Event-ID: (\S+)\r\n/).map { String($0.1) }
        #expect(ids == ["x.0", "x.1", "x.1", "x.1", "x.1"])
        #expect(requests.contains("/events?only=pulses%2Cactivities%2Cstates& HTTP/1.1\r\n"))
    }

    @Test func `a refusal of the service ends it`() async throws {
        let refusal =
            "HTTP/1.1 403 Forbidden\r\nContent-Type: application/problem+json\r\n\r\n"
            + #"{"status":403,"code":"forbidden","detail":"no"}"#
        for answers in [(Self.first, refusal), (refusal, refusal)] {
            let server = try CannedServer(answers.0, answers.1)
            let tail = try tail(server.address, "s")
            #expect(try await tail.exit() == .code(1))
            #expect(tail.log.present.errors == "reactor-server: 403 forbidden: no\n")
            #expect(server.log.present.output.contains("GET /v1/sessions/s/events?"))
        }
    }

    @Test func `an interrupt ends it without a message, and so does the end of its reader`()
        async throws
    {
        try await withServer(.server, "--heartbeat", "100ms") { server in
            let session = try await server.client().session("alerts")
            let tail = try tail(server.address, session.id)
            try await tail.log.wait { $0.output.contains("snapshot") }
            tail.signal(SIGINT)
            #expect(try await tail.exit() == .signal(SIGINT))
            #expect(tail.log.present.errors.isEmpty)
            // head(1) ends after the snapshot; no other event comes.
            let script = #"{ "$0" session tail "$1" --server "$2"; echo "$?" >&2; } | head -n 1"#
            let piped = try await Tool.run(
                "sh",
                ["-c", script, ServerProcess.Program.server.path, session.id, server.address])
            #expect(piped.errors == "0\n")
            #expect(piped.output.split(separator: "\n").count == 1)
        }
    }
}
