import Testing

@Suite(
    "RFC 9112 — a bad request gets a response, then the connection closes", .timeLimit(.minutes(60))
)
struct RefusalTests {
    static let host = "Host: a\r\n"

    static let requests: [(name: String, bytes: String, status: Int)] = [
        ("no request line", "hello\r\n\r\n", 400),
        ("a bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
        ("a bare LF after a field", "GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
        ("a bare CR in a field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400),
        ("a folded field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400),
        ("a space before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("a space before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
        ("a field without a name", "GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400),
        ("a field without a colon", "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
        ("NUL in a field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400),
        ("a control character in a field", "GET / HTTP/1.1\r\nHost: a\r\nX: \u{1}\r\n\r\n", 400),
        ("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
        ("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("two spaces in the request line", "GET  / HTTP/1.1\r\n\(host)\r\n", 400),
        ("a tab in the request line", "GET\t/ HTTP/1.1\r\n\(host)\r\n", 400),
        ("no version", "GET /\r\n\(host)\r\n", 400),
        ("a lower-case version", "GET / http/1.1\r\n\(host)\r\n", 400),
        ("HTTP/2.0", "GET / HTTP/2.0\r\n\(host)\r\n", 505),
        ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("CONNECT", "CONNECT a:80 HTTP/1.1\r\n\(host)\r\n", 501),
        ("a relative target", "GET livez HTTP/1.1\r\n\(host)\r\n", 400),
        ("a fragment", "GET /livez#x HTTP/1.1\r\n\(host)\r\n", 400),
        ("Content-Length: x", "POST / HTTP/1.1\r\n\(host)Content-Length: x\r\n\r\n", 400),
        ("Content-Length: -1", "POST / HTTP/1.1\r\n\(host)Content-Length: -1\r\n\r\n", 400),
        ("Content-Length: +1", "POST / HTTP/1.1\r\n\(host)Content-Length: +1\r\n\r\nx", 400),
        ("an empty Content-Length", "POST / HTTP/1.1\r\n\(host)Content-Length: \r\n\r\n", 400),
        (
            "two Content-Lengths",
            "POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400
        ),
        (
            "Content-Length and Transfer-Encoding",
            "POST / HTTP/1.1\r\n\(host)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400
        ),
        (
            "an unknown coding",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501
        ),
        (
            "chunked not last",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked, gzip\r\n\r\n", 400
        ),
        (
            "chunked in HTTP/1.0",
            "POST / HTTP/1.0\r\n\(host)Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400
        ),
        (
            "a chunk size that is none",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400
        ),
        (
            "a chunk size that overflows",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n", 413
        ),
        (
            "a chunk longer than its size",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n0\r\n\r\n", 400
        ),
        (
            "a bare LF after a chunk size",
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n", 400
        ),
        (
            "another expectation",
            "POST / HTTP/1.1\r\n\(host)Expect: tea\r\nContent-Length: 1\r\n\r\nx", 417
        ),
        (
            "a long target", "GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\n\(host)\r\n",
            414
        ),
        (
            "a large head",
            "GET / HTTP/1.1\r\n\(host)X: \(String(repeating: "a", count: 17_000))\r\n\r\n", 431
        ),
        (
            "many fields",
            "GET / HTTP/1.1\r\n\(host)\(String(repeating: "X: a\r\n", count: 101))\r\n", 431
        ),
        ("a large body", "POST / HTTP/1.1\r\n\(host)Content-Length: 1048577\r\n\r\n", 413),
    ]

    @Test(arguments: requests)
    func `a bad request is refused with its status, and the connection ends`(
        name: String, bytes: String, status: Int
    ) async throws {
        let port = try await Servers.shared.process(.server).port
        let connection = try RawConnection(port: port)
        // The bytes after it must never be read as a request.
        await connection.send(bytes + "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
        let (answers, ending) = await connection.answersToTheEnd()
        #expect(answers.map(\.head.status) == [status])
        let answer = try #require(answers.first)
        #expect(answer.head["Connection"] == "close")
        #expect(answer.head["Content-Type"] == "application/problem+json")
        let problem = try JSONValue(text: answer.body)
        #expect(problem["status"] == .integer(status))
        #expect(problem["code"]?.string != nil)
        // In order, and without a reset that would discard the response at the client.
        #expect(ending == .finished)
    }

    @Test func `a client that never stops sending still gets its refusal`() async throws {
        let port = try await Servers.shared.process(.server).port
        let connection = try RawConnection(port: port)
        await connection.send(
            "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                + "Content-Length: 90000000\r\n\r\n")
        async let sending = connection.send([UInt8](repeating: 0x20, count: 150_000))
        let received = await connection.receive(until: "body_too_large")
        #expect(received.text.hasPrefix("HTTP/1.1 413 "))
        _ = await sending
    }

    @Test func `a refusal after good requests leaves their responses alone`() async throws {
        let port = try await Servers.shared.process(.server).port
        let connection = try RawConnection(port: port)
        let get = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
        await connection.send(get + get + "nonsense\r\n\r\n" + get)
        let (answers, ending) = await connection.answersToTheEnd()
        #expect(answers.map(\.head.status) == [200, 200, 400])
        #expect(ending == .finished)
    }

    @Test func `a request that does not arrive in time is 408`() async throws {
        try await withServer(.server, "--stall-timeout", "300ms") { server in
            let connection = try RawConnection(port: server.port)
            await connection.send("GET /livez HTTP/1.1\r\nHost: a\r\nX: ")
            let (answers, ending) = await connection.answersToTheEnd()
            #expect(answers.map(\.head.status) == [408])
            #expect(ending == .finished)
        }
    }

    private static let slowBody =
        "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"

    @Test func `a body that drips is 408 although each byte is progress`() async throws {
        try await withServer(.server, "--stall-timeout", "300ms", "--body-rate", "100000") {
            server in
            for framing in ["Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"]
            {
                let connection = try RawConnection(port: server.port)
                await connection.send(Self.slowBody + framing)
                let dripping = Task {
                    let drop = framing.hasPrefix("C") ? " " : "1\r\n \r\n"
                    while !Task.isCancelled {
                        await connection.send(drop)
                        try await Task.sleep(for: .milliseconds(10))
                    }
                }
                let (answers, _) = await connection.answersToTheEnd()
                dripping.cancel()
                #expect(answers.map(\.head.status) == [408])
                #expect(answers.first?.body.contains(#""code":"body_too_slow""#) ?? false)
            }
            let metrics = try await server.client().get("/metrics").text
            #expect(metrics.contains(#"reactor_refusals_total{code="body_too_slow"} 2"#))
            #expect(metrics.contains("reactor_malformed_total 0"))
        }
    }

    // The rate is far below that of the test: it does not fail because a machine is slow.
    @Test func `a body that keeps the rate may take longer than a request`() async throws {
        try await withServer(.server, "--stall-timeout", "2s", "--body-rate", "1") { server in
            let body = #"{"reactor":"alerts"}"#
            let connection = try RawConnection(port: server.port)
            await connection.drip(
                after: Self.slowBody + "Content-Length: \(body.utf8.count + 40)\r\n\r\n",
                spaces: 40, everyMilliseconds: 100, then: body)
            #expect(await connection.answers(1).first?.head.status == 201)
        }
    }

    // Without periods: a client that has sent much may stop for as long as the average permits.
    @Test func `a body that stops is 408 however fast it was`() async throws {
        try await withServer(.server, "--stall-timeout", "300ms", "--body-rate", "1") { server in
            let connection = try RawConnection(port: server.port)
            await connection.send(
                Self.slowBody + "Content-Length: 100000\r\n\r\n"
                    + String(repeating: " ", count: 90_000))
            let (answers, _) = await connection.answersToTheEnd()
            #expect(answers.map(\.head.status) == [408])
        }
    }

    @Test func `an idle connection is closed without a response`() async throws {
        try await withServer(.server, "--idle-timeout", "300ms") { server in
            while true {
                let connection = try RawConnection(port: server.port)
                await connection.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
                let (answers, ending) = await connection.answersToTheEnd()
                // On a busy machine it is idle before its request has left.
                if answers.isEmpty { continue }
                #expect(answers.map(\.head.status) == [200])
                #expect(ending == .finished)
                break
            }
        }
    }

    @Test func `a connection that never sends anything is idle from its first moment`() async throws
    {
        try await withServer(.server, "--idle-timeout", "300ms", "--stall-timeout", "10m") {
            server in
            let connection = try RawConnection(port: server.port)
            #expect(await connection.receiveAll().ending == .finished)
        }
    }

    @Test func `case 153: arriving bodies have a budget`() async throws {
        try await withServer(
            .server, "--loops", "1", "--body-budget", "600000", "--body-limit", "300000",
            "--stall-timeout", "10m"
        ) { server in
            let client = server.client()
            let session = try await client.session("alerts")
            let text = String(repeating: "x", count: 250_000)
            let body = #"{"type":"alert","message":"\#(text)"}"#
            let part =
                "POST \(session.path)/actions HTTP/1.1\r\nHost: a\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                + body.dropLast(10)
            // Each takes 256 KiB of memory: there is room for two.
            var open: [RawConnection] = []
            for _ in 1...3 {
                let connection = try RawConnection(port: server.port)
                await connection.send(part)
                for _ in 1...3 { _ = try await client.get("/livez") }
                open.append(connection)
            }
            let (refused, ending) = await open[2].answersToTheEnd()
            #expect(refused.map(\.head.status) == [503])
            #expect(refused.first?.body.contains("too_many_bodies") ?? false)
            #expect(refused.first?.head["Retry-After"] == "1")
            #expect(ending == .finished)
            // Earlier bodies are unaffected, and free their memory when complete.
            for connection in open.prefix(2) {
                await connection.send(String(body.suffix(10)))
                #expect(await connection.answers(1).map(\.head.status) == [200])
            }
            let again = try RawConnection(port: server.port)
            await again.send(part + body.suffix(10))
            #expect(await again.answers(1).map(\.head.status) == [200])
        }
    }

    @Test func `an unknown path is logged without an operation`() async throws {
        try await withServer { server in
            _ = try await server.client().get("/nothing")
            try await server.log.wait { $0.errors.contains("code=unknown_path") }
            let line = server.log.present.errors.split(separator: "\n").first {
                $0.contains("code=unknown_path")
            }
            #expect(line?.contains("operation=none") ?? false)
        }
    }

    @Test func `limits are settings`() async throws {
        try await withServer(
            .server, "--body-limit", "100", "--head-limit", "1024", "--batch-limit", "2"
        ) { server in
            let client = server.client()
            let session = try await client.session("counter")
            let one = #"{"type":"increment","number":1}"#
            try expectProblem(
                try await client.post(
                    "\(session.path)/actions", one + String(repeating: " ", count: 100)),
                413, "body_too_large")
            try expectProblem(
                try await client.post("\(session.path)/actions", "[\(one),\(one),\(one)]"), 422,
                "batch_too_large")
            try expectProblem(
                try await client.get("/livez", [("X", String(repeating: "a", count: 1_024))]), 431,
                "head_too_large")
        }
    }
}
