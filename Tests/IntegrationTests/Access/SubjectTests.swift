import ReactorHosting
import Testing

@Suite("A client's name is beside what it does", .timeLimit(.minutes(60)))
struct SubjectTests {
    private static let all = "root;-;-;-;-;-;600"
    /// Clients of their own sessions.
    private static let ada = "ada;-;@;-;-;-;600"
    private static let eve = "eve;-;@;-;-;-;600"

    private func withTokens(
        _ options: String..., do body: (ServerProcess) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            try await body(try await start(options))
        }
    }

    private func start(_ options: [String]) async throws -> ServerProcess {
        try await ServerProcess.start(
            .fixtures, options, environment: ["FIXTURE_TOKENS": "1"])
    }

    private func send(
        _ server: ServerProcess, _ method: String, _ path: String, _ json: String? = nil,
        as token: String, _ fields: [(name: String, value: String)] = []
    ) async throws -> Response {
        var request = json.map { Request.json(method, path, $0) } ?? Request(path: path)
        request.method = method
        request.fields += [(name: "Authorization", value: "Bearer \(token)")] + fields
        return try await server.client().send(request)
    }

    @Test func `a client uses the sessions that it has created, also after a restart`()
        async throws
    {
        try await withJournal { journal in
            let options = ["--journal", "file:" + journal.path]
            var server = try await start(options)
            let made = try await send(
                server, "POST", "/v1/sessions", #"{"reactor":"passing"}"#, as: Self.ada)
            #expect(made.status == 201)
            let path = "/v1/sessions/" + (try made.json["id"]?.string ?? "")
            _ = try await send(
                server, "PUT", "/v1/sessions/hers", #"{"reactor":"passing"}"#, as: Self.ada)
            for isRestarted in [false, true] {
                if isRestarted {
                    try await server.murder()
                    server = try await start(options)
                }
                for path in [path, "/v1/sessions/hers"] {
                    let add = #"{"type":"add","number":1}"#
                    for (method, rest, body) in [
                        ("GET", "", nil), ("POST", "/actions", add), ("GET", "/log", nil),
                        ("HEAD", "/pulses", nil), ("HEAD", "/states", nil),
                        ("GET", "/runtime", nil),
                    ] as [(String, String, String?)] {
                        let own = try await send(server, method, path + rest, body, as: Self.ada)
                        #expect(own.status == 200, "\(method) \(rest)")
                        let other = try await send(server, method, path + rest, body, as: Self.eve)
                        #expect(other.status == 404, "\(method) \(rest)")
                        let absent = try await send(
                            server, method, "/v1/sessions/no" + rest, body, as: Self.eve)
                        #expect(absent.status == 404)
                        let all = try await send(server, method, path + rest, body, as: Self.all)
                        #expect(all.status == 200, "\(method) \(rest)")
                    }
                    #expect(
                        try await send(server, "DELETE", path, as: Self.eve).status == 404)
                    let fork = #"{"reactor":"passing","from":{"session":"hers"}}"#
                    #expect(
                        try await send(server, "POST", "/v1/sessions", fork, as: Self.eve).status
                            == 404)
                    #expect(
                        try await send(server, "POST", "/v1/sessions", fork, as: Self.ada).status
                            == 201)
                }
                let put = try await send(
                    server, "PUT", "/v1/sessions/hers", #"{"reactor":"passing"}"#, as: Self.eve)
                #expect(try put.json["code"] == "other_owner")
                #expect(try await send(server, "GET", "/v1/sessions", as: Self.ada).status == 403)
            }
            let hers = "/v1/sessions/hers"
            #expect(try await send(server, "DELETE", hers, as: Self.ada).status == 204)
            #expect(try await send(server, "GET", hers, as: Self.ada).status == 404)
            #expect(try await send(server, "GET", hers, as: Self.all).status == 410)
        }
    }

    @Test func `a client owns as many sessions as the limit permits, also after a restart`()
        async throws
    {
        try await withJournal { journal in
            let options = ["--journal", "file:" + journal.path, "--subject-session-limit", "2"]
            var server = try await start(options)
            func put(_ id: String, as token: String) async throws -> Int {
                try await send(
                    server, "PUT", "/v1/sessions/\(id)", #"{"reactor":"passing"}"#, as: token
                ).status
            }
            #expect(try await put("a", as: Self.ada) == 201)
            #expect(try await put("b", as: Self.ada) == 201)
            let third = try await send(
                server, "POST", "/v1/sessions", #"{"reactor":"passing"}"#, as: Self.ada)
            #expect(third.status == 403)
            #expect(try third.json["code"] == "too_many_sessions")
            // An existing one is none more, and other clients have sessions of their own.
            #expect(try await put("a", as: Self.ada) == 200)
            #expect(try await put("e", as: Self.eve) == 201)
            try await server.murder()
            server = try await start(options)
            #expect(try await put("c", as: Self.ada) == 403)
            #expect(
                try await send(server, "DELETE", "/v1/sessions/a", as: Self.ada).status == 204)
            #expect(try await put("c", as: Self.ada) == 201)
            #expect(try await put("d", as: Self.ada) == 403)
        }
    }

    @Test func `an idempotency key belongs to its client`() async throws {
        try await withTokens { server in
            _ = try await send(
                server, "PUT", "/v1/sessions/s", #"{"reactor":"passing"}"#, as: Self.all)
            let key = [(name: "Idempotency-Key", value: "k")]
            let (ada, eve) = ("ada;-;-;-;-;-;600", "eve;-;-;-;-;-;600")
            var versions: [Int?] = []
            for (token, number) in [(ada, 1), (eve, 2), (ada, 1), (eve, 2)] {
                let response = try await send(
                    server, "POST", "/v1/sessions/s/actions",
                    #"{"type":"add","number":\#(number)}"#, as: token, key)
                #expect(response.status == 200)
                versions.append(try response.json["version"]?.integer)
            }
            #expect(versions == [1, 2, 1, 2])
            let reused = try await send(
                server, "POST", "/v1/sessions/s/actions", #"{"type":"add","number":2}"#, as: ada,
                key)
            #expect(reused.status == 422)
        }
    }

    @Test func `lines about a request have its client, refused or not`() async throws {
        try await withTokens("--log-level", "debug", "--access-log", "on", "--loops", "2") {
            server in
            for session in ["a", "b", "c", "d"] {
                _ = try await send(
                    server, "PUT", "/v1/sessions/\(session)", #"{"reactor":"passing"}"#,
                    as: Self.all)
            }
            _ = try await send(server, "GET", "/metrics", as: "eve;read;-;-;-;-;600")
            _ = try await server.client().get("/livez")
            try await server.log.wait { $0.errors.contains("operation=livez") }
            let lines = server.log.present.errors.split(separator: "\n")
            func subjects(_ operation: String) -> [Substring?] {
                lines.filter { $0.contains("operation=\(operation)") }.map { line in
                    line.split(separator: " ").first { $0.hasPrefix("subject=") }
                }
            }
            // Each has a line of the request and one of the access log.
            #expect(subjects("putSession") == Array(repeating: "subject=root", count: 8))
            #expect(subjects("metrics") == ["subject=eve", "subject=eve"])
            #expect(subjects("livez").allSatisfy { $0 == nil })
        }
    }
}
