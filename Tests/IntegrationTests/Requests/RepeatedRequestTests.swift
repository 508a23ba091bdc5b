import Testing

@Suite("Requests that repeat their head are requests of their own", .timeLimit(.minutes(60)))
struct RepeatedRequestTests {
    private func post(_ session: String, _ fields: String = "") -> String {
        "POST /v1/sessions/\(session)/actions HTTP/1.1\r\nHost: a\r\n\(fields)"
            + "Content-Type: application/json\r\nContent-Length: 31\r\n\r\n"
            + #"{"type":"alert","message":"hi"}"#
    }

    /// One loop, so that the connection stays and repeats its heads there.
    private func withOneLoop(
        do act: (ServerProcess, RawConnection) async throws -> Void
    ) async throws {
        try await withServer(.server, "--loops", "1") { server in
            try await act(server, try RawConnection(port: server.port))
        }
    }

    @Test func `each goes to the session that it names`() async throws {
        try await withOneLoop { server, connection in
            let client = server.client()
            for id in ["a", "b"] {
                _ = try await client.put("/v1/sessions/\(id)", #"{"reactor":"alerts"}"#)
            }
            // Each order in which a head is new, is kept, is repeated and is replaced.
            let order = "aaaabbbbaababbabbbaaabaaaabab"
            for id in order {
                await connection.send(post(String(id)))
                let answer = try #require(await connection.answers(1).first)
                #expect(answer.head.status == 200)
            }
            for id in ["a", "b"] {
                let state = try await client.get("/v1/sessions/\(id)").json
                #expect(state["version"] == .integer(order.count { String($0) == id }), "\(id)")
            }
        }
    }

    @Test func `one finds that its session has ended`() async throws {
        try await withOneLoop { server, connection in
            let client = server.client()
            _ = try await client.put("/v1/sessions/a", #"{"reactor":"alerts"}"#)
            var statuses: [Int] = []
            for count in 1...12 {
                if count == 7 { _ = try await client.delete("/v1/sessions/a") }
                await connection.send(post("a"))
                statuses += await connection.answers(1).map(\.head.status)
            }
            #expect(statuses == Array(repeating: 200, count: 6) + Array(repeating: 410, count: 6))
            // Each refusal has a line, and each line an id of its own.
            try await server.log.wait { ids($0.errors).count == 6 }
            #expect(Set(ids(server.log.present.errors)).count == 6)
        }
    }

    private func ids(_ log: String) -> [Substring] {
        log.split(separator: "\n").filter { $0.contains("status=410") }
            .compactMap { $0.split(separator: " ").first { $0.hasPrefix("request_id=") } }
    }

    // A proxy may send requests of several clients on one connection.
    @Test func `a repeated head counts for the client that sent it`() async throws {
        try await withServer(
            .server, "--loops", "1", "--trusted-proxies", "127.0.0.1"
        ) { server in
            let connection = try RawConnection(port: server.port)
            let client = server.client()
            _ = try await client.put("/v1/sessions/a", #"{"reactor":"alerts"}"#)
            let repeated = post("a", "X-Forwarded-For: 192.0.2.1\r\n")
            let other = post("a", "X-Forwarded-For: 192.0.2.2\r\nX-Request-Id: other\r\n")
            for one in [repeated, repeated, repeated, repeated, other] {
                await connection.send(one)
                #expect(await connection.answers(1).map(\.head.status) == [200])
            }
            _ = try await client.delete("/v1/sessions/a")
            await connection.send(repeated)
            #expect(await connection.answers(1).map(\.head.status) == [410])
            try await server.log.wait { ids($0.errors).count == 1 }
            let lines = server.log.present.errors.split(separator: "\n")
            let line = try #require(lines.first { $0.contains("status=410") })
            #expect(line.contains("client=192.0.2.1 "), "\(line)")
            #expect(!line.contains("request_id=other"), "\(line)")
        }
    }

    @Test func `one by a name that is not allowed is refused each time`() async throws {
        try await withOneLoop { server, connection in
            let foreign = post("a").replacing("Host: a", with: "Host: evil.example")
            for _ in 1...5 {
                await connection.send(foreign)
                #expect(await connection.answers(1).map(\.head.status) == [421])
            }
        }
    }

    @Test func `one is refused once its token has ended`() async throws {
        try await withServer(
            .fixtures, "--loops", "1", environment: ["FIXTURE_TOKENS": "1"]
        ) { server in
            let connection = try RawConnection(port: server.port)
            func send(_ method: String, _ path: String, _ token: String, _ body: String) async
                -> Int?
            {
                await connection.send(
                    "\(method) \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token)\r\n"
                        + "Content-Type: application/json\r\n"
                        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
                return await connection.answers(1).first?.head.status
            }
            #expect(
                await send("PUT", "/v1/sessions/s", "root;-;-;-;-;-;60", #"{"reactor":"passing"}"#)
                    == 201)
            var statuses: Set<Int?> = []
            // The server's clock ends it. A refusal would have a line, and so no kept target.
            while !statuses.contains(401) {
                statuses.insert(
                    await send(
                        "POST", "/v1/sessions/s/actions", "once;-;-;-;-;-;2",
                        #"{"type":"add","number":1}"#))
            }
            #expect(statuses == [200, 401])
            // Also the client's other grants are its own.
            let other = post("none", "Authorization: Bearer eve;read;-;-;-;-;600\r\n")
            for _ in 1...5 {
                await connection.send(other)
                #expect(await connection.answers(1).map(\.head.status) == [403])
            }
        }
    }
}
