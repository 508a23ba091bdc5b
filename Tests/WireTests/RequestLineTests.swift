import Testing
import WireFeeds

@testable import Wire

@Suite("RFC 9112 §3 — the request line", .timeLimit(.minutes(60)))
struct RequestLineTests {
    @Test(arguments: [
        ("GET", Method.get), ("HEAD", .head), ("POST", .post), ("PUT", .put),
        ("DELETE", .delete), ("OPTIONS", .options), ("PATCH", .patch), ("TRACE", .trace),
        ("get", .other), ("PROPFIND", .other), ("GETT", .other), ("X", .other),
    ])
    func `a method is recognised by its exact letters`(text: String, method: Method) throws {
        let bytes = Array("\(text) /a HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        var offset = 0
        let progress = try reader.next(bytes.span, at: &offset, head: &head, body: &body)
        #expect(progress == .complete)
        #expect(head.method == method)
        #expect(head.text(head.methodRange) == text)
    }

    @Test(
        arguments: [
            ("/", "/", nil), ("/a/b?c=d", "/a/b", "c=d"), ("/a?", "/a", ""), ("/?a?b", "/", "a?b"),
            ("/a%20b", "/a%20b", nil), ("/x?a[]={1|2}^`", "/x", "a[]={1|2}^`"),
            ("http://h/p?q", "/p", "q"), ("HTTP://h:80", "/", nil), ("https://h?q=1", "/", "q=1"),
            ("http://[::1]:8080/p", "/p", nil), ("//a", "//a", nil),
            ("/http://x", "/http://x", nil),
        ] as [(String, String, String?)])
    func `a target is reduced to path and query`(
        target: String, path: String, query: String?
    ) throws {
        let request = try oneRequest("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(request.path == path)
        #expect(request.query == query)
    }

    @Test func `an asterisk is a target of OPTIONS only`() throws {
        #expect(try oneRequest("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").path == "*")
        #expect(
            everyWay("GET * HTTP/1.1\r\nHost: x\r\n\r\n").refusal == .malformedTarget)
        #expect(
            everyWay("OPTIONS ** HTTP/1.1\r\nHost: x\r\n\r\n").refusal == .malformedTarget)
    }

    @Test func `the authority of an absolute target is reported`() throws {
        let bytes = Array("GET http://real:81/a HTTP/1.1\r\nHost: other\r\n\r\n".utf8)
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        var offset = 0
        _ = try reader.next(bytes.span, at: &offset, head: &head, body: &body)
        #expect(head.line.authority.map(head.text) == "real:81")
    }

    @Test(
        arguments: [
            ("GET /\r\n", .malformedRequestLine), ("GET\r\n", .malformedRequestLine),
            ("GET  / HTTP/1.1\r\n", .malformedRequestLine),
            ("GET /  HTTP/1.1\r\n", .malformedRequestLine),
            ("GET / HTTP/1.1 \r\n", .malformedRequestLine),
            (" GET / HTTP/1.1\r\n", .malformedRequestLine),
            ("GET\t/ HTTP/1.1\r\n", .malformedRequestLine),
            ("G(T / HTTP/1.1\r\n", .malformedRequestLine),
            ("GET / http/1.1\r\n", .malformedRequestLine),
            ("GET / HTTP/1.11\r\n", .malformedRequestLine),
            ("GET / HTTP/1,1\r\n", .malformedRequestLine),
            ("GET / HTTP/a.1\r\n", .malformedRequestLine),
            ("GET / HTTP/1.\r\n", .malformedRequestLine),
            ("GET / XTTP/1.1\r\n", .malformedRequestLine),
            ("GET /a b HTTP/1.1\r\n", .malformedRequestLine),
            ("GET / HTTP/2.0\r\n", .unsupportedVersion),
            ("PRI * HTTP/2.0\r\n", .unsupportedVersion),
            ("GET / HTTP/0.9\r\n", .unsupportedVersion),
            ("GET /a\u{1}b HTTP/1.1\r\n", .forbiddenTargetCharacter),
            ("GET /a\u{7f}b HTTP/1.1\r\n", .forbiddenTargetCharacter),
            ("GET /é HTTP/1.1\r\n", .forbiddenTargetCharacter),
            ("GET /a#b HTTP/1.1\r\n", .forbiddenTargetCharacter),
            ("GET /a\"b HTTP/1.1\r\n", .forbiddenTargetCharacter),
            ("GET /a<b HTTP/1.1\r\n", .forbiddenTargetCharacter),
            ("GET /a\\b HTTP/1.1\r\n", .forbiddenTargetCharacter),
            ("GET a/b HTTP/1.1\r\n", .malformedTarget),
            ("GET example.com:80 HTTP/1.1\r\n", .malformedTarget),
            ("GET ftp://x/ HTTP/1.1\r\n", .malformedTarget),
            ("GET http:/x HTTP/1.1\r\n", .malformedTarget),
            ("GET http:///x HTTP/1.1\r\n", .malformedHost),
            ("GET http://:80/x HTTP/1.1\r\n", .malformedHost),
            ("GET http://u@h/x HTTP/1.1\r\n", .malformedHost),
            ("GET http://h:x/x HTTP/1.1\r\n", .malformedHost),
            ("CONNECT h:443 HTTP/1.1\r\n", .connectNotImplemented),
        ] as [(String, RequestRefusal)])
    func `a bad request line is refused with its reason`(
        line: String, refusal: RequestRefusal
    ) {
        let reading = everyWay(line + "Host: x\r\n\r\n")
        #expect(reading.refusal == refusal)
        #expect(reading.requests.isEmpty)
    }

