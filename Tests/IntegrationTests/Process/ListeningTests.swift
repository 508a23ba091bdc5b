import Foundation
import Glibc
import Testing

@Suite("Listening", .timeLimit(.minutes(60)))
struct ListeningTests {
    /// A new directory; a Unix socket's path must be short.
    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        let path = "/tmp/rs-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    @Test func `it listens at an IPv6 address`() async throws {
        guard FileManager.default.fileExists(atPath: "/proc/net/if_inet6") else { return }
        try await withServer(.server, "--host", "::1") { server in
            #expect(server.address.hasPrefix("http://[::1]:"))
            let session = try await server.client().session("alerts")
            let stream = try await session.follow("pulses")
            try await session.alert("Hello")
            #expect(try await stream.next().data == #""Hello""#)
        }
    }

    @Test func `it listens at all addresses of both IP versions`() async throws {
        guard FileManager.default.fileExists(atPath: "/proc/net/if_inet6") else { return }
        try await withServer(.server, "--host", "::", "--allow-public") { server in
            for host in ["127.0.0.1", "[::1]", "localhost"] {
                let answer = try await Client(base: "http://\(host):\(server.port)").get("/livez")
                #expect(answer.status == 200)
            }
        }
    }

    @Test(arguments: ["0.0.0.0", "::"])
    func `an address that other machines can reach is refused`(host: String) async throws {
        let folder = TemporaryFolder()
        let run = try await ServerProcess.run(
            .server, ["--host", host, "--port", "0", "--journal", "file:\(folder.path)/j.sqlite"])
        #expect(run.exit == .code(64))
        #expect(run.output.isEmpty)
        #expect(run.errors.contains("other machines can reach \(host)"))
        #expect(run.errors.contains("--auth none --allow-public"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func `such an address is accepted with --auth none --allow-public`() async throws {
        try await withServer(
            .server, "--host", "0.0.0.0", "--auth", "none", "--allow-public"
        ) { server in
            let answer = try await server.client().get("/livez")
            #expect(answer.status == 200)
        }
        try await withServer(
            .server, "--host", "0.0.0.0", environment: ["REACTOR_ALLOW_PUBLIC": "on"]
        ) { server in
            let answer = try await server.client().get("/livez")
            #expect(answer.status == 200)
        }
    }

    @Test(arguments: ["127.0.0.2", "localhost"])
    func `an address of this machine alone needs no permission`(host: String) async throws {
        try await withServer(.server, "--host", host) { server in
            let answer = try await server.client().get("/livez")
            #expect(answer.status == 200)
        }
    }

    @Test func `it listens at a Unix socket, which is removed at the end`() async throws {
        try await withDirectory { directory in
            let path = "\(directory)/socket"
            try await withServer(.server, "--host", "unix:\(path)") { server in
                #expect(server.address == "unix:\(path)")
                let session = try await server.client().session("alerts")
                let stream = try await session.follow("pulses")
                try await session.alert("Hello")
                #expect(try await stream.next().data == #""Hello""#)
                let check = try await ServerProcess.run(
                    .server, ["healthcheck", "--host", "unix:\(path)"])
                #expect(check.exit == .code(0))
                server.signal(SIGTERM)
                #expect(try await server.exit() == .code(0))
                #expect(!FileManager.default.fileExists(atPath: path))
            }
        }
    }

    @Test func `a Unix socket of a dead server is replaced, a live one's is not`() async throws {
        try await withDirectory { directory in
            let path = "\(directory)/socket"
            try await withServer(.server, "--host", "unix:\(path)") { server in
                let second = try await ServerProcess.run(.server, ["--host", "unix:\(path)"])
                #expect(second.exit == .code(1))
                #expect(second.errors.contains(path))
                #expect(try await server.client().get("/livez").status == 200)
                server.signal(SIGKILL)
                #expect(try await server.exit() == .signal(SIGKILL))
                #expect(FileManager.default.fileExists(atPath: path))
            }
            try await withServer(.server, "--host", "unix:\(path)") { server in
                let answer = try await server.client().get("/livez")
                #expect(answer.status == 200)
            }
        }
    }

    @Test func `at the connection limit new connections are refused, old ones never evicted`()
        async throws
    {
        try await withServer(.server, "--connection-limit", "5") { server in
            let session = try await server.client().session("alerts")
            // The connection that requested /readyz closes some time later.
            while try await session.client.metric("connections") != 1 {}
            var streams: [EventStream] = []
            for _ in 1...4 { streams.append(try await session.follow("pulses")) }
            // The fifth is the one that the session's client keeps.
            await #expect(throws: CurlFailure.self) {
                _ = try await server.client().get("/livez")
            }
            try await session.alert("Hello")
            for stream in streams { #expect(try await stream.next().data == #""Hello""#) }
            // A released place can be used again.
            _ = try await session.client.delete(session.path)
            for stream in streams { _ = try await stream.rest() }
            let late = server.client()
            while (try? await late.get("/livez").status) != 200 {
                // The old connections are gone when both sides have closed.
                #expect(try await session.client.get("/livez").status == 200)
            }
        }
    }

    /// Sends a request on each of `count` new connections; those that got a response stay open.
    private func fill(_ server: ServerProcess, with count: Int) async throws
        -> (served: [RawConnection], refused: Int)
    {
        var served: [RawConnection] = []
        for _ in 0..<count {
            let connection = try RawConnection(port: server.port)
            await connection.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            let received = await connection.receive(until: "alive")
            if received.text.contains("alive") { served.append(connection) }
        }
        return (served, count - served.count)
    }

    @Test func `connections leave descriptors for the server itself`() async throws {
        try await Turnstile.servers.pass {
            let server = try await ServerProcess.start(
                .server, ["--loops", "2", "--poller", "dispatch"], prelude: "ulimit -n 100")
            let room = 100 - 64 - 2
            try await server.log.wait {
                $0.errors.contains("connections are limited to \(room), not 65536")
            }
            while try await server.client().metric("connections") != 1 {}
            let (served, refused) = try await fill(server, with: 60)
            // The connection of the last request may still have been open.
            #expect((room - 1...room).contains(served.count))
            #expect(refused == 60 - served.count)
            #expect(try server.descriptorCount() < 100 - 32)
        }
    }

    /// The limit applies to the server process: in this process it would affect every other test.
    /// It is lowered after the server has begun to listen, so that it does not limit the
    /// connections.
    @Test func `without a free descriptor new connections are reset, later accepted again`()
        async throws
    {
        try await withServer { server in
            let limiting = ProcessLog()
            _ = try ChildProcess.spawn(
                "/usr/bin/prlimit", ["--pid", "\(server.pid)", "--nofile=48:48"], [:], limiting)
            try await limiting.wait { $0.exit != nil }
            try #require(limiting.present.exit == .code(0), "\(limiting.present.errors)")
            var (served, refused) = try await fill(server, with: 80)
            #expect(refused > 0)
            #expect(served.count > 16)
            // Open connections are still served.
            await served[0].send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await served[0].receive(until: "alive").text.contains("alive"))
            served = []
            // The server notices the ends some time later; each attempt is a new connection.
            let client = server.client()
            while (try? await client.get("/livez").status) != 200 { await Task.yield() }
            server.signal(SIGTERM)
            #expect(try await server.exit() == .code(0))
        }
    }
}
