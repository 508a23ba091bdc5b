import Glibc
import Testing

@Suite("Case 139 — SIGTERM drains", .timeLimit(.minutes(60)))
struct DrainTests {
    // Cases 139, 161.
    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func `streams get a jittered retry and end in order, and the exit status is 0`(
        signal: Int32
    ) async throws {
        try await withServer { server in
            let session = try await server.client().session("alerts")
            var streams: [EventStream] = []
            for _ in 1...20 { streams.append(try await session.follow("pulses")) }
            try await session.alert("Hello")
            server.signal(signal)
            var retries: Set<Int> = []
            for stream in streams {
                #expect(try await stream.rest().map(\.data) == [#""Hello""#])
                #expect(await stream.endedCleanly)
                guard case .retry(let time)? = await stream.allItems.last else {
                    Issue.record("no retry at the end")
                    continue
                }
                retries.insert(time)
            }
            // Jittered, so that clients do not reconnect all at once.
            #expect(retries.count > 10)
            #expect(try await server.exit() == .code(0))
        }
    }

    @Test func `a request under way is answered`() async throws {
        try await withServer { server in
            let session = try await server.client().session("alerts")
            let connection = try RawConnection(port: server.port)
            let body = #"{"type":"doSomeAction"}"#
            await connection.send(
                "POST \(session.path)/actions HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            )
            // The server has the head, so a request is under way.
            #expect(await connection.answers(1).first?.head.status == 100)
            server.signal(SIGTERM)
            // It drains once new connections are refused.
            while (try? RawConnection(port: server.port)) != nil {}
            await connection.send(body)
            let (answers, ending) = await connection.answersToTheEnd()
            #expect(answers.map(\.head.status) == [200])
            #expect(answers.first?.head["Connection"] == "close")
            #expect(ending == .finished)
            #expect(try await server.exit() == .code(0))
        }
    }

    @Test func `a client that waits for effects gets the present result`() async throws {
        try await withServer(.fixtures) { server in
            let session = try await server.client().session("held")
            let states = try await session.follow("states")
            async let waiting = session.client.post(
                "\(session.path)/actions?wait=settled&timeout=10m", #"{"type":"hold","text":"x"}"#)
            _ = try await states.next()
            server.signal(SIGTERM)
            #expect(try await waiting.status == 202)
            #expect(try await server.exit() == .code(0))
        }
    }

    // Without the rule: it waits for the whole grace time, and is cut off without a response.
    @Test func `a request that is complete only then does not wait for effects`() async throws {
        try await withServer(.fixtures, "--grace", "10m") { server in
            let session = try await server.client().session("held")
            let connection = try RawConnection(port: server.port)
            let body = #"{"type":"hold","text":"x"}"#
            await connection.send(
                "POST \(session.path)/actions?wait=settled&timeout=10m HTTP/1.1\r\nHost: a\r\n"
                    + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
                    + "Expect: 100-continue\r\n\r\n")
            #expect(await connection.answers(1).first?.head.status == 100)
            server.signal(SIGTERM)
            while (try? RawConnection(port: server.port)) != nil {}
            await connection.send(body)
            let (answers, ending) = await connection.answersToTheEnd()
            #expect(answers.map(\.head.status) == [202])
            #expect(ending == .finished)
            #expect(try await server.exit() == .code(0))
        }
    }

    @Test func `idle connections do not delay the exit`() async throws {
        try await withServer { server in
            let idle = try RawConnection(port: server.port)
            let used = try RawConnection(port: server.port)
            await used.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await used.answers(1)
            server.signal(SIGTERM)
            #expect(await idle.receiveAll().ending == .finished)
            #expect(await used.receiveAll().ending == .finished)
            #expect(try await server.exit() == .code(0))
        }
    }

    @Test func `the grace time bounds the exit`() async throws {
        try await withServer(.server, "--grace", "500ms", "--stall-timeout", "10m") { server in
            let connection = try RawConnection(port: server.port)
            await connection.send(
                "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    + "Content-Length: 9\r\n\r\n")
            _ = await connection.answers(1)
            server.signal(SIGTERM)
            #expect(try await server.exit() == .code(0))
        }
    }

    // Case 161.
    @Test func `ignored signals do not end the server`() async throws {
        try await withServer { server in
            for signal in [SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE] { server.signal(signal) }
            let answer = try await server.client().get("/livez")
            #expect(answer.status == 200)
            server.signal(SIGTERM)
            let exit = try await server.exit()
            #expect(exit == .code(0))
        }
    }

    // Case 161.
    @Test func `a server that was started with SIGHUP ignored continues after a hangup`()
        async throws
    {
        try await Turnstile.servers.pass {
            let server = try await ServerProcess.start(.server, prelude: "trap '' HUP")
            server.signal(SIGHUP)
            let session = try await server.client().session("alerts")
            let stream = try await session.follow("pulses")
            try await session.alert("Hello")
            #expect(try await stream.next().data == #""Hello""#)
            server.signal(SIGTERM)
            #expect(try await server.exit() == .code(0))
        }
    }

    @Test func `an idle server ends at once`() async throws {
        try await withServer { server in
            server.signal(SIGTERM)
            let exit = try await server.exit()
            #expect(exit == .code(0))
        }
    }
}
