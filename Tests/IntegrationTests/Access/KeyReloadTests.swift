import Foundation
import Glibc
import Testing

@Suite("SIGHUP with keys of tokens", .timeLimit(.minutes(60)))
struct KeyReloadTests {
    /// HS256 with the secrets below; subjects `first` and `second`, every session, until 2100. Made
    /// with Python's hmac.
    private static let head = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
    private static let first = """
        \(head).eyJzdWIiOiJmaXJzdCIsImV4cCI6NDEwMjQ0NDgwMCwicmVhY3RvciI6eyJ2ZXJicyI6WyJjcmVhdGUiLCJh\
        Y3QiLCJyZWFkIl0sInNlc3Npb25zIjpbIioiXX19.olyD6sQFf-rpn_lpW4pMETBLq1oqCBDdJEhQGjem1CI
        """
    private static let second = """
        \(head).eyJzdWIiOiJzZWNvbmQiLCJleHAiOjQxMDI0NDQ4MDAsInJlYWN0b3IiOnsidmVyYnMiOlsiY3JlYXRlIiwi\
        YWN0IiwicmVhZCJdLCJzZXNzaW9ucyI6WyIqIl19fQ.lWqa_l7QejHnH9QOe8srWpaY06nDkCWYFqeEHxOXL5Q
        """
    private static let firstSecret = "0123456789abcdef0123456789abcdef"
    private static let secondSecret = "fedcba9876543210fedcba9876543210"
    private static let done = "message=\"the settings were reloaded\""
    private static let refused =
        "message=\"the settings were not reloaded, and nothing has changed\""

    private func field(_ token: String) -> (name: String, value: String) {
        ("Authorization", "Bearer \(token)")
    }

    private func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    private func reload(_ server: ServerProcess, until line: String) async throws {
        let before = server.log.present.errors.count
        server.signal(SIGHUP)
        try await server.log.wait {
            $0.errors.dropFirst(before).contains(line) || $0.exit != nil
        }
        try #require(server.log.present.exit == nil)
    }

    private func send(
        _ client: Client, _ method: String, _ path: String, _ json: String, as token: String
    ) async throws -> Response {
        var request = Request.json(method, path, json)
        request.fields.append(field(token))
        return try await client.send(request)
    }

