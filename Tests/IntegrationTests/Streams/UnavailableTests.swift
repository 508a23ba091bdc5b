import Storage
import Testing

@Suite(
    "Contract §3.2 — no stream is answered with a 5xx for what may pass", .timeLimit(.minutes(5)))
struct UnavailableTests {
    private static let stream = "GET /v1/sessions/x/pulses HTTP/1.1\r\nHost: a\r\n"

    private func expectProblem(_ received: RawConnection.Received, _ code: String) {
        #expect(received.text.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(received.text)")
        #expect(received.text.contains("Content-Type: text/event-stream\r\n"))
        #expect(received.text.contains("retry: "))
        #expect(received.text.contains("\nevent: problem\ndata: "))
        #expect(received.text.contains(#""code":"\#(code)""#))
        #expect(received.ending == .finished)
    }

    @Test func `a session whose creation fails`() async throws {
        let journal = HeldJournal()
        try await LocalServer.with(journal) { server in
            let creator = try server.connect()
            let body = #"{"reactor":"alerts"}"#
            await creator.send(
                "PUT /v1/sessions/x HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            let ended = try await journal.next()
            let reader = try server.connect()
            // Both requests are served before the first answer goes out.
            await reader.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n\(Self.stream)\r\n")
            #expect(await reader.receive(until: "alive\"}\n").text.contains("200 OK"))
            ended(JournalFailure(reason: .full, detail: "no space left"))
            expectProblem(await reader.receiveAll(), "journal_full")
            #expect(await creator.answers(1).first?.head.status == 507)
        }
    }

    @Test func `a server that drains`() async throws {
        try await LocalServer.with(MemoryJournal()) { server in
            let idle = try server.connect()
            await idle.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await idle.answers(1)
            let creator = try server.connect()
            let body = #"{"reactor":"alerts"}"#
            await creator.send(
                "PUT /v1/sessions/x HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            #expect(await creator.answers(1).first?.head.status == 201)
            // A part of a request has come, which may still be finished.
            await creator.send(Self.stream + "Accept: text/event-stream")
            await idle.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await idle.answers(1)
            server.stop()
            #expect(await idle.receiveAll().ending == .finished)
            await creator.send("\r\n\r\n")
            expectProblem(await creator.receiveAll(), "draining")
        }
    }

    // It would stay open until the grace time is over: all other streams were ended before it began.
    @Test func `a stream that waits for a commit when the server begins to drain`() async throws {
        let journal = HeldJournal()
        try await LocalServer.with(journal) { server in
            let (idle, creator, reader) = (
                try server.connect(), try server.connect(), try server.connect()
            )
            let body = #"{"reactor":"alerts"}"#
            await creator.send(
                "PUT /v1/sessions/x HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            let ended = try await journal.next()
            await reader.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n\(Self.stream)\r\n")
            #expect(await reader.receive(until: "alive\"}\n").text.contains("200 OK"))
            await idle.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await idle.answers(1)
            server.stop()
            // The drain has begun.
            #expect(await idle.receiveAll().ending == .finished)
            ended(nil)
            expectProblem(await reader.receiveAll(), "draining")
            #expect(await creator.answers(1).first?.head.status == 201)
        }
    }
}
