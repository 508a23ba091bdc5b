import Testing
import Wire

@testable import ReactorHosting

@Suite("The host that a request is for", .timeLimit(.minutes(60)))
struct AllowedHostsTests {
    private func head(_ target: String = "/livez", host: String) throws -> RequestHead {
        var reader = RequestReader(limits: RequestLimits())
        var (head, body, offset) = (RequestHead(), [UInt8](), 0)
        let text = Array("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)
        try #require(
            try reader.next(text.span, at: &offset, head: &head, body: &body) == .complete)
        return head
    }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:8080", "0.0.0.0", "255.255.255.255:1", "192.168.001.010", "[::1]",
        "[::1]:8080", "[fe80::1]", "localhost", "LOCALHOST:80", "localhost.", "localhost.:80", "",
        ":80", "app.example", "APP.Example:8443", "app.example.",
    ])
    func `addresses, localhost and the given names are permitted`(host: String) throws {
        #expect(AllowedHosts(["app.example"]).permits(try head(host: host)))
    }

    @Test(arguments: [
        "evil.example", "evil.example:8080", "localhost.evil.example", "app.example.evil",
        "xapp.example", "pp.example", "127.0.0.1.evil.example", "256.0.0.1", "1.2.3", "1.2.3.4.5",
        "1..2.3", "1.2.3.", ".1.2.3.4", "0x7f.1", "2130706433", "1.2.3.4a", "0001.2.3.4",
        "[v1.x]", "%6cocalhost", "localhost..", ".", "app.example..",
    ])
    func `every other name is refused`(host: String) throws {
        #expect(!AllowedHosts(["app.example"]).permits(try head(host: host)))
    }

    @Test func `an absolute target has precedence over Host`() throws {
        let hosts = AllowedHosts([])
        #expect(!hosts.permits(try head("http://evil.example/livez", host: "localhost")))
        #expect(!hosts.permits(try head("http://evil.example:80?x", host: "localhost")))
        #expect(hosts.permits(try head("http://[::1]:80/livez", host: "evil.example")))
    }

    @Test func `an asterisk permits every name`() throws {
        #expect(AllowedHosts(["a", "*"]).permits(try head(host: "evil.example")))
    }

    @Test func `HTTP 1.0 has no Host`() throws {
        var reader = RequestReader(limits: RequestLimits())
        var (head, body, offset) = (RequestHead(), [UInt8](), 0)
        let text = Array("GET /livez HTTP/1.0\r\n\r\n".utf8)
        _ = try reader.next(text.span, at: &offset, head: &head, body: &body)
        #expect(head.host == nil)
        #expect(AllowedHosts([]).permits(head))
    }
}

@Suite("Origins that may use the server in a browser", .timeLimit(.minutes(60)))
struct AllowedOriginsTests {
    private func names(_ origins: AllowedOrigins, _ index: AllowedOrigins.Index) -> [String: String]
    {
        Dictionary(origins.fields[Int(index)]) { first, _ in first }
    }

    private func index(_ origins: AllowedOrigins, _ origin: String) throws -> AllowedOrigins.Index {
        origins.index(of: try HeadOf("GET", "/livez", "Origin: \(origin)").head)
    }

    @Test func `without origins there are no fields`() throws {
        let origins = AllowedOrigins([])
        #expect(try index(origins, "https://a") == 0)
        #expect(origins.fields.count == 1)
        #expect(origins.fields[0].isEmpty)
        #expect(origins.preflight(0, methods: "GET").isEmpty)
    }

    @Test func `an asterisk permits every origin, without credentials`() throws {
        let origins = AllowedOrigins(["https://a", "*"])
        #expect(try index(origins, "https://a") == 0)
        #expect(names(origins, 0)["Access-Control-Allow-Origin"] == "*")
        #expect(names(origins, 0)["Access-Control-Allow-Credentials"] == nil)
        #expect(names(origins, 0)["Vary"] == nil)
        #expect(!origins.preflight(0, methods: "GET").isEmpty)
    }

    @Test func `an index is replaced by that of the same origin, or by 0`() {
        let origins = AllowedOrigins(["https://b", "https://c", "https://a"])
        #expect(
            origins.indices(replacing: AllowedOrigins(["https://a", "https://x"])) == [0, 3, 0])
        #expect(AllowedOrigins([]).indices(replacing: origins) == [0, 0, 0, 0])
        #expect(origins.indices(replacing: AllowedOrigins(["*", "https://a"])) == [0])
    }

    @Test func `each listed origin gets its own fields, and another one only Vary`() throws {
        let origins = AllowedOrigins(["https://a", "https://b:1"])
        #expect(try index(origins, "https://a") == 1)
        #expect(try index(origins, "HTTPS://B:1") == 2)
        for other in ["https://b", "https://a.evil", "null", "", "https://a:443"] {
            #expect(try index(origins, other) == 0)
        }
        #expect(names(origins, 0) == ["Vary": "Origin"])
        #expect(names(origins, 2)["Access-Control-Allow-Origin"] == "https://b:1")
        #expect(names(origins, 2)["Access-Control-Allow-Credentials"] == "true")
        #expect(names(origins, 2)["Vary"] == "Origin")
        #expect(origins.preflight(0, methods: "GET").isEmpty)
        #expect(!origins.preflight(1, methods: "GET").isEmpty)
    }

    @Test func `responses that depend on a cookie say so to caches`() {
        for list in [[], ["*"]] {
            let origins = AllowedOrigins(list, hasCookies: true)
            #expect(names(origins, 0)["Vary"] == "Cookie")
            #expect(names(origins, 0)["Access-Control-Allow-Credentials"] == nil)
        }
        let origins = AllowedOrigins(["https://a"], hasCookies: true)
        for index in [0, 1] as [AllowedOrigins.Index] {
            #expect(names(origins, index)["Vary"] == "Origin, Cookie")
        }
    }
}
