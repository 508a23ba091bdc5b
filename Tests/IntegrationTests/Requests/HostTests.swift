import Foundation
import ReactorHosting
import Testing

@Suite("The host and the origin of requests", .timeLimit(.minutes(60)))
struct HostTests {
    /// Every route, a path without one, and the server as a whole.
    private static let targets: [(method: String, path: String)] =
        Route.table.map {
            (
                $0.method,
                $0.path.replacing("{id}", with: "mine").replacing("{topic}", with: "t")
                    .replacing("{file}", with: "f")
            )
        } + [
            ("GET", "/nothing"), ("PATCH", "/livez"), ("HEAD", "/livez"), ("OPTIONS", "/livez"),
            ("OPTIONS", "*"),
        ]

    @Test func `a host name of someone else gets 421 on every path`() async throws {
        try await withServer(.server, "--admin", "on") { server in
            let client = server.client()
            let created = try await client.put("/v1/sessions/mine", #"{"reactor":"alerts"}"#)
            #expect(created.status == 201)
            for (method, path) in Self.targets {
                let connection = try RawConnection(port: server.port)
                await connection.send(
                    "\(method) \(path) HTTP/1.1\r\nHost: evil.example:\(server.port)\r\n"
                        + "Content-Length: 0\r\nConnection: close\r\n\r\n")
                let received = await connection.receiveAll()
                let text = String(decoding: received.bytes, as: UTF8.self)
                #expect(text.hasPrefix("HTTP/1.1 421 Misdirected Request\r\n"), "\(method) \(path)")
                guard method != "HEAD" else { continue }
                #expect(text.contains(#""code":"unknown_host""#), "\(method) \(path)")
            }
            // Nothing was done: the session exists, and has not changed.
            let session = try await client.get("/v1/sessions/mine")
            #expect(session.status == 200)
            #expect(try session.json["position"] == created.json["position"])
        }
    }

    @Test func `the names that were given are served, in any case and with any port`() async throws
    {
        try await withServer(
            .server, environment: ["REACTOR_ALLOW_HOST": "app.example, api.example"]
        ) { server in
            for (host, status) in [
                ("APP.example:1", 200), ("api.example", 200), ("localhost", 200),
                ("127.0.0.1", 200), ("example", 421),
            ] {
                let answer = try await server.client().get("/livez", [("Host", host)])
                #expect(answer.status == status, "\(host)")
            }
        }
    }

    // DNS rebinding: a page's own name points to this machine, so to the browser the page and the
    // server have one origin, and its scripts may read every response, as the browser itself does.
    @Test(.enabled(if: Browser.program != nil))
    func `a name that points to this machine reads nothing in a browser`() async throws {
        let program = try #require(Browser.program)
        try await withServer(
            .server, environment: ["REACTOR_ALLOW_HOST": "good.example"]
        ) { server in
            let session = try await server.client().session("alerts")
            for (name, expected) in [
                ("evil.example", "unknown_host"), ("good.example", session.generation),
            ] {
                let browser = try Browser(
                    program, opening: "http://\(name):\(server.port)\(session.path)",
                    "--host-resolver-rules=MAP * 127.0.0.1", "--dump-dom")
                try await browser.log.wait { $0.exit != nil }
                let page = browser.log.present.output
                #expect(page.contains(expected), "\(page)")
                #expect(page.contains(session.generation) == (name == "good.example"))
                try await browser.quit()
            }
        }
    }

    // MARK: Origins

    private static func preflight(_ path: String, from origin: String) -> Request {
        Request(
            method: "OPTIONS", path: path,
            fields: [
                ("Origin", origin), ("Access-Control-Request-Method", "POST"),
                ("Access-Control-Request-Headers", "content-type,authorization"),
            ])
    }

    @Test func `pages of the allowed origins are served, each under its own name`() async throws {
        let origins = ["https://app.example", "http://localhost:3000"]
        try await withServer(
            .server, "--allow-origin", origins.joined(separator: ", ")
        ) { server in
            let client = server.client()
            let session = try await client.session("alerts")
            let actions = "\(session.path)/actions"
            for origin in origins {
                let preflight = try await client.send(Self.preflight(actions, from: origin))
                #expect(preflight.status == 204)
                #expect(preflight["Access-Control-Max-Age"] == "600")
                #expect(preflight["Access-Control-Allow-Methods"]?.contains("POST") == true)
                let headers = try #require(preflight["Access-Control-Allow-Headers"]).lowercased()
                #expect(headers.contains("content-type") && headers.contains("authorization"))
                let fields = [("Origin", origin), ("Content-Type", "application/json")]
                var action = Request.json("POST", actions, #"{"type":"doSomeAction"}"#)
                action.fields = fields
                for response in [
                    preflight, try await client.get(session.path, fields),
                    try await client.get("/nothing", fields), try await client.send(action),
                ] {
                    #expect(response["Access-Control-Allow-Origin"] == origin)
                    #expect(response["Access-Control-Allow-Credentials"] == "true")
                    #expect(response["Vary"] == "Origin")
                    let exposed = try #require(response["Access-Control-Expose-Headers"])
                    #expect(exposed.contains("Idempotency-Replayed"))
                    #expect(exposed.contains("RateLimit, RateLimit-Policy"))
                }
                let stream = try await session.open("pulses", fields)
                #expect(await stream.head["Access-Control-Allow-Origin"] == origin)
                #expect(await stream.head["Vary"] == "Origin")
            }
        }
    }

    @Test func `pages of other origins get no permission`() async throws {
        try await withServer(.server, "--allow-origin", "https://app.example") { server in
            let client = server.client()
            let session = try await client.session("alerts")
            for origin in ["https://other.example", "https://app.example.evil", "null"] {
                for response in [
                    try await client.send(Self.preflight("\(session.path)/actions", from: origin)),
                    try await client.get(session.path, [("Origin", origin)]),
                ] {
                    #expect(!response.head.fields.contains { $0.name.hasPrefix("Access-Control") })
                    #expect(response["Vary"] == "Origin")
                }
            }
        }
    }

    @Test func `without the setting there are no fields of CORS`() async throws {
        let response = try await sharedServer().get("/livez", [("Origin", "https://other")])
        #expect(!response.head.fields.contains { $0.name.hasPrefix("Access-Control") })
        #expect(response["Vary"] == nil)
    }
}
