import ReactorHosting
import Storage
import Testing

@Suite(
    "Contract §3.2 — a temporary problem of a stream is 200 with retry, never 5xx",
    .timeLimit(.minutes(60)))
struct UnavailableTests {
    private static let stream = "GET /v1/sessions/x/pulses HTTP/1.1\r\nHost: a\r\n"

    private func expectProblem(_ received: RawConnection.Received, _ code: String) {
        #expect(received.text.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(received.text)")
        #expect(received.text.contains("Content-Type: text/event-stream; charset=utf-8\r\n"))
        #expect(received.text.contains("retry: "))
        #expect(received.text.contains("\nevent: problem\ndata: "))
        #expect(received.text.contains(#""code":"\#(code)""#))
        #expect(received.ending == .finished)
    }

    @Test func `a subscription whose session's creation fails gets a problem event`() async throws {
        let journal = HeldJournal()
        try await LocalServer.with(journal) { server in
            let creator = try server.connect()
            let body = #"{"reactor":"alerts"}"#
            await creator.send(
                "PUT /v1/sessions/x HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            let ended = try await journal.next()
            let reader = try server.connect()
            // Both requests are served before the first response is sent.
            await reader.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n\(Self.stream)\r\n")
            #expect(await reader.receive(until: "alive\"}\n").text.contains("200 OK"))
            ended(.failed(JournalFailure(reason: .full, detail: "no space left")))
            expectProblem(await reader.receiveAll(), "journal_full")
            #expect(await creator.answers(1).first?.head.status == 507)
        }
    }

    @Test func `a subscriber beyond the limit of its session is asked to return in 10 s`()
        async throws
    {
        try await LocalServer.with(MemoryJournal()) {
            $0.subscriberLimit = 1
            $0.retry = .milliseconds(1)
        } _: { server in
            #expect(try await server.create("x", of: "alerts") == 201)
            let (first, second) = (try server.connect(), try server.connect())
            await first.send(Self.stream + "\r\n")
            _ = await first.receive(until: "event: snapshot")
            await second.send(Self.stream + "\r\n")
            let refused = await second.receiveAll()
            expectProblem(refused, "too_many_subscribers")
            let retry = refused.text.split(separator: "retry: ").last?.prefix { $0.isNumber }
            #expect(7_500...12_500 ~= Int(retry ?? "") ?? 0, "\(refused.text)")
            let scrape = try server.connect()
            await scrape.send("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let metrics = await scrape.receiveAll().text
            #expect(metrics.contains(#"reactor_refusals_total{code="too_many_subscribers"} 1"#))
        }
    }

    @Test func `a subscription during draining gets a problem event`() async throws {
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
            // A part of a request has arrived, which may still be completed.
            await creator.send(Self.stream + "Accept: text/event-stream")
            await idle.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await idle.answers(1)
            server.stop()
            #expect(await idle.receiveAll().ending == .finished)
            await creator.send("\r\n\r\n")
            expectProblem(await creator.receiveAll(), "draining")
        }
    }

    // Without the check it would stay open until the end of the grace time: all other streams were
    // ended before it began.
    @Test func `a subscription that waits for a commit when draining begins gets a problem event`()
        async throws
    {
        let journal = HeldJournal()
        try await LocalServer.with(journal) {
            $0.grace = .seconds(600)
        } _: { server in
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
            ended(.committed)
            expectProblem(await reader.receiveAll(), "draining")
            #expect(await creator.answers(1).first?.head.status == 201)
        }
    }

    // The kernel buffers an unknown number of bytes: among these lengths some leave responses
    // unsent just before the connection would move to the loop of its stream's session.
    @Test func `a subscription on another loop gets a problem event while bodies use all memory`()
        async throws
    {
        try await LocalServer.with {
            $0.loops = 2
            $0.bodyBudgetBytes = 65_536
            $0.bodyLimitBytes = 16_384
        } _: { server in
            // Their loops are 0 and 1.
            for session in ["y", "x"] {
                #expect(try await server.create(session, of: "alerts") == 201)
            }
            let message = String(repeating: "x", count: 12_000)
            let action = #"{"type":"alert","message":"\#(message)"}"#
            let poster = try server.connect()
            await poster.send(
                "POST /v1/sessions/y/actions HTTP/1.1\r\nHost: a\r\n"
                    + "Content-Type: application/json\r\n"
                    + "Content-Length: \(action.utf8.count)\r\n\r\n\(action)")
            #expect(await poster.answers(1).first?.head.status == 200)
            var parts: [RawConnection] = []
            for _ in 1...6 {
                let part = try server.connect()
                await part.send(
                    "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
                        + "GET /livez HTTP/1.1\r\nHost: a\r\nA: "
                        + String(repeating: "a", count: 10_000))
                #expect(await part.answers(1).first?.head.status == 200)
                parts.append(part)
            }
            var problems = 0
            for number in 0..<40 {
                let connection = try server.connect(receiveBufferBytes: 4_096)
                let count = 5 * number + 4
                await connection.send(
                    String(
                        repeating: "GET /v1/sessions/y HTTP/1.1\r\nHost: a\r\n\r\n", count: count)
                        + Self.stream + "A: \(String(repeating: "a", count: 7_000))\r\n\r\n")
                let received = await connection.receive { bytes in
                    let end = String(decoding: bytes.suffix(20_000), as: UTF8.self)
                    return end.contains("event: problem") || end.contains("event: snapshot")
                }
                // An ended stream has a last chunk, which looks like an empty head.
                let answers = RawConnection.split(received.bytes).prefix(count + 1)
                #expect(answers.map(\.head.status) == Array(repeating: 200, count: count + 1))
                #expect(answers.last?.head["Content-Type"] == "text/event-stream; charset=utf-8")
                if received.text.contains(#""code":"too_many_bodies""#) { problems += 1 }
            }
            #expect(problems > 0)
        }
    }
}
