import Foundation
import Testing

@Suite("The console and the home page are served as --console says", .timeLimit(.minutes(60)))
struct ConsoleTests {
    private static let paths = ["/console", "/console/console.js", "/console/console.css"]

    private func expect(
        _ status: Int, _ client: Client, _ path: String,
        _ fields: (name: String, value: String)...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let response = try await client.get(path, fields)
        #expect(response.status == status, "\(path) \(fields)", sourceLocation: sourceLocation)
        guard status == 404 else { return }
        try expectProblem(response, 404, "unknown_path", sourceLocation: sourceLocation)
    }

    @Test func `by default this machine gets it, by a loopback name and without a proxy`()
        async throws
    {
        let server = try await Servers.shared.process(.server)
        let client = server.client()
        for path in Self.paths {
            for host in ["localhost", "127.0.0.1:\(server.port)", "[::1]:1"] {
                try await expect(200, client, path, ("Host", host))
            }
            for host in ["x", "192.0.2.1", "127.0.0.2"] {
                try await expect(404, client, path, ("Host", host))
            }
            for field in ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Via"] {
                try await expect(404, client, path, (field, "a"))
            }
        }
        try await expect(404, client, "/console/nothing.js")
        try await expect(404, client, "/console/")
        try await expect(404, client, "/console/..%2Fopenapi.yaml")
    }

    @Test func `a server that others can reach has none unless it is on`() async throws {
        try await withServer(.server, "--host", "0.0.0.0", "--allow-public") { server in
            let client = Client(base: "http://127.0.0.1:\(server.port)")
            for path in Self.paths { try await expect(404, client, path) }
            try expectProblem(
                try await client.send(Request(method: "POST", path: "/console")), 404,
                "unknown_path")
            #expect(!server.log.present.output.contains("console"))
        }
        try await withServer(
            .server, "--host", "0.0.0.0", "--allow-public", "--console", "on"
        ) { server in
            let client = Client(base: "http://127.0.0.1:\(server.port)")
            for path in Self.paths {
                let forwarded = ("X-Forwarded-For", "192.0.2.1")
                try await expect(200, client, path, ("Host", "x"), forwarded)
            }
            #expect(server.log.present.output.contains(", console: \(server.address)/console"))
        }
    }

    @Test func `a server with tokens has it only if it is on, and then without a token`()
        async throws
    {
        let secret = "\(TemporaryFolder.shared.path)/\(UUID().uuidString)"
        try String(repeating: "s", count: 32).write(
            toFile: secret, atomically: true, encoding: .utf8)
        let options = ["--auth", "jwt", "--jwt-secret-file", secret]
        for (choice, expected) in [("loopback", 404), ("on", 200), ("off", 404)] {
            let server = try await ServerProcess.start(.server, options + ["--console", choice])
            let client = server.client()
            for path in Self.paths { try await expect(expected, client, path) }
            let home = try await client.get("/")
            #expect(home.status == 200)
            #expect(try home.json["authentication"] == .string("bearer"))
            #expect(try home.json["reactors"] == nil)
            #expect(try (home.json["console"] != nil) == (expected == 200))
            #expect(try await client.get("/v1/reactors").status == 401)
        }
    }

    @Test func `off has no page and no path`() async throws {
        try await withServer(environment: ["REACTOR_CONSOLE": "off"]) { server in
            let client = server.client()
            for path in Self.paths {
                try await expect(404, client, path)
                try expectProblem(
                    try await client.send(Request(method: "DELETE", path: path)), 404,
                    "unknown_path")
            }
            #expect(!server.log.present.output.contains("console"))
            #expect(try await client.get("/").json["console"] == nil)
        }
    }

    @Test func `a Unix socket is this machine`() async throws {
        let path = "\(TemporaryFolder.shared.path)/console.socket"
        try await withServer(.server, "--host", "unix:\(path)") { server in
            let client = server.client()
            try await expect(200, client, "/console")
            try await expect(404, client, "/console", ("Host", "x"))
            #expect(server.log.present.output.contains(", console: /console)"))
        }
    }

    @Test func `the start line has the address, before that of the operations`() async throws {
        try await withServer(.server, "--ops-listen", "127.0.0.1:0") { server in
            let line = server.log.present.output
            #expect(line.contains(", console: \(server.address)/console, operations: http://"))
            let operations = try #require(server.operationsClient)
            for path in Self.paths + ["/"] {
                try await expect(404, operations, path)
            }
            let home = try await server.client().get("/")
            #expect(try home.json["metrics"] == nil)
        }
    }

    @Test func `a bad value is reported together with all others`() async throws {
        let ended = try await ServerProcess.run(
            .server, ["--console", "yes", "--port", "x"],
            environment: ["REACTOR_CONSOLE_READ_ONLY": "on"])
        #expect(ended.exit == .code(64))
        for sentence in [
            "--console is \"yes\": expected one of loopback, on, read-only, off",
            "REACTOR_CONSOLE_READ_ONLY is no longer a setting: use --console read-only",
            "--port is \"x\"",
        ] {
            #expect(ended.errors.contains(sentence), "\(ended.errors)")
        }
    }

    // MARK: The responses

    @Test(arguments: paths + ["/"])
    func `a page has its fields, a tag, and 304 for a client that has it`(path: String) async throws
    {
        let client = try await sharedServer()
        let page = try await client.get(path)
        #expect(page["Cache-Control"] == "no-cache")
        #expect(page["X-Content-Type-Options"] == "nosniff")
        #expect(page["Referrer-Policy"] == "no-referrer")
        #expect(page["Cross-Origin-Opener-Policy"] == "same-origin")
        let policy = try #require(page["Content-Security-Policy"]).split(separator: "; ")
        for rule in [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
            "img-src 'self' data:", "base-uri 'none'", "form-action 'none'",
            "frame-ancestors 'none'",
        ] {
            #expect(policy.contains { $0 == rule }, "\(rule)")
        }
        let tag = try #require(page["ETag"])
        for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
            let same = try await client.get(path, [("If-None-Match", known)])
            #expect(same.status == 304, "\(known)")
            #expect(same.body.isEmpty)
            #expect(same["ETag"] == tag)
            #expect(same["Cache-Control"] == "no-cache")
        }
        let other = try await client.get(path, [("If-None-Match", "\"other\"")])
        #expect(other.status == 200)
        #expect(other.body == page.body)
        try expectProblem(
            try await client.get(path, [("If-None-Match", "other")]), 400, "malformed_entity_tag")
        let head = try await client.send(Request(method: "HEAD", path: path))
        #expect(head["ETag"] == tag)
        #expect(head.body.isEmpty)
    }

    @Test func `files have their media types`() async throws {
        let client = try await sharedServer()
        for (path, type) in [
            ("/console", "text/html"), ("/console/console.js", "text/javascript"),
            ("/console/console.css", "text/css"),
        ] {
            #expect(try await client.get(path)["Content-Type"] == "\(type); charset=utf-8")
        }
    }

    @Test func `the JavaScript client is served wherever clients are`() async throws {
        try await withServer(environment: ["REACTOR_CONSOLE": "off"]) { server in
            let client = server.client()
            for path in [
                "/reactor-client.js", "/reactor-client/machine.js", "/outbox-indexeddb.js",
                "/react.js",
            ] {
                let file = try await client.get(path, [("Host", "x"), ("Via", "1.1 p")])
                #expect(file.status == 200, "\(path)")
                #expect(file["Content-Type"] == "text/javascript; charset=utf-8")
                #expect(file["ETag"] != nil)
            }
            try await expect(404, client, "/reactor-client/nothing.js")
            #expect(try await client.get("/").json["client"] == .string("/reactor-client.js"))
        }
    }

    @Test func `the demonstration is served where the console is, by the program that has it`()
        async throws
    {
        let client = try await sharedServer()
        for path in ["/demo", "/demo/demo.js", "/demo/demo.css", "/demo/conversation.html"] {
            try await expect(200, client, path)
            try await expect(404, client, path, ("Host", "x"))
            try await expect(404, try await sharedFixtures(), path)
        }
        #expect(try await client.get("/").json["demo"] == .string("/demo"))
        #expect(try await sharedFixtures().get("/").json["demo"] == nil)
    }

    // MARK: The home page

    @Test func `the home page is a page for browsers, and JSON for anybody else`() async throws {
        let client = try await sharedServer()
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
        let page = try await client.get("/", [("Accept", browser)])
        #expect(page["Content-Type"] == "text/html; charset=utf-8")
        for text in ["reactor-server", "alerts", "href=\"console\"", "href=\"openapi.yaml\""] {
            #expect(page.text.contains(text), "\(text)")
        }
        for fields in [[], [("Accept", "*/*")], [("Accept", "application/json")]] {
            let json = try await client.get("/", fields)
            #expect(json["Content-Type"] == "application/json")
            #expect(json["Vary"] == "Accept")
            #expect(json["ETag"] != page["ETag"])
            #expect(try json.json["name"] == .string("reactor-server"))
            #expect(try json.json["console"]?["path"] == .string("/console"))
            #expect(try json.json["console"]?["readOnly"] == .bool(false))
            #expect(try json.json["authentication"] == .string("none"))
            #expect(try json.json["metrics"] == .string("/metrics"))
        }
        #expect(page["Vary"] == "Accept")
    }

    @Test func `the home page links to the console only where it is`() async throws {
        let client = try await sharedServer()
        let accept = ("Accept", "text/html")
        let page = try await client.get("/", [accept, ("Host", "x")])
        #expect(page.status == 200)
        #expect(!page.text.contains("console"))
    }

    @Test func `the home page says that the console is read-only`() async throws {
        try await withServer(.server, "--console", "read-only") { server in
            let home = try await server.client().get("/")
            #expect(try home.json["console"]?["readOnly"] == .bool(true))
        }
    }
}
