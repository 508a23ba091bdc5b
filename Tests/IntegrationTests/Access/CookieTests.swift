import Foundation
import Testing

@Suite("A cookie with the token", .timeLimit(.minutes(60)))
struct CookieTests {
    /// HS256 with the secret below; creates, acts and reads, every session, until 2100. Made with
    /// Python's hmac.
    private static let token = """
        eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJmaXJzdCIsImV4cCI6NDEwMjQ0NDgwMCwicmVhY3RvciI6\
        eyJ2ZXJicyI6WyJjcmVhdGUiLCJhY3QiLCJyZWFkIl0sInNlc3Npb25zIjpbIioiXX19.\
        olyD6sQFf-rpn_lpW4pMETBLq1oqCBDdJEhQGjem1CI
        """
    private static let bearer = (name: "Authorization", value: "Bearer \(token)")
    private static let cookie = (name: "Cookie", value: "__Host-reactor=\(token)")
    private static let action = #"{"type":"alert","message":"m"}"#

    private func withTokens(
        _ options: String..., do body: (ServerProcess, Client) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            let secret = "\(TemporaryFolder.shared.path)/\(UUID().uuidString)"
            try "0123456789abcdef0123456789abcdef".write(
                toFile: secret, atomically: true, encoding: .utf8)
            let server = try await ServerProcess.start(
                .server, ["--auth", "jwt", "--jwt-secret-file", secret] + options)
            let client = server.client()
            for session in (0..<4).map({ "s\($0)" }) {
                let made = try await send(
                    client, "PUT", "/v1/sessions/\(session)", #"{"reactor":"alerts"}"#, Self.bearer)
                #expect(made.status == 201)
            }
            try await body(server, client)
            #expect(server.log.present.exit != .signal(11), "\(server.log.present.errors)")
        }
    }

    private func send(
        _ client: Client, _ method: String, _ path: String, _ json: String? = nil,
        _ fields: (name: String, value: String)...
    ) async throws -> Response {
        var request = json.map { Request.json(method, path, $0) } ?? Request(path: path)
        request.method = method
        request.fields += fields
        return try await client.send(request)
    }

