import Testing
import Wire

@testable import ReactorHosting

@Suite("The cookie with a token", .timeLimit(.minutes(60)))
struct TokenCookieTests {
    /// The token, nil without the cookie, or the code of the refusal.
    private func token(_ lines: [String]) throws -> String? {
        let head = try HeadOf("GET", "/v1/reactors", lines.map { "Cookie: \($0)" }).head
        do {
            return try TokenCookie.find(in: head).map(head.text)
        } catch {
            return error.code
        }
    }

    @Test(
        arguments: [
            ([], nil), ([""], nil), (["a=b"], nil), (["__Host-reactor=x"], "x"),
            (["a=b; __Host-reactor=x; c=d"], "x"), (["a=b;__Host-reactor=x;c=d"], "x"),
            (["a=b", "__Host-reactor=x"], "x"), (["\t__Host-reactor=x \t;"], "x"),
            (["__Host-reactor=a.b-c_d=="], "a.b-c_d=="),
            (["__host-reactor=x"], nil), (["__Host-reactors=x"], nil), (["__Host-reactor"], nil),
            (["a=__Host-reactor=x"], nil),
            (["__Host-reactor=x; __Host-reactor=x"], "cookie_invalid"),
            (["__Host-reactor=x", "__Host-reactor=y"], "cookie_invalid"),
            (["__Host-reactor="], "cookie_invalid"), (["__Host-reactor=\"x\""], "cookie_invalid"),
            (["__Host-reactor=x y"], "cookie_invalid"), (["__Host-reactor=x,y"], "cookie_invalid"),
            (["__Host-reactor=é"], "cookie_invalid"), (["__Host-reactor=x\\"], "cookie_invalid"),
            (["__Host-reactor=" + String(repeating: "x", count: 4_097)], "cookie_invalid"),
        ] as [([String], String?)])
    func `one cookie of the name has a token, and any other is refused`(
        lines: [String], expected: String?
    ) throws {
        #expect(try token(lines) == expected)
    }

    @Test func `the field names the whole host, and the value comes back`() throws {
        let field = try #require(TokenCookie.field(setting: Array("a.b".utf8)[...], seconds: 90))
        #expect(field.name == "Set-Cookie")
        #expect(
            field.value
                == "__Host-reactor=a.b; Max-Age=90; Path=/; Secure; HttpOnly; SameSite=Strict")
        #expect(TokenCookie.removal.1.hasPrefix("__Host-reactor=; Max-Age=0; Path=/; Secure"))
        for bad in ["a;b", "a b", "a\"", "a,b", "a\\b", "é", String(repeating: "x", count: 4_096)] {
            #expect(TokenCookie.field(setting: Array(bad.utf8)[...], seconds: 1) == nil, "\(bad)")
        }
        let longest = String(repeating: "x", count: 4_096 - 14)
        #expect(TokenCookie.field(setting: Array(longest.utf8)[...], seconds: 1) != nil)
        #expect(try token(["__Host-reactor=\(longest)"]) == longest)
    }

    private func code(_ method: String, _ host: String, _ origins: [String]) throws -> String? {
        let lines = ["Host: \(host)"] + origins.map { "Origin: \($0)" }
        var request = Request()
        request.head = try HeadOf(method, "/v1/sessions/a", lines, host: nil).head
        do {
            try TokenCookie.checkOrigin(of: request, AllowedOrigins(["https://page.example:8"]))
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: ["POST", "PUT", "DELETE"])
    func `a request that may change something needs the server's own origin, or a listed one`(
        method: String
    ) throws {
        let allowed: [(String, String)] = [
            ("app.example", "https://app.example"), ("App.example", "https://app.EXAMPLE"),
            ("app.example:444", "https://app.example:444"),
            ("localhost:80", "http://localhost:80"), ("127.0.0.1:9", "http://127.0.0.1:9"),
            ("[::1]:9", "http://[::1]:9"), ("[::1]:9", "https://[::1]:9"),
            ("app.example", "https://page.example:8"),
        ]
        for (host, origin) in allowed {
            #expect(try code(method, host, [origin]) == nil, "\(host) \(origin)")
        }
        let refused: [(String, [String])] = [
            ("app.example", []), ("app.example", ["null"]), ("app.example", [""]),
            ("app.example", ["*"]), ("app.example", ["https://"]), ("app.example", ["http"]),
            ("app.example", ["http://app.example"]), ("app.example", ["app.example"]),
            ("app.example", ["https://app.example:444"]),
            ("app.example:444", ["https://app.example"]),
            ("app.example", ["https://app.example.evil"]),
            ("app.example", ["https://xapp.example"]), ("app.example", ["https://evil"]),
            ("app.example", ["https://evil/https://app.example"]),
            ("app.example", ["https://app.example", "https://app.example"]),
            ("app.example", ["https://page.example:8", "https://evil"]),
            ("app.example", ["https://page.example"]),
            ("localhost:80", ["http://localhost:81"]), ("localhost:80", ["http://evil"]),
            ("127.0.0.1.evil", ["http://127.0.0.1.evil"]),
            ("10.0.0.1", ["http://10.0.0.1"]), ("", ["https://"]), ("", ["http://"]),
        ]
        for (host, origins) in refused {
            #expect(try code(method, host, origins) == "origin_not_allowed", "\(host) \(origins)")
        }
    }

    @Test(arguments: ["GET", "HEAD"])
    func `a request that changes nothing needs no origin`(method: String) throws {
        for origins in [[], ["https://evil"], ["null"]] {
            #expect(try code(method, "app.example", origins) == nil)
        }
    }
}