    @Test func `an old and a new secret are valid at a time, and the log names the number of keys`()
        async throws
    {
        let secret = "\(TemporaryFolder.shared.path)/\(UUID().uuidString)"
        try write("\(Self.firstSecret)\r\n", to: secret)
        try await withServer(.server, "--auth", "jwt", "--jwt-secret-file", secret) { server in
            let client = server.client()
            func statuses() async throws -> [Int] {
                var statuses: [Int] = []
                for token in [Self.first, Self.second] {
                    statuses.append(try await client.get("/v1/reactors", [field(token)]).status)
                }
                return statuses
            }
            #expect(try await statuses() == [200, 401])
            #expect(
                server.log.present.errors.contains("lines of a file with secrets end with CR LF"))
            try write("\(Self.secondSecret)\n\(Self.firstSecret)\n", to: secret)
            try await reload(server, until: "keys=\"2: HS256, HS256\"")
            let line = server.log.present.errors.split(separator: "\n").last {
                $0.contains(Self.done)
            }
            #expect(line?.contains("changed=\"jwt-secret-file = \(secret)\"") == true)
            #expect(try await statuses() == [200, 200])
            // The same keys again.
            try await reload(server, until: "changed=none")
            try write("\(Self.secondSecret)\nshort\n", to: secret)
            try await reload(server, until: "the secret 2 has 5 bytes")
            #expect(try await statuses() == [200, 200])
            try write("\(Self.secondSecret)\n", to: secret)
            try await reload(server, until: "keys=\"1: HS256\"")
            #expect(try await statuses() == [401, 200])
        }
    }

    @Test func `a removed key counts at once, and open streams stay open`() async throws {
        let secret = "\(TemporaryFolder.shared.path)/\(UUID().uuidString)"
        try write(Self.firstSecret, to: secret)
        try await withServer(.server, "--auth", "jwt", "--jwt-secret-file", secret) { server in
            let client = server.client()
            // Sessions of both loops, so that the tokens are kept on both.
            var streams: [EventStream] = []
            var tickets: [String] = []
            for number in 0..<6 {
                let path = "/v1/sessions/s\(number)"
                let made = try await send(
                    client, "PUT", path, #"{"reactor":"alerts"}"#, as: Self.first)
                #expect(made.status == 201)
                streams.append(try await client.open("\(path)/pulses", [field(Self.first)]))
                let ticket = try await send(
                    client, "POST", "/v1/tickets", #"{"stream":"\#(path)/pulses"}"#, as: Self.first)
                tickets.append(try #require(try ticket.json["ticket"]?.string))
            }
            #expect(try await client.get("/v1/reactors", [field(Self.second)]).status == 401)
            try write(Self.secondSecret, to: secret)
            try await reload(server, until: Self.done)
            for number in 0..<6 {
                let path = "/v1/sessions/s\(number)"
                let old = try await client.get(path, [field(Self.first)])
                #expect(old.status == 401)
                // The same connections as before.
                #expect(old.newConnections == 0)
                let byTicket = try await client.get("\(path)/pulses?ticket=\(tickets[number])")
                #expect(byTicket.status == 401)
                let posted = try await send(
                    client, "POST", "\(path)/actions", #"{"type":"alert","message":"m"}"#,
                    as: Self.second)
                #expect(posted.status == 200)
                #expect(
                    try await streams[number].next(2).map(\.name) == ["snapshot", "alertMessage"])
            }
        }
    }

    @Test func `a bad file of keys changes nothing and the log says why`() async throws {
        let secret = "\(TemporaryFolder.shared.path)/\(UUID().uuidString)"
        try write(Self.firstSecret, to: secret)
        try await withServer(.server, "--auth", "jwt", "--jwt-secret-file", secret) { server in
            let client = server.client()
            try write("short", to: secret)
            try await reload(server, until: "at least 32")
            try FileManager.default.removeItem(atPath: secret)
            try await reload(server, until: "cannot be read")
            #expect(server.log.present.errors.contains(Self.refused))
            #expect(!server.log.present.errors.contains(Self.done))
            #expect(try await client.get("/v1/reactors", [field(Self.first)]).status == 200)
            #expect(try await client.get("/v1/reactors", [field(Self.second)]).status == 401)
            try write(Self.secondSecret, to: secret)
            try await reload(server, until: Self.done)
            #expect(try await client.get("/v1/reactors", [field(Self.second)]).status == 200)
            server.signal(SIGTERM)
            #expect(try await server.exit() == .code(0))
            let log = server.log.present.errors
            for text in [Self.firstSecret, Self.secondSecret, Self.head] {
                #expect(!log.contains(text))
            }
        }
    }

    @Test func `the conditions of tokens are reloaded from the file of settings`() async throws {
        let folder = TemporaryFolder()
        let (settings, secret) = ("\(folder.path)/server.conf", "\(folder.path)/secret")
        try write(Self.firstSecret, to: secret)
        let line = "auth = jwt\njwt-secret-file = \(secret)\n"
        try write(line, to: settings)
        try await withServer(.server, "--config", settings) { server in
            let client = server.client()
            #expect(try await client.get("/v1/reactors", [field(Self.first)]).status == 200)
            try write(line + "jwt-issuer = someone\n", to: settings)
            try await reload(server, until: "changed=\"jwt-issuer = someone\"")
            #expect(try await client.get("/v1/reactors", [field(Self.first)]).status == 401)
            // Authentication itself needs a restart, in both directions.
            try write("retry = 3s\n", to: settings)
            try await reload(server, until: Self.refused)
            #expect(server.log.present.errors.contains("needs a key"))
            #expect(try await client.get("/v1/reactors").status == 401)
            try write(line, to: settings)
            try await reload(server, until: Self.done)
            #expect(try await client.get("/v1/reactors", [field(Self.first)]).status == 200)
        }
        try write("retry = 3s\n", to: settings)
        try await withServer(.server, "--config", settings) { server in
            try write(line, to: settings)
            try await reload(server, until: "without --auth jwt")
            #expect(try await server.client().get("/v1/reactors").status == 200)
        }
    }

    @Test func `a token that is being verified is verified again with the new keys`() async throws {
        let folder = TemporaryFolder()
        let settings = "\(folder.path)/server.conf"
        try write("", to: settings)
        try await withServer(
            .fixtures, "--config", settings, environment: ["FIXTURE_TOKENS": "1"]
        ) { server in
            let raw = try RawConnection(port: server.port)
            await raw.send(
                """
                GET /v1/reactors HTTP/1.1\r\nHost: localhost\r\n\
                Authorization: Bearer heldonce;-;-;-;-;-;600\r\n\r\n
                """)
            let client = server.client()
            let admin = field("root;-;-;-;-;-;600")
            // Two connections: the one that waits, and this one. Its request has been read when the
            // counter says so.
            while try await !client.get("/metrics", [admin]).text.contains(
                "reactor_connections 2\n")
            { await Task.yield() }
            try await reload(server, until: Self.done)
            let released = try await client.get("/v1/reactors", [field("release;-;-;-;-;-;60")])
            #expect(released.status == 200)
            // The token is valid once, and that was before the reload.
            #expect(await raw.answers(1).map(\.head.status) == [401])
        }
    }

    @Test func `the documented line fetches keys, and a failed download changes nothing`()
        async throws
    {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let page = root.appending(
            path: "Sources/ReactorHosting/ReactorHosting.docc/Tokens.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let start = try #require(text.range(of: "curl -fsS --max-time"))
        let end = try #require(text[start.lowerBound...].range(of: "\n```"))
        let line = text[start.lowerBound..<end.lowerBound]
        let folder = TemporaryFolder()
        let (set, other) = (Self.keySet("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"), "{")
        try write(set, to: "\(folder.path)/jwks.json")
        try await withServer(
            .server, "--auth", "jwt", "--jwt-key-file", "\(folder.path)/jwks.json"
        ) { server in
            func fetch(_ url: String) async throws {
                let command =
                    line.replacing("https://issuer.example/jwks.json", with: url)
                    .replacing("$(pidof reactor-server)", with: "\(server.pid)")
                try #require(!command.contains("issuer.example") && !command.contains("pidof"))
                let log = ProcessLog()
                _ = try ChildProcess.spawn(
                    "/bin/sh", ["-c", "cd '\(folder.path)' && \(command)"],
                    ProcessInfo.processInfo.environment, log)
                try await log.wait { $0.exit != nil }
            }
            try write(other, to: "\(folder.path)/source")
            try await fetch("file://\(folder.path)/absent")
            #expect(
                try String(contentsOfFile: "\(folder.path)/jwks.json", encoding: .utf8) == set)
            try await fetch("file://\(folder.path)/source")
            try await server.log.wait { $0.errors.contains(Self.refused) }
            try write(
                Self.keySet("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", id: "june"),
                to: "\(folder.path)/source")
            try await fetch("file://\(folder.path)/source")
            try await server.log.wait { $0.errors.contains(Self.done) }
            #expect(server.log.present.errors.contains("keys=\"1: EdDSA june\""))
        }
    }

    /// A set of one Ed25519 key.
    private static func keySet(_ x: String, id: String? = nil) -> String {
        let id = id.map { #","kid":"\#($0)""# } ?? ""
        return #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"\#(x)"\#(id)}]}"#
    }
}
