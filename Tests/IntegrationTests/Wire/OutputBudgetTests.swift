import Glibc
import Testing

@Suite("Contract §5 — output is bounded like input", .timeLimit(.minutes(60)))
struct OutputBudgetTests {
    private func get(_ path: String, _ fields: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
    }

    private func post(_ path: String, _ body: String, _ fields: String = "") -> String {
        "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\(fields)"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// 64 KiB of the same request.
    private func flood(_ request: String) -> String {
        String(repeating: request, count: 65_536 / request.utf8.count)
    }

    private func connect(_ server: ServerProcess) throws -> RawConnection {
        try RawConnection(port: server.port, receiveBufferBytes: 4_096)
    }

    // Case 144. Without the budget the process would use more than a gigabyte.
    @Test(arguments: ["/openapi.yaml", "/v1/sessions/large", "/v1/sessions?limit=1000", "/metrics"])
    func `case 144: pipelining without reading takes no memory`(path: String) async throws {
        try await withServer(.server, "--body-limit", "4194304") { server in
            let client = server.client()
            let large = SessionHandle(client: client, id: "large", created: "")
            _ = try await client.put(large.path, #"{"reactor":"alerts"}"#)
            try await large.alert(String(repeating: "x", count: 1 << 20))
            for number in 1...300 {
                _ = try await client.put("/v1/sessions/s\(number)", #"{"reactor":"alerts"}"#)
            }
            let before = try server.residentKilobytes()
            let connections = try (1...20).map { _ in try connect(server) }
            for connection in connections { await connection.send(flood(get(path))) }
            // Each has at least one response, so all of them are being served; the others get
            // theirs.
            for connection in connections { _ = await connection.receive(count: 1) }
            for _ in 1...20 { #expect(try await client.get("/livez").status == 200) }
            // 20 × (64 KiB read, 64 KiB written), a response shared or not, and the overhead of a
            // debug build.
            #expect(try server.residentKilobytes() - before < 64 << 10)
            #expect(try await large.alert("alive").version == 2)
        }
    }

    @Test func `all pipelined requests are answered in order as responses are read`() async throws {
        try await withServer { server in
            let session = try await server.client().session("counter")
            let connection = try connect(server)
            var text = ""
            for number in 1...300 {
                text +=
                    number.isMultiple(of: 3)
                    ? post("\(session.path)/actions", #"{"type":"increment","number":1}"#)
                    : get(number.isMultiple(of: 2) ? "/openapi.yaml" : session.path)
            }
            text += get("/livez", "Connection: close\r\n")
            await connection.send(text)
            let (answers, ending) = await connection.answersToTheEnd()
            #expect(answers.count == 301)
            #expect(answers.allSatisfy { $0.head.status == 200 })
            var version = 0
            for (index, answer) in answers.dropLast().enumerated() {
                let isPost = (index + 1).isMultiple(of: 3)
                if isPost { version += 1 }
                if !isPost, (index + 1).isMultiple(of: 2) {
                    #expect(answer.body.hasPrefix("openapi"))
                } else {
                    #expect(try JSONValue(text: answer.body)["version"] == .integer(version))
                }
            }
            #expect(ending == .finished)
        }
    }

    // Without the trim the process would keep it forever.
    @Test func `case 144: the memory of a flood of bodies is released`() async throws {
        try await withServer(.server, "--journal", "memory", "--loops", "1") { server in
            let client = server.client()
            let before = try server.residentKilobytes()
            let part =
                "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n"
                + String(repeating: "x", count: 60_000)
            var connections: [RawConnection] = []
            for _ in 1...600 {
                let connection = try RawConnection(port: server.port)
                await connection.send(part)
                connections.append(connection)
            }
            while try await client.metric("connections") ?? 0 < 601 {}
            #expect(try server.residentKilobytes() - before > 30_000)
            connections = []
            while try await client.metric("connections") ?? 0 > 1 {}
            while try server.residentKilobytes() - before > 20_000 {
                #expect(try await client.get("/livez").status == 200)
            }
        }
    }

    @Test func `HEAD and 304 of a large state count as a turn's work too`() async throws {
        try await withServer(.server, "--body-limit", "4194304") { server in
            let session = try await server.client().session("alerts")
            let tag = try await session.alert(String(repeating: "x", count: 1 << 20)).position
            let connection = try connect(server)
            await connection.send(
                String(repeating: "HEAD \(session.path) HTTP/1.1\r\nHost: a\r\n\r\n", count: 50)
                    + String(
                        repeating: get(session.path, "If-None-Match: \"\(tag)\"\r\n"), count: 50)
                    + get("/livez", "Connection: close\r\n"))
            let received = await connection.receiveAll()
            #expect(received.text.split(separator: "HTTP/1.1 304").count == 51)
            #expect(received.text.split(separator: "HTTP/1.1 200").count == 51)
            #expect(received.ending == .finished)
        }
    }

    // The kernel buffers an unknown number of bytes: among these lengths one leaves responses
    // unsent just before the stream begins.
    @Test func `a stream behind other responses begins after them`() async throws {
        try await withJournal { journal in
            let first = try await journal.start("--loops", "1")
            let client = first.client()
            let state = try await client.session("alerts")
            try await state.alert(String(repeating: "x", count: 12_000))
            let ids = (0..<60).map { "late\($0)" }
            for id in ids {
                _ = try await client.put("/v1/sessions/\(id)", #"{"reactor":"alerts"}"#)
            }
            try await first.murder()
            // Now none of them is in memory, so each stream begins later than its request.
            let server = try await journal.start("--loops", "1")
            _ = try await server.client().get(state.path)
            for (number, id) in ids.enumerated() {
                let connection = try connect(server)
                let count = 5 * number + 4
                await connection.send(
                    String(repeating: get(state.path), count: count)
                        + get("/v1/sessions/\(id)/pulses"))
                let received = await connection.receive { bytes in
                    bytes.suffix(2_000).contains(0x7D)
                        && String(decoding: bytes.suffix(2_000), as: UTF8.self)
                            .contains("event: snapshot")
                }
                let answers = RawConnection.split(received.bytes)
                #expect(answers.count == count + 1)
                let isWhole = answers.prefix(count).allSatisfy { $0.body == answers[0].body }
                #expect(isWhole)
                #expect(answers.last?.head["Content-Type"] == "text/event-stream; charset=utf-8")
            }
        }
    }

    @Test func `a request in two parts behind unsent answers leaves the connection alive`()
        async throws
    {
        try await withServer { server in
            let session = try await server.client().session("counter")
            let connection = try connect(server)
            let add = post("\(session.path)/actions", #"{"type":"increment","number":1}"#)
            await connection.send(
                add + String(repeating: get("/openapi.yaml"), count: 100) + add.dropLast(10))
            _ = try await server.client().get("/livez")
            await connection.send(String(add.suffix(10)))
            let answers = await connection.receive { bytes in
                String(decoding: bytes.suffix(300), as: UTF8.self).contains(#"{"version":2,"#)
            }
            #expect(RawConnection.split(answers.bytes).count == 102)
            await connection.send(get("/livez", "Connection: close\r\n"))
            let last = await connection.answersToTheEnd()
            #expect(last.answers.map(\.head.status) == [200])
            #expect(last.ending == .finished)
        }
    }

    // Without the fix the server waits for the whole grace time.
    @Test func `draining ends with the last response that a client reads`() async throws {
        try await withServer(.server, "--grace", "10m") { server in
            let connection = try connect(server)
            await connection.send(String(repeating: get("/openapi.yaml"), count: 100))
            _ = await connection.receive(count: 1)
            server.signal(SIGTERM)
            while (try? RawConnection(port: server.port)) != nil {}
            let received = await connection.receiveAll()
            #expect(received.ending == .finished)
            let text = received.text
            #expect(text.hasSuffix("\n"))
            #expect(try await server.exit() == .code(0))
        }
    }

    @Test func `pending responses are sent before a connection moves to another loop`()
        async throws
    {
        try await withServer(.server, "--loops", "4") { server in
            let client = server.client()
            for number in 0..<8 {
                _ = try await client.put("/v1/sessions/s\(number)", #"{"reactor":"counter"}"#)
            }
            for number in 0..<8 {
                let connection = try connect(server)
                let text =
                    String(repeating: get("/openapi.yaml"), count: 60)
                    // Small responses in the same turn as the request that moves.
                    + String(repeating: get("/v1/sessions/s\(7 - number)"), count: 40)
                    + post(
                        "/v1/sessions/s\(number)/actions", #"{"type":"increment","number":1}"#,
                        "Connection: close\r\n")
                await connection.send(text)
                let (answers, ending) = await connection.answersToTheEnd()
                #expect(answers.count == 101)
                #expect(answers.allSatisfy { $0.head.status == 200 })
                #expect(ending == .finished)
            }
        }
    }
}
