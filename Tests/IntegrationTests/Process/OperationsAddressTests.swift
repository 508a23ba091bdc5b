import Foundation
import Glibc
import Testing

@Suite("--ops-listen — an address of its own for operators", .timeLimit(.minutes(60)))
struct OperationsAddressTests {
    private static let here = "127.0.0.1:0"

    @Test func `operators' routes are only there, and clients' routes only at the other`()
        async throws
    {
        try await withServer(.fixtures, "--ops-listen", Self.here, "--admin", "on") { server in
            let (clients, operators) = (server.client(), try #require(server.operationsClient))
            let session = try await clients.session("profile")
            for path in ["/livez", "/readyz", "/metrics", "\(session.path)/stub"] {
                try expectProblem(try await clients.get(path), 404, "unknown_path")
                let answer = try await operators.get(path)
                #expect(answer.status == 200, "\(path)")
            }
            for path in ["/v1/reactors", "/v1/sessions", session.path] {
                try expectProblem(try await operators.get(path), 404, "unknown_path")
                let answer = try await clients.get(path)
                #expect(answer.status == 200, "\(path)")
            }
            let topic = "/v1/topics/currentUser"
            try expectProblem(try await clients.post(topic, "null"), 404, "unknown_path")
            let published = try await operators.post(topic, #"{"name":"ada"}"#)
            #expect(try published.json == ["sessions": 1])
            #expect(try await session.state()["user"] == ["name": "ada"])
            try expectProblem(
                try await operators.post("/v1/topics/absent", "1"), 404, "unknown_topic")
            for client in [clients, operators] {
                let specification = try await client.get("/openapi.yaml")
                #expect(specification.status == 200)
            }
        }
    }

    @Test func `the metrics are the sums over the session loops`() async throws {
        try await withServer(.server, "--ops-listen", Self.here, "--loops", "3") { server in
            let operators = try #require(server.operationsClient)
            for _ in 0..<9 { _ = try await server.client().session("alerts") }
            #expect(try await operators.metric("sessions") == 9)
            let page = try await operators.get("/metrics").text
            let loops = page.matches(of: /reactor_loop_busy_seconds\{loop="(\d)"\}/)
            #expect(loops.map(\.1) == ["0", "1", "2", "3"])
        }
    }

    @Test func `a request about a session is carried out on its loop, and ends the connection`()
        async throws
    {
        try await withServer(
            .server, "--ops-listen", Self.here, "--admin", "on", "--loops", "3"
        ) { server in
            // Some of them are on each loop.
            for _ in 0..<12 {
                let session = try await server.client().session("alerts")
                let connection = try RawConnection(port: server.operationsPort)
                await connection.send("PUT", "\(session.path)/stub", #"{"enabled":true}"#)
                let (answers, ending) = await connection.answersToTheEnd()
                #expect(answers.map(\.head.status) == [200])
                #expect(answers.first?.head["Connection"] == "close")
                #expect(ending == .finished)
            }
            // More than the limit, if they were not counted as ended.
            let operators = try #require(server.operationsClient)
            for _ in 0..<70 {
                #expect(try await operators.get("/v1/sessions/absent/stub").status == 404)
            }
        }
    }

    /// Blocks each of two session loops in a reactor's code.
    ///
    /// - Returns: The descriptors that release the loops, and the connections that wait.
    private func block(
        _ server: ServerProcess, through pipes: [NamedPipe]
    ) async throws -> (writers: [Int32], waiting: [RawConnection]) {
        // Connections are spread over the loops in turn, and a session whose id the server chooses
        // is on its connection's loop.
        let connections = try pipes.map { _ in try RawConnection(port: server.port) }
        var sessions: [String] = []
        for connection in connections {
            await connection.send("POST", "/v1/sessions", #"{"reactor":"blocking"}"#)
            let created = try #require(await connection.answers(1).first)
            sessions.append(try #require(created.head["Location"]))
        }
        var writers: [Int32] = []
        for (index, pipe) in pipes.enumerated() {
            await connections[index].send(
                "POST", "\(sessions[index])/actions", #"{"type":"block","pipe":"\#(pipe.path)"}"#)
            writers.append(await pipe.open())
        }
        return (writers, connections)
    }

    // Without the address: no probe is answered before the loops return.
    @Test func `it responds while all session loops are blocked in a reactor's code`() async throws
    {
        try await withServer(
            .fixtures, "--ops-listen", Self.here, "--loops", "2", "--slow-turn", "1ms",
            "--stuck-limit", "500ms"
        ) { server in
            let operators = try RawConnection(port: server.operationsPort)
            #expect(await operators.get("/readyz")?.head.status == 200)
            let before = try #require(await operators.get("/metrics")?.body)
            #expect(before.contains("reactor_connections_opened_total"))
            let pipes = [try NamedPipe(), try NamedPipe()]
            let (writers, waiting) = try await block(server, through: pipes)

            // At once: the loops have not been occupied for long, so the query was sent to them.
            let page = try #require(await operators.get("/metrics"))
            #expect(page.head.status == 200)
            #expect(page.body.contains("reactor_requests_total"))

            var alive = try #require(await operators.get("/livez"))
            while !alive.body.contains(#""loop":0"#) || !alive.body.contains(#""loop":1"#) {
                alive = try #require(await operators.get("/livez"))
            }
            #expect(alive.head.status == 200)
            #expect(alive.body.contains(#""seconds":"#))
            var ready = try #require(await operators.get("/readyz"))
            while ready.head.status == 200 { ready = try #require(await operators.get("/readyz")) }
            #expect(ready.head.status == 503)
            #expect(ready.body.contains(#""code":"loop_stuck""#))
            for writer in writers { close(writer) }
            for connection in waiting {
                #expect(await connection.answers(1).map(\.head.status) == [200])
            }
            while ready.head.status == 503 { ready = try #require(await operators.get("/readyz")) }
        }
    }

    // Without the rule: the author's decoder blocks the loop of the operations address.
    @Test func `no code of a reactor runs on its loop`() async throws {
        try await withServer(
            .fixtures, "--ops-listen", Self.here, "--admin", "on"
        ) { server in
            let session = try await server.client().session("listening")
            let pipe = try NamedPipe()
            let publisher = try RawConnection(port: server.operationsPort)
            await publisher.send("POST", "/v1/topics/piped", #"{"pipe":"\#(pipe.path)"}"#)
            let writer = await pipe.open()
            let operators = try #require(server.operationsClient)
            #expect(try await operators.get("/livez").status == 200)
            // The value is decoded again after its commit. With a file in place of the pipe, that
            // does not block.
            try FileManager.default.removeItem(atPath: pipe.path)
            try "".write(toFile: pipe.path, atomically: false, encoding: .utf8)
            close(writer)
            let answer = try #require(await publisher.answers(1).first)
            #expect(answer.head.status == 200, "\(answer.body)")
            #expect(answer.body.contains(#"{"sessions":1}"#))
            #expect(try await session.state()["count"] == 1)
        }
    }

    @Test func `it is the last to end: a load balancer sees the drain`() async throws {
        try await withServer(
            .server, "--ops-listen", Self.here, "--admin", "on", "--grace", "10m"
        ) { server in
            let operators = try #require(server.operationsClient)
            let session = try await server.client().session("alerts")
            let idle = try RawConnection(port: server.operationsPort)
            #expect(await idle.get("/readyz")?.head.status == 200)
            let connection = try RawConnection(port: server.port)
            let body = #"{"type":"doSomeAction"}"#
            await connection.send(
                "POST \(session.path)/actions HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            )
            #expect(await connection.answers(1).first?.head.status == 100)
            server.signal(SIGTERM)
            while (try? RawConnection(port: server.port)) != nil {}
            // On a connection of before, and on new ones.
            let last = try #require(await idle.get("/readyz"))
            #expect(last.head.status == 503)
            #expect(last.head["Connection"] == "close")
            try expectProblem(try await operators.get("/readyz"), 503, "draining")
            #expect(try await operators.get("/livez").status == 200)
            #expect(try await operators.metric("sessions") == 1)
            // They would change a session that is being saved.
            try expectProblem(
                try await operators.put("\(session.path)/stub", #"{"enabled":true}"#), 503,
                "draining")
            try expectProblem(try await operators.post("/v1/topics/x", "1"), 503, "draining")
            await connection.send(body)
            #expect(await connection.answersToTheEnd().answers.map(\.head.status) == [200])
            #expect(try await server.exit() == .code(0))
        }
    }

    @Test func `an idle connection there does not delay the exit`() async throws {
        try await withServer(.server, "--ops-listen", Self.here, "--grace", "10m") { server in
            let idle = try RawConnection(port: server.operationsPort)
            let used = try RawConnection(port: server.operationsPort)
            #expect(await used.get("/livez")?.head.status == 200)
            server.signal(SIGTERM)
            #expect(await idle.receiveAll().ending == .finished)
            #expect(await used.receiveAll().ending == .finished)
            #expect(try await server.exit() == .code(0))
        }
    }

    @Test func `it may be a Unix socket, which the health check uses`() async throws {
        let path = "/tmp/rs-\(UInt32.random(in: 0 ... .max)).sock"
        try await withServer(.server, "--ops-listen", "unix:\(path)") { server in
            #expect(server.operationsAddress == "unix:\(path)")
            let check = try await ServerProcess.run(
                .server, ["healthcheck", "--port", "1", "--ops-listen", "unix:\(path)"])
            #expect(check.exit == .code(0))
            server.signal(SIGTERM)
            #expect(try await server.exit() == .code(0))
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `silent connections give way to new ones, and clients' ones do not count`()
        async throws
    {
        try await withServer(.server, "--ops-listen", Self.here, "--connection-limit", "5") {
            server in
            let session = try await server.client().session("alerts")
            var streams: [EventStream] = []
            for _ in 0..<4 { streams.append(try await session.follow("pulses")) }
            var silent: [RawConnection] = []
            // Three times as many as there may be.
            for _ in 0..<200 {
                let connection = try RawConnection(port: server.operationsPort)
                #expect(await connection.get("/livez")?.head.status == 200)
                silent.append(connection)
            }
            #expect(await silent[0].receiveAll().ending == .finished)
            #expect(await silent[199].get("/livez")?.head.status == 200)
            try await session.alert("Hello")
            for stream in streams { #expect(try await stream.next().data == #""Hello""#) }
        }
    }

    @Test func `Host and tokens are checked there too, and the rate of requests is not`()
        async throws
    {
        try await withServer(
            .fixtures, "--ops-listen", Self.here, "--request-rate", "1", "--request-burst", "1",
            environment: ["FIXTURE_TOKENS": "1"]
        ) { server in
            let operators = try #require(server.operationsClient)
            #expect(try await operators.get("/livez").status == 200)
            #expect(try await operators.get("/metrics").status == 401)
            for (token, status) in [("eve;read;-;-;-;-;600", 403), ("root;admin;-;-;-;-;600", 200)]
            {
                for _ in 0..<5 {
                    let answer = try await operators.get(
                        "/metrics", [("Authorization", "Bearer \(token)")])
                    #expect(answer.status == status)
                }
            }
        }
        try await withServer(.server, "--ops-listen", Self.here) { server in
            let operators = try #require(server.operationsClient)
            for path in ["/metrics", "/livez", "/absent"] {
                try expectProblem(
                    try await operators.get(path, [("Host", "evil.example")]), 421, "unknown_host")
            }
        }
    }

    @Test func `an address that it cannot have is refused`() async throws {
        let folder = TemporaryFolder()
        let journal = ["--journal", "file:\(folder.path)/j.sqlite"]
        try await withServer(.server) { server in
            let taken = "127.0.0.1:\(server.port)"
            let port = "\(server.port)"
            let commands: [(options: [String], exit: Int32, sentence: String)] = [
                (
                    ["--port", "0", "--ops-listen", "0.0.0.0:0"], 64,
                    "other machines can reach 0.0.0.0"
                ),
                (["--port", "0", "--ops-listen", "9090"], 64, "expected ADDRESS:PORT"),
                (["--port", port, "--ops-listen", taken], 64, "its own address"),
                (["--port", "0", "--ops-listen", taken], 1, "can't listen on \(taken)"),
                (["--host", "unix:/tmp/u", "--ops-listen", "unix:/tmp/u"], 64, "its own address"),
            ]
            for (options, exit, sentence) in commands {
                let run = try await ServerProcess.run(.server, options + journal)
                #expect(run.exit == .code(exit), "\(options)")
                #expect(run.output.isEmpty)
                #expect(run.errors.contains(sentence), "\(options): \(run.errors)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }
}
