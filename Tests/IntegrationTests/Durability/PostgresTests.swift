import Foundation
import PostgresRig
import Testing

@Suite("A server on PostgreSQL", .timeLimit(.minutes(60)))
struct PostgresTests {
    /// A database of its own, because it is ended and started again.
    private func withDatabase(
        _ body: (PostgresServer, [String]) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            let database = try PostgresServer()
            try await body(database, ["--journal", database.address("reactor")])
        }
    }

    /// Posts an alert with a key, again and again until it is acknowledged: on a slow machine the
    /// pause may be longer than the server waits.
    private func alert(_ message: String, _ session: SessionHandle) async throws -> Int? {
        var request = Request.json(
            "POST", "\(session.path)/actions", #"{"type":"alert","message":"\#(message)"}"#)
        request.fields.append(("Idempotency-Key", message))
        while true {
            let response = try await session.client.send(request)
            if response.status == 200 { return try response.json["version"]?.integer }
            guard [503, 504, 409].contains(response.status) else {
                throw UnexpectedAnswer(response: response)
            }
        }
    }

    private func messages(_ session: SessionHandle, count: Int) async throws -> [String] {
        let stream = try await session.open(
            "pulses?after=\(session.created)", [("Accept", "text/event-stream")])
        return try await stream.next(count).map(\.data)
    }

    @Test func `sessions and streams continue after kill -9`() async throws {
        try await withDatabase { _, options in
            let first = try await ServerProcess.start(.server, options)
            #expect(first.log.present.output.contains("(journal: postgres://postgres@"))
            let ready = try await first.client().get("/readyz")
            #expect(try ready.json["journal"]?.string == "postgres")
            let session = try await first.client().session("alerts")
            let stream = try await session.follow("pulses")
            try await session.alert("a")
            let seen = try await stream.next()
            try await session.alert("b")
            let last = try await session.alert("c")
            let before = try await session.read()
            try await first.murder()

            let second = try await ServerProcess.start(.server, options)
            let again = session.on(second)
            #expect(try await again.read() == before)
            let resumed = try await again.open("pulses", [("Last-Event-ID", seen.id)])
            #expect(try await resumed.next(2).map(\.data) == [#""b""#, #""c""#])
            let next = try await again.alert("d")
            #expect(next.number == last.number + 1)
            #expect(try await resumed.next().data == #""d""#)
            try await second.murder()
        }
    }

    /// Actions are posted one after the other, and none is lost, doubled or refused.
    @Test func `a database that restarts, and connections that are ended, are a pause`()
        async throws
    {
        try await withDatabase { database, options in
            let server = try await ServerProcess.start(.server, options)
            let session = try await server.client().session("alerts")
            let stream = try await session.follow("pulses")
            var sent: [String] = []
            for number in 0..<60 {
                async let version = alert("m\(number)", session)
                switch number % 20 {
                case 3, 7, 11: try database.endConnections(to: "reactor")
                case 15: try database.stop(number < 40 ? "fast" : "immediate")
                default: break
                }
                if number % 20 == 15 { try database.start() }
                #expect(try await version == number + 1)
                sent.append("\"m\(number)\"")
            }
            #expect(try await stream.next(60).map(\.data) == sent)
            #expect(try await messages(session, count: 60) == sent)
            server.signal(SIGTERM)
            #expect(try await server.exit() == .code(0))
            // Everything is in the tables, in order.
            let check = try await ServerProcess.run(
                .server, ["journal", "check", database.address("reactor")])
            #expect(check.output == "1 sessions, 121 records and notes: 0 problems\n")
            #expect(check.exit == .code(0))
        }
    }

    @Test func `a file moves into a database, and the ids of clients continue`() async throws {
        try await withDatabase { database, options in
            let folder = TemporaryFolder()
            let path = folder.path + "/journal.sqlite"
            let first = try await ServerProcess.start(.server, ["--journal", "file:" + path])
            let session = try await first.client().session("alerts")
            let stream = try await session.follow("pulses")
            try await session.alert("a")
            let seen = try await stream.next()
            try await session.alert("b")
            try await first.murder()
            let program = ServerProcess.Program.server.path
            let moved = try await Tool.run(
                "bash",
                [
                    "-euo", "pipefail", "-c",
                    "\(program) journal export \(path) | \(program) journal import \"$1\"", "move",
                    database.address("reactor"),
                ])
            #expect(moved.exit == .code(0))
            let second = try await ServerProcess.start(.server, options)
            let resumed = try await session.on(second).open(
                "pulses", [("Last-Event-ID", seen.id)])
            #expect(try await resumed.next().data == #""b""#)
            try await session.on(second).alert("c")
            #expect(try await resumed.next().data == #""c""#)
            try await second.murder()
        }
    }

    @Test func `the operator says that a database was restored, and its generations change`()
        async throws
    {
        try await withDatabase { database, options in
            let address = database.address("reactor")
            func prepare(_ flags: String...) async throws -> ProcessLog.Present {
                try await ServerProcess.run(.server, ["journal", "prepare"] + flags + [address])
            }
            /// Starts a server, and ends it. Its connections end a moment later.
            func serve(_ act: (Client) async throws -> Void) async throws {
                let server = try await ServerProcess.start(.server, options)
                try await act(server.client())
                let refused = try await prepare("--restored")
                #expect(refused.exit != .code(0))
                #expect(refused.errors.contains("another server"), "\(refused.errors)")
                server.signal(SIGTERM)
                #expect(try await server.exit() == .code(0))
            }
            var session: SessionHandle?
            try await serve { session = try await $0.session("alerts") }
            let (id, created) = try #require(session.map { ($0.id, $0.created) })
            func generation(_ client: Client) async throws -> String {
                let handle = SessionHandle(client: client, id: id, created: created)
                let position = try await handle.alert("a").position
                return String(position.prefix { $0 != "." })
            }
            let before = String(created.prefix { $0 != "." })
            #expect(try await prepare().exit == .code(0))
            var now = ""
            try await serve { now = try await generation($0) }
            #expect(now == before)
            while try await prepare("--restored").exit != .code(0) {}
            try await serve { now = try await generation($0) }
            let after = now
            #expect(after != before)
            try await serve { now = try await generation($0) }
            #expect(now == after, "once")
        }
    }

    /// No standby confirms a commit for a while: neither those of others, nor the first of its own.
    @Test func `a server that starts while commits hang waits, and says so`() async throws {
        try await withDatabase { database, options in
            #expect(
                try await ServerProcess.run(
                    .server, ["journal", "prepare", database.address("reactor")]
                ).exit == .code(0))
            try database.psql(
                "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
                "SELECT pg_reload_conf()")
            let (logs, log) = AsyncStream<ProcessLog>.makeStream()
            async let starting = ServerProcess.start(.server, options) { log.yield($0) }
            var iterator = logs.makeAsyncIterator()
            let present = try #require(await iterator.next())
            // The first attempt waits for its own commit, and the next one for the row of that.
            try await present.wait {
                $0.errors.contains("no answer in time; trying again")
                    && $0.errors.contains("(55P03); trying again")
            }
            try database.psql(
                "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
            let server = try await starting
            try await server.client().session("alerts").alert("a")
            server.signal(SIGTERM)
            #expect(try await server.exit() == .code(0))
        }
    }
}
