import ReactorHosting
import Storage
import Testing

@Suite("RFC 9112 §9 — connections", .timeLimit(.minutes(60)))
struct ConnectionTests {
    private func connect() async throws -> RawConnection {
        try RawConnection(port: try await Servers.shared.process(.server).port)
    }

    private let get = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `a connection is kept for further requests`() async throws {
        let client = try await sharedServer()
        var made = 0
        for _ in 1...10 { made += try await client.get("/livez").newConnections }
        #expect(made == 1)
    }

    @Test func `a refusal keeps the connection too`() async throws {
        let client = try await sharedServer()
        var made = 0
        for path in ["/nothing", "/v1/sessions/never", "/v1/sessions?limit=x", "/livez"] {
            made += try await client.get(path).newConnections
        }
        made += try await client.post("/v1/sessions", "{").newConnections
        #expect(made == 1)
    }

    @Test func `sessions of all loops are reachable on one connection`() async throws {
        try await withServer(.server, "--loops", "4") { server in
            let client = server.client()
            var made = 0
            for number in 1...40 {
                let path = "/v1/sessions/s\(number)"
                let put = try await client.put(path, #"{"reactor":"counter"}"#)
                let post = try await client.post(
                    "\(path)/actions", #"{"type":"increment","number":\#(number)}"#)
                let get = try await client.get(path)
                #expect(put.status == 201 && post.status == 200)
                #expect(try get.json["state"] == ["count": .integer(number)])
                made += put.newConnections + post.newConnections + get.newConnections
            }
            #expect(made == 1)
            #expect(try await client.get("/v1/sessions").json["sessions"]?.array?.count == 40)
        }
    }

    @Test func `pipelined requests are answered in order`() async throws {
        let session = try await sharedServer().session("counter")
        let connection = try await connect()
        var text = ""
        for number in 1...200 {
            let body = #"{"type":"increment","number":1}"#
            text +=
                number.isMultiple(of: 3)
                ? "GET \(session.path)?version=\(number - 1) HTTP/1.1\r\nHost: a\r\n\r\n"
                : "POST \(session.path)/actions HTTP/1.1\r\nHost: a\r\n"
                    + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                    + body
        }
        await connection.send(text)
        let answers = await connection.answers(200)
        #expect(answers.count == 200)
        var version = 0
        for (index, answer) in answers.enumerated() {
            if (index + 1).isMultiple(of: 3) {
                // Two of three requests ask for a version that does not exist.
                #expect([200, 404].contains(answer.head.status))
                continue
            }
            version += 1
            #expect(answer.head.status == 200)
            #expect(try JSONValue(text: answer.body)["version"] == .integer(version))
        }
    }

    @Test func `pipelining across sessions of different loops keeps the order`() async throws {
        try await withServer(.server, "--loops", "4") { server in
            let client = server.client()
            for number in 0..<8 {
                _ = try await client.put("/v1/sessions/s\(number)", #"{"reactor":"counter"}"#)
            }
            let connection = try RawConnection(port: server.port)
            let order = (0..<100).map { $0 * 7 % 8 }
            await connection.send(
                order.map { "GET /v1/sessions/s\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
            let answers = await connection.answers(100)
            let ids = try answers.map { try JSONValue(text: $0.body)["id"]?.string }
            #expect(ids == order.map { "s\($0)" })
        }
    }

    @Test func `a request may come byte by byte`() async throws {
        let session = try await sharedServer().session("alerts")
        let connection = try await connect()
        let body = #"{"type":"alert","message":"Hé"}"#
        let text =
            "POST \(session.path)/actions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        for byte in text.utf8 { await connection.send([byte]) }
        let answer = try #require(await connection.answers(1).first)
        #expect(answer.head.status == 200)
        #expect(try await session.state()["alertMessage"] == "Hé")
    }

    @Test(arguments: [1, 2, 3, 7, 64])
    func `a chunked body may come in pieces`(size: Int) async throws {
        let session = try await sharedServer().session("alerts")
        let connection = try await connect()
        let body = Array(#"{"type":"alert","message":"chunked"}"#.utf8)
        await connection.send(
            "POST \(session.path)/actions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n")
        for start in stride(from: 0, to: body.count, by: size) {
            let part = body[start..<min(start + size, body.count)]
            await connection.send("\(String(part.count, radix: 16));name=value\r\n")
            await connection.send(Array(part))
            await connection.send("\r\n")
        }
        await connection.send("0\r\nTrailer: dropped\r\n\r\n\(get)")
        let answers = await connection.answers(2)
        #expect(answers.map(\.head.status) == [200, 200])
        #expect(try await session.state()["alertMessage"] == "chunked")
    }

    @Test func `libcurl's chunked body is accepted`() async throws {
        let session = try await sharedServer().session("alerts")
        let text = String(repeating: "chunk ", count: 50_000)
        var request = Request.json("POST", "\(session.path)/actions", "")
        request.body = .chunked(Array(#"{"type":"alert","message":"\#(text)"}"#.utf8))
        #expect(try await session.client.send(request).status == 200)
        #expect(try await session.state()["alertMessage"] == .string(text))
    }

    @Test func `100-continue is sent before the body, and once`() async throws {
        let session = try await sharedServer().session("alerts")
        let connection = try await connect()
        let body = #"{"type":"doSomeAction"}"#
        await connection.send(
            "POST \(session.path)/actions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                + "Expect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
        #expect(await connection.answers(1).map(\.head.status) == [100])
        await connection.send(String(body.prefix(5)))
        await connection.send(String(body.dropFirst(5)))
        let answers = await connection.answers(1)
        #expect(answers.map(\.head.status) == [200], "\(answers)")
    }

    @Test func `a request that waits for 100 Continue is not confused with another`() async throws {
        try await withServer(.server, "--loops", "1") { server in
            let mine = try await server.client().session("alerts")
            let other = try await server.client().session("alerts")
            let connection = try RawConnection(port: server.port)
            let body = #"{"type":"alert","message":"mine"}"#
            await connection.send(
                "POST \(mine.path)/actions HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            )
            #expect(await connection.answers(1).map(\.head.status) == [100])
            try await other.alert("other")
            await connection.send(body)
            #expect(await connection.answers(1).map(\.head.status) == [200])
            #expect(try await mine.state()["alertMessage"] == "mine")
            #expect(try await other.state()["alertMessage"] == "other")
        }
    }

    @Test func `100-continue is not sent for a refused body`() async throws {
        let connection = try await connect()
        await connection.send(
            "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                + "Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
        let (answers, ending) = await connection.answersToTheEnd()
        #expect(answers.map(\.head.status) == [413])
        #expect(ending == .finished)
    }

    @Test func `Connection: close is answered with the same field, then closed`() async throws {
        let connection = try await connect()
        await connection.send("GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n\(get)")
        let (answers, ending) = await connection.answersToTheEnd()
        #expect(answers.count == 1)
        #expect(answers.first?.head.status == 200)
        #expect(answers.first?.head["Connection"] == "close")
        #expect(ending == .finished)
    }

    @Test func `HTTP/1.0 closes unless it asks for keep-alive`() async throws {
        let connection = try await connect()
        await connection.send("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        let kept = try #require(await connection.answers(1).first)
        #expect(kept.head.status == 200)
        #expect(kept.head["Connection"] == "keep-alive")
        await connection.send("GET /livez HTTP/1.0\r\n\r\n")
        let (answers, ending) = await connection.answersToTheEnd()
        #expect(answers.count == 1)
        #expect(answers.first?.head["Transfer-Encoding"] == nil)
        #expect(ending == .finished)
    }

    @Test func `a response that waits for its commit keeps the connection options`() async throws {
        let session = try await sharedServer().session("alerts")
        let body = #"{"type":"doSomeAction"}"#
        func post(_ version: String, _ fields: String) -> String {
            "POST \(session.path)/actions HTTP/\(version)\r\nHost: a\r\n\(fields)"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        }
        let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let connection = try await connect()
        await connection.send(post("1.1", "") + post("1.0", "Connection: keep-alive\r\n"))
        let kept = await connection.answers(2)
        #expect(kept.map { $0.head["Connection"] } == [nil, "keep-alive"])
        #expect(kept.allSatisfy { $0.head["Date"] != nil })
        #expect(kept.allSatisfy { $0.head["Durability"] == ServerVariant.current.durability })
        await connection.send(post("1.1", "traceparent: \(traceparent)\r\n"))
        #expect(await connection.answers(1).first?.head["traceparent"] == traceparent)
        await connection.send(post("1.1", "Connection: close\r\n") + get)
        let (answers, ending) = await connection.answersToTheEnd()
        #expect(answers.count == 1)
        #expect(answers.first?.head["Connection"] == "close")
        #expect(try JSONValue(text: answers.first?.body ?? "")["version"] == 4)
        #expect(ending == .finished)
    }

    @Test func `an HTTP/1.0 client gets an event stream too`() async throws {
        let session = try await sharedServer().session("alerts")
        let connection = try await connect()
        await connection.send("GET \(session.path)/pulses HTTP/1.0\r\n\r\n")
        let opening = await connection.receive(until: "event: snapshot")
        #expect(opening.ending == nil)
        #expect(!opening.text.lowercased().contains("transfer-encoding"))
        try await session.alert("Hello")
        #expect(await connection.receive(until: "data: \"Hello\"").ending == nil)
    }

    @Test func `a peer that has finished sending gets its response`() async throws {
        let session = try await sharedServer().session("alerts")
        let body = #"{"type":"doSomeAction"}"#
        let post =
            "POST \(session.path)/actions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let connection = try await connect()
        await connection.send(get + post + get)
        connection.finish()
        let (answers, ending) = await connection.answersToTheEnd()
        #expect(answers.map(\.head.status) == [200, 200, 200])
        #expect(ending == .finished)
    }

    @Test(arguments: [false, true])
    func `a stream ends when its reader closes its sending side`(isAtOnce: Bool) async throws {
        let session = try await sharedServer().session("alerts")
        let connection = try await connect()
        await connection.send("GET \(session.path)/pulses HTTP/1.1\r\nHost: a\r\n\r\n")
        if !isAtOnce {
            let opening = await connection.receive(until: "event: snapshot")
            #expect(opening.ending == nil)
        }
        connection.finish()
        #expect(await connection.receiveAll().ending == .finished)
    }

    // Without the rule, the stream would end only at its maximum age, with the last chunk.
    @Test func `a stream whose opening was sent in parts ends with its reader, too`() async throws {
        try await withServer(.server, "--connection-age", "1m") { server in
            let session = try await server.client().session("alerts")
            try await session.alert(String(repeating: "x", count: 800_000))
            let connection = try RawConnection(port: server.port, receiveBufferBytes: 4_096)
            await connection.send("GET \(session.path)/pulses HTTP/1.1\r\nHost: a\r\n\r\n")
            let end = Array("\"}\n\n\r\n".utf8)
            let opening = await connection.receive { $0.suffix(end.count) == end[...] }
            #expect(opening.ending == nil && opening.bytes.count > 800_000)
            connection.finish()
            let rest = await connection.receiveAll()
            #expect(rest.ending == .finished)
            #expect(!rest.text.hasSuffix("\r\n0\r\n\r\n"))
        }
    }

    @Test func `case 79: a client that disconnects within its body affects nobody`() async throws {
        let session = try await sharedServer().session("alerts")
        for resets in [false, true] {
            var connection: RawConnection? = try await connect()
            await connection?.send(
                "POST \(session.path)/actions HTTP/1.1\r\nHost: a\r\n"
                    + "Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"type\"")
            if resets { connection?.makeCloseReset() }
            connection = nil
        }
        #expect(try await session.alert("alive").version == 1)
    }

    // Without the rule: the connection is closed as idle at once.
    @Test func `the idle time begins with a late response though requests wait after it`()
        async throws
    {
        let journal = HeldJournal()
        try await LocalServer.with(journal) {
            $0.idleTimeout = .seconds(1)
            $0.stallTimeout = .milliseconds(10)
        } _: { server in
            let body = #"{"reactor":"alerts"}"#
            let connection = try server.connect()
            await connection.send(
                "PUT /v1/sessions/late HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)\(get)")
            let end = try await journal.next()
            try await Task.sleep(for: .milliseconds(1_100))
            let responded = ContinuousClock.now
            end(.committed)
            let (answers, ending) = await connection.answersToTheEnd()
            #expect(answers.map(\.head.status) == [201, 200])
            #expect(ending == .finished)
            #expect(.now - responded >= .seconds(1))
        }
    }

    @Test func `empty lines before a request are skipped`() async throws {
        let connection = try await connect()
        await connection.send("\r\n\r\n\(get)")
        #expect(await connection.answers(1).first?.head.status == 200)
    }

    @Test func `an absolute target is reduced to its path`() async throws {
        let connection = try await connect()
        await connection.send(
            "GET http://example.org/livez HTTP/1.1\r\nHost: example.org\r\n\r\n"
                + "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
        let answers = await connection.answers(2)
        #expect(answers.first?.head.status == 200)
        #expect(try #require(answers.last).head.status < 500)
    }
}
