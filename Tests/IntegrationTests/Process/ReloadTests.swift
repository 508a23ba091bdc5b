import Foundation
import Glibc
import Testing

@Suite("SIGHUP with a file of settings", .timeLimit(.minutes(60)))
struct ReloadTests {
    /// A server with a file of settings that the test changes.
    private struct Reloading {
        let server: ServerProcess
        let path: String

        func write(_ text: String) throws {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }

        /// Changes the file, sends SIGHUP, and waits for the lines that the log gets.
        func reload(_ text: String, until line: String) async throws {
            try write(text)
            let before = server.log.present.errors.count
            server.signal(SIGHUP)
            try await server.log.wait {
                $0.errors.dropFirst(before).contains(line) || $0.exit != nil
            }
            try #require(server.log.present.exit == nil)
        }

        static let done = "message=\"the settings were reloaded\""
        static let refused = "message=\"the settings were not reloaded, and nothing has changed\""
    }

    private func withReloading(
        _ text: String, _ options: String..., on program: ServerProcess.Program = .server,
        do body: (Reloading) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            let folder = TemporaryFolder()
            let path = "\(folder.path)/server.conf"
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let server = try await ServerProcess.start(program, ["--config", path] + options)
            try await body(Reloading(server: server, path: path))
            server.signal(SIGTERM)
            #expect(try await server.exit() == .code(0), "\(server.log.present.errors)")
        }
    }

    private func batch(_ count: Int) -> String {
        "["
            + Array(repeating: #"{"type":"alert","message":"a"}"#, count: count)
            .joined(separator: ",") + "]"
    }

    @Test func `new limits hold on open connections, whose streams stay open`() async throws {
        try await withReloading("batch-limit = 3\nhead-limit = 4096\n") { reloading in
            // Sessions of both loops, each with its own connection.
            var sessions: [(session: SessionHandle, stream: EventStream)] = []
            for _ in 1...6 {
                let session = try await reloading.server.client().session("alerts")
                sessions.append((session, try await session.open("pulses")))
            }
            for (session, _) in sessions {
                let response = try await session.client.post("\(session.path)/actions", batch(3))
                #expect(response.status == 200)
            }
            try await reloading.reload(
                "batch-limit = 2\nhead-limit = 1024\nbody-limit = 500\n", until: Reloading.done)
            for (session, stream) in sessions {
                let actions = "\(session.path)/actions"
                let large = try await session.client.post(actions, batch(3))
                #expect(large.status == 422, "\(large.text)")
                // The same connection as before.
                #expect(large.newConnections == 0)
                let fits = try await session.client.post(actions, batch(2))
                #expect(fits.status == 200)
                // The snapshot, and the events before and after the reload.
                #expect(try await stream.next(1 + 3 + 2).count == 6)
                let head = [(name: "X-Long", value: String(repeating: "x", count: 2_000))]
                #expect(try await session.client.get(session.path, head).status == 431)
                let body = String(repeating: " ", count: 600) + batch(1)
                #expect(try await session.client.post(actions, body).status == 413)
            }
            let lines = reloading.server.log.present.errors
            #expect(lines.contains("batch-limit = 2"))
            #expect(lines.contains("head-limit = 1024"))
            #expect(!lines.contains("need a restart"))
        }
    }

    @Test func `a new level, a new origin and a new retry hold`() async throws {
        try await withReloading("log-level = info\n") { reloading in
            let client = reloading.server.client()
            let session = try await client.session("alerts")
            let page = [(name: "Origin", value: "https://a.example")]
            let before = try await client.get(session.path, page)
            #expect(before["Access-Control-Allow-Origin"] == nil)
            try await reloading.reload(
                "log-level = debug\nallow-origin = https://a.example\nretry = 100ms\n",
                until: Reloading.done)
            #expect(!reloading.server.log.present.errors.contains("operation=readSession"))
            let read = try await client.get(session.path, page)
            #expect(read["Access-Control-Allow-Origin"] == "https://a.example")
            #expect(read.newConnections == 0)
            try await reloading.server.log.wait {
                $0.errors.contains("level=debug") && $0.errors.contains("operation=readSession")
            }
            guard case .retry(let time) = try await session.open("pulses").nextItem() else {
                Issue.record("no retry")
                return
            }
            #expect(time < 1_000)
            // Without a line the default holds again.
            try await reloading.reload("", until: "changed=\"allow-origin = none, retry = 2s")
            let after = try await client.get(session.path, page)
            #expect(after["Access-Control-Allow-Origin"] == nil)
        }
    }

    @Test func `an idle connection gets a shorter idle time`() async throws {
        try await withReloading("") { reloading in
            let connection = try RawConnection(port: reloading.server.port)
            await connection.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await connection.answers(1).map(\.head.status) == [200])
            try await reloading.reload("idle-timeout = 50ms\n", until: Reloading.done)
            // Within the time limit of the test, which the default of 75 s would not exceed alone.
            #expect(await connection.answersToTheEnd().ending == .finished)
        }
    }

    @Test func `a bad file changes nothing and the log has every fault`() async throws {
        try await withReloading("batch-limit = 2\n", "--log-format", "json") { reloading in
            let client = reloading.server.client()
            let session = try await client.session("alerts")
            let stream = try await session.open("pulses")
            try await reloading.reload(
                "batch-limit = 5\nprot = 1\nretry = soon\n", until: #"retry is \"soon\""#)
            let errors = reloading.server.log.present.errors
            #expect(errors.contains(#":2: there is no setting \"prot\""#))
            #expect(errors.contains(#""level":"error""#))
            #expect(!errors.contains("the settings were reloaded"))
            let actions = "\(session.path)/actions"
            #expect(try await client.post(actions, batch(3)).status == 422)
            try FileManager.default.removeItem(atPath: reloading.path)
            reloading.server.signal(SIGHUP)
            try await reloading.server.log.wait { $0.errors.contains("No such file") }
            #expect(try await client.post(actions, batch(3)).status == 422)
            #expect(try await client.post(actions, batch(2)).status == 200)
            #expect(try await stream.next(1 + 2).count == 3)
            // The next good file is adopted.
            try await reloading.reload("batch-limit = 5\n", until: "the settings were reloaded")
            #expect(try await client.post(actions, batch(3)).status == 200)
        }
    }

    @Test func `a setting that needs a restart keeps its value and is named`() async throws {
        try await withReloading("admin = off\n") { reloading in
            let client = reloading.server.client()
            for _ in 1...2 {
                try await reloading.reload(
                    "admin = on\nhistory-bytes = 70000\nretry = 1s\n",
                    until: "changed=\"history-bytes = 70000, admin = on\"")
            }
            let response = try await client.post("/v1/topics/a", "1")
            #expect(response.status == 403)
            #expect(reloading.server.log.present.errors.contains("changed=\"retry = 1s\""))
        }
    }

    @Test func `options and variables keep their precedence over a file that is reloaded`()
        async throws
    {
        try await withReloading("body-limit = 2\n", "--body-limit", "4000") { reloading in
            let session = try await reloading.server.client().session("alerts")
            try await reloading.reload("body-limit = 3\n", until: Reloading.done)
            let response = try await session.client.post("\(session.path)/actions", batch(4))
            #expect(response.status == 200)
            #expect(reloading.server.log.present.errors.contains("changed=none"))
        }
    }

    @Test func `the rate of requests is limited, and not limited again`() async throws {
        try await withReloading("") { reloading in
            let client = reloading.server.client()
            for _ in 1...5 { #expect(try await client.get("/v1/reactors").status == 200) }
            try await reloading.reload(
                "request-rate = 1\n", until: Reloading.done)
            var refused: Response?
            while refused == nil {
                let response = try await client.get("/v1/reactors")
                if response.status == 429 { refused = response }
            }
            #expect(refused?["RateLimit-Policy"] == "\"requests\";q=100;w=100")
            try await reloading.reload("retry = 2s\n", until: Reloading.done)
            for _ in 1...5 { #expect(try await client.get("/v1/reactors").status == 200) }
        }
    }

    @Test func `fewer connections than are open close none of them`() async throws {
        try await withReloading("") { reloading in
            let open = try (1...5).map { _ in try RawConnection(port: reloading.server.port) }
            for connection in open {
                await connection.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(await connection.answers(1).map(\.head.status) == [200])
            }
            try await reloading.reload("connection-limit = 2\n", until: Reloading.done)
            let refused = try RawConnection(port: reloading.server.port)
            await refused.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await refused.answersToTheEnd().answers.isEmpty)
            for connection in open {
                await connection.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(await connection.answers(1).map(\.head.status) == [200])
            }
        }
    }

    @Test func `a request that waits during the reload gets the fields of its own origin`()
        async throws
    {
        let (first, second) = ("https://a.example", "https://b.example")
        try await withReloading("allow-origin = \(first), \(second)\n", on: .fixtures) {
            reloading in
            var waiting: [(SessionHandle, Task<Response, any Error>)] = []
            for origin in [first, second] {
                let session = try await reloading.server.client().session("held")
                var request = Request.json(
                    "POST", "\(session.path)/actions\(SessionHandle.settled)",
                    #"{"type":"hold","text":"x"}"#)
                request.fields.append((name: "Origin", value: origin))
                let task = Task { [request] in try await session.client.send(request) }
                let states = try await session.open("states")
                while try await JSONValue(text: states.next().data)["holding"] != 1 {}
                waiting.append((session, task))
            }
            // The second one has another index now, and the first one has none.
            try await reloading.reload("allow-origin = \(second)\n", until: Reloading.done)
            for ((session, task), allowed) in zip(waiting, [nil, second]) {
                try await session.post(#"{"type":"release"}"#)
                let response = try await task.value
                #expect(response.status == 200)
                #expect(response["Access-Control-Allow-Origin"] == allowed)
            }
        }
    }

    @Test func `without a file SIGHUP ends the server`() async throws {
        try await withServer { server in
            server.signal(SIGHUP)
            let exit = try await server.exit()
            #expect(exit == .code(0))
        }
    }
}