    @Test func `a page sets the cookie, uses it, and removes it`() async throws {
        try await withTokens { server, client in
            let set = try await send(client, "PUT", "/v1/cookie", nil, Self.bearer)
            #expect(set.status == 204)
            #expect(set["Cache-Control"] == "no-store")
            let field = try #require(set["Set-Cookie"])
            let parts = field.components(separatedBy: "; ")
            #expect(parts[0] == Self.cookie.value)
            let age = try #require(parts[1].split(separator: "=").last.flatMap { Int($0) })
            #expect((1...4_102_444_800).contains(age))
            #expect(parts[2...] == ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"])
            for number in 0..<4 {
                let path = "/v1/sessions/s\(number)"
                let state = try await client.get(path, [Self.cookie])
                #expect(state.status == 200)
                #expect(state["Vary"] == "Cookie")
                let stream = try await client.open("\(path)/pulses", [Self.cookie])
                #expect(try await stream.next().name == "snapshot")
                let own = ("Origin", "http://127.0.0.1:\(server.port)")
                let posted = try await send(
                    client, "POST", "\(path)/actions", Self.action, Self.cookie, own)
                #expect(posted.status == 200)
                #expect(try await stream.next().data == #""m""#)
            }
            // Other cookies beside it, and on two lines.
            let beside = ("Cookie", "a=b; \(Self.cookie.value); c=d")
            #expect(try await client.get("/v1/reactors", [beside]).status == 200)
            #expect(
                try await client.get("/v1/reactors", [("Cookie", "a=b"), Self.cookie]).status == 200
            )
            #expect(try await client.get("/v1/reactors", [("Cookie", "a=b")]).status == 401)
            let removed = try await send(client, "DELETE", "/v1/cookie")
            #expect(removed.status == 204)
            #expect(removed["Set-Cookie"]?.hasPrefix("__Host-reactor=; Max-Age=0; ") == true)
        }
    }

    @Test func `a request that may change something needs an allowed origin`() async throws {
        try await withTokens("--allow-origin", "https://page.example") { server, client in
            let own = "http://127.0.0.1:\(server.port)"
            for number in 0..<4 {
                let path = "/v1/sessions/s\(number)/actions"
                for (origin, status) in [
                    (nil, 403), ("null", 403), ("https://evil.example", 403),
                    ("http://127.0.0.1:1", 403), ("http://page.example", 403), (own, 200),
                    ("https://page.example", 200),
                ] {
                    let fields = origin.map { [("Origin", $0)] } ?? []
                    var request = Request.json("POST", path, Self.action)
                    request.fields += [Self.cookie] + fields
                    let response = try await client.send(request)
                    #expect(response.status == status, "\(origin ?? "none")")
                    if status == 403 {
                        #expect(try response.json["code"] == "origin_not_allowed")
                    }
                    // With a token in the head the cookie is ignored.
                    request.fields.append(Self.bearer)
                    #expect(try await client.send(request).status == 200)
                    // Reading needs no origin; the browser shows the response to allowed ones.
                    let read = try await client.get(
                        "/v1/sessions/s\(number)", [Self.cookie] + fields)
                    #expect(read.status == 200)
                    let shown = read["Access-Control-Allow-Credentials"]
                    #expect(shown == (origin == "https://page.example" ? "true" : nil))
                }
            }
            let foreign = ("Origin", "https://evil.example")
            for (method, path) in [
                ("DELETE", "/v1/sessions/s0"), ("PUT", "/v1/sessions/s0"), ("POST", "/v1/sessions"),
                ("POST", "/v1/tickets"), ("PUT", "/v1/cookie"),
            ] {
                let response = try await send(client, method, path, "{}", Self.cookie, foreign)
                #expect(response.status == 403, "\(method) \(path)")
                #expect(try response.json["code"] == "origin_not_allowed", "\(method) \(path)")
            }
            let set = try await send(client, "PUT", "/v1/cookie", nil, Self.bearer, foreign)
            #expect(set.status == 403)
            #expect(set["Set-Cookie"] == nil)
            // Not even with every token: a cookie does not renew itself.
            let page = ("Origin", "https://page.example")
            let renewed = try await send(client, "PUT", "/v1/cookie", nil, Self.cookie, page)
            #expect(renewed.status == 401)
        }
    }

    @Test func `every origin is not an allowed origin`() async throws {
        try await withTokens("--allow-origin", "*") { server, client in
            let path = "/v1/sessions/s0/actions"
            let page = ("Origin", "https://page.example")
            let posted = try await send(client, "POST", path, Self.action, Self.cookie, page)
            #expect(posted.status == 403)
            #expect(posted["Access-Control-Allow-Credentials"] == nil)
        }
    }

    @Test func `a cookie that is no valid token gets 401, and is in no log`() async throws {
        try await withTokens("--log-level", "trace", "--access-log", "on") { server, client in
            let bad: [(String, String)] = [
                ("\(Self.cookie.value); \(Self.cookie.value)", "cookie_invalid"),
                ("__Host-reactor=", "cookie_invalid"),
                ("__Host-reactor=\"\(Self.token)\"", "cookie_invalid"),
                ("__Host-reactor=" + String(repeating: "x", count: 5_000), "cookie_invalid"),
                ("\(Self.cookie.value)x", "token_invalid"), ("__Host-reactor=x", "token_invalid"),
                ("__host-reactor=\(Self.token)", "token_missing"),
                ("reactor=\(Self.token)", "token_missing"),
            ]
            for (value, code) in bad {
                let response = try await client.get("/v1/reactors", [("Cookie", value)])
                #expect(response.status == 401, "\(value.prefix(40))")
                #expect(try response.json["code"]?.string == code, "\(value.prefix(40))")
                #expect(response["WWW-Authenticate"] != nil, "\(value.prefix(40))")
                #expect(!response.text.contains("eyJ"))
            }
            #expect(try await client.get("/v1/reactors", [Self.cookie]).status == 200)
            try await server.log.wait { $0.errors.contains("status=200") }
            server.signal(15)
            #expect(try await server.exit() == .code(0))
            #expect(!server.log.present.errors.contains("eyJ"))
        }
    }

    @Test func `a token that fits no cookie is refused, and so is every cookie without tokens`()
        async throws
    {
        try await withServer(.fixtures, environment: ["FIXTURE_TOKENS": "1"]) { server in
            // The fixture's tokens have semicolons.
            let set = try await send(
                server.client(), "PUT", "/v1/cookie", nil,
                ("Authorization", "Bearer ada;-;-;-;-;-;600"))
            #expect(set.status == 422)
            #expect(try set.json["code"] == "token_not_for_cookie")
            #expect(set["Set-Cookie"] == nil)
        }
        let client = try await Servers.shared.process(.server).client()
        let set = try await send(client, "PUT", "/v1/cookie")
        #expect(set.status == 403)
        #expect(try set.json["code"] == "authentication_off")
        let session = try await client.session("alerts")
        let read = try await client.get(session.path, [Self.cookie])
        #expect(read.status == 200)
        #expect(read["Vary"] == nil)
    }
}