    @Test(arguments: [
        "GE\rT / HTTP/1.1", "GET /\r HTTP/1.1", "GET / HTTP/1.\r1", "GET / H\rTP/1.1",
    ])
    func `a carriage return within the line is refused as such`(line: String) {
        let refusal = everyWay(line + "\r\nHost: x\r\n\r\n").refusal
        #expect(refusal?.code == "bare_carriage_return")
        #expect(refusal?.status == 400)
    }

    @Test func `a line that ends in LF alone is refused at once`() {
        let reading = everyWay("GET / HTTP/1.1\n")
        #expect(reading.refusal?.code == "bare_line_feed")
    }

    @Test func `a minor version above 1 counts as 1`() throws {
        #expect(try oneRequest("GET / HTTP/1.9\r\nHost: x\r\n\r\n").minorVersion == 1)
        #expect(try oneRequest("GET / HTTP/1.0\r\n\r\n").minorVersion == 0)
    }

    @Test func `a few empty lines before a request are ignored`() throws {
        let request = "GET / HTTP/1.0\r\n\r\n"
        for count in 0...4 {
            let text = String(repeating: "\r\n", count: count) + request
            #expect(try oneRequest(text).path == "/")
        }
        let five = everyWay(String(repeating: "\r\n", count: 5) + request)
        #expect(five.refusal == .tooManyEmptyLines(limit: 4))
        #expect(everyWay("\n" + request).refusal?.code == "bare_line_feed")
        #expect(everyWay("\r" + request).refusal?.code == "bare_carriage_return")
        #expect(everyWay("\r\r\n" + request).refusal?.code == "bare_carriage_return")
    }

    @Test func `empty lines are counted per request`() {
        let text = String(repeating: "\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n", count: 4)
        #expect(everyWay(text).requests.count == 4)
    }

    @Test func `empty lines leave a connection between requests`() {
        #expect(everyWay("\r\n\r\n").endsClean)
        #expect(!everyWay("\r\nG").endsClean)
    }

    @Test func `a target is read up to its limit and refused beyond`() throws {
        var limits = RequestLimits()
        limits.targetBytes = 20
        func request(_ count: Int) -> String {
            "GET /" + String(repeating: "a", count: count - 1) + " HTTP/1.0\r\n\r\n"
        }
        #expect(threeWays(request(20), limits: limits).requests.count == 1)
        let refusal = everyWay(request(21), limits: limits).refusal
        #expect(refusal == .targetTooLong(limit: 20))
        #expect(refusal?.status == 414)
    }

    @Test func `a method is read up to 32 bytes and refused beyond`() {
        let line = " / HTTP/1.0\r\n\r\n"
        let longest = String(repeating: "M", count: 32)
        #expect(everyWay(longest + line).requests.first?.method == longest)
        let refusal = everyWay(longest + "M" + line).refusal
        #expect(refusal == .methodTooLong(limit: 32))
        #expect(refusal?.status == 501)
    }

    @Test func `a request line without end is 414, a method without end 501`() {
        var limits = RequestLimits()
        limits.headBytes = 64
        limits.targetBytes = 40
        let target = "GET /" + String(repeating: "a", count: 100)
        #expect(everyWay(target, limits: limits).refusal == .targetTooLong(limit: 40))
        let method = String(repeating: "M", count: 100)
        #expect(everyWay(method, limits: limits).refusal == .methodTooLong(limit: 32))
    }
}
