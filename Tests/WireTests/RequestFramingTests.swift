import Testing
import WireFeeds

@testable import Wire

@Suite("RFC 9112 §6.3 — how long a body is", .timeLimit(.minutes(60)))
struct BodyLengthTests {
    private func post(_ fields: String..., body: String = "", version: String = "1.1") -> String {
        "POST / HTTP/\(version)\r\nHost: x\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
            + body
    }

    @Test func `without a length there is no body`() throws {
        let request = try oneRequest(post())
        #expect(request.length == .none)
        #expect(request.body.isEmpty)
    }

    @Test func `Content-Length says how many bytes belong to the request`() throws {
        #expect(try oneRequest(post("Content-Length: 5", body: "hello")).body == "hello")
        #expect(try oneRequest(post("content-length:005", body: "hello")).body == "hello")
        let empty = try oneRequest(post("Content-Length: 0"))
        #expect(empty.length == .sized(0))
    }

    @Test func `a body has a length in GET and in HTTP 1.0 as well`() throws {
        let text = "GET / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi"
        #expect(try oneRequest(text).body == "hi")
    }

    @Test(arguments: [
        "+5", "-5", "5, 5", "5,6", "0x5", "5 5", "", "5.0", "٣", "5;", "1e3", "five",
    ])
    func `a Content-Length that is not digits only is refused`(value: String) {
        let refusal = everyWay(post("Content-Length: \(value)", body: "hello")).refusal
        #expect(refusal == .malformedContentLength)
        #expect(refusal?.status == 400)
    }

    @Test func `a second Content-Length is refused, equal or not`() {
        for second in ["5", "6"] {
            let text = post("Content-Length: 5", "Content-Length: \(second)", body: "hello!")
            #expect(everyWay(text).refusal == .repeatedContentLength)
        }
    }

    @Test(arguments: [
        "11", "9223372036854775807", "9223372036854775808", "18446744073709551621",
        "99999999999999999999999999999999",
    ])
    func `a declared length over the limit is refused before the body`(value: String) {
        var limits = RequestLimits()
        limits.bodyBytes = 10
        let refusal = everyWay(post("Content-Length: \(value)"), limits: limits).refusal
        #expect(refusal == .bodyTooLarge(limit: 10))
        #expect(refusal?.status == 413)
        let fits = post("Content-Length: 10", body: "0123456789")
        #expect(everyWay(fits, limits: limits).requests.count == 1)
    }

    @Test func `Content-Length together with Transfer-Encoding is refused`() {
        let te = "Transfer-Encoding: chunked"
        for text in [
            post("Content-Length: 5", te, body: "0\r\n\r\n"),
            post(te, "Content-Length: 5", body: "0\r\n\r\n"),
        ] {
            let refusal = everyWay(text).refusal
            #expect(refusal == .transferEncodingWithContentLength)
            #expect(refusal?.status == 400)
        }
    }

    @Test func `Transfer-Encoding in HTTP 1.0 is refused`() {
        let text = post("Transfer-Encoding: chunked", body: "0\r\n\r\n", version: "1.0")
        #expect(everyWay(text).refusal == .transferEncodingInOldVersion)
    }

    @Test(
        arguments: [
            ("gzip", .chunkedNotFinal, 400), ("chunked, gzip", .chunkedNotFinal, 400),
            ("identity", .chunkedNotFinal, 400), ("xchunked", .chunkedNotFinal, 400),
            ("chunke", .chunkedNotFinal, 400), ("chunkedx", .chunkedNotFinal, 400),
            ("gzip, chunked", .unknownTransferCoding, 501),
            ("identity, chunked", .unknownTransferCoding, 501),
            ("chunked, chunked", .malformedTransferEncoding, 400),
            ("chunked;q=1", .malformedTransferEncoding, 400),
            ("chunked ;q", .malformedTransferEncoding, 400),
            ("", .malformedTransferEncoding, 400), (",chunked", .malformedTransferEncoding, 400),
            ("chunked,", .malformedTransferEncoding, 400),
            ("\"chunked\"", .malformedTransferEncoding, 400),
        ] as [(String, RequestRefusal, Int)])
    func `a Transfer-Encoding other than chunked is refused`(
        value: String, refusal: RequestRefusal, status: Int
    ) {
        let got = everyWay(post("Transfer-Encoding: \(value)", body: "0\r\n\r\n")).refusal
        #expect(got == refusal)
        #expect(got?.status == status)
    }

    @Test func `codings of several lines are one list`() {
        let te = "Transfer-Encoding: "
        let twice = post(te + "chunked", te + "chunked", body: "0\r\n\r\n")
        #expect(everyWay(twice).refusal == .malformedTransferEncoding)
        let mixed = post(te + "gzip", te + "chunked", body: "0\r\n\r\n")
        #expect(everyWay(mixed).refusal == .unknownTransferCoding)
    }

    @Test func `chunked is recognised regardless of case`() throws {
        let text = post("Transfer-Encoding: CHUNKED", body: "2\r\nhi\r\n0\r\n\r\n")
        #expect(try oneRequest(text).body == "hi")
    }

    @Test func `pipelined requests are read one after another`() {
        let one = post("Content-Length: 3", body: "abc")
        let two = post("Transfer-Encoding: chunked", body: "3\r\ndef\r\n0\r\n\r\n")
        let three = post()
        let reading = everyWay(one + two + "\r\n" + three + two + one)
        #expect(reading.requests.map(\.body) == ["abc", "def", "", "def", "abc"])
        #expect(reading.endsClean)
    }
}

@Suite("RFC 9112 §3.2 — Host", .timeLimit(.minutes(60)))
struct HostTests {
    @Test func `HTTP 1.1 needs a Host, HTTP 1.0 does not`() throws {
        let refusal = everyWay("GET / HTTP/1.1\r\n\r\n").refusal
        #expect(refusal == .missingHost)
        #expect(refusal?.status == 400)
        #expect(everyWay("GET http://x/ HTTP/1.1\r\n\r\n").refusal == .missingHost)
        #expect(try oneRequest("GET / HTTP/1.0\r\n\r\n").fields.isEmpty)
    }

    @Test func `two Host fields are refused, equal or not, in any version`() {
        for version in ["1.1", "1.0"] {
            for second in ["a", "b"] {
                let text = "GET / HTTP/\(version)\r\nHost: a\r\nhost: \(second)\r\n\r\n"
                #expect(everyWay(text).refusal == .repeatedHost)
            }
        }
    }

    @Test(arguments: [
        "a", "a.b:80", "a:", "", "127.0.0.1:65535", "[::1]", "[::1]:80", "[v1.a:b]", "a%20b",
        "a_b-c~d", "a!$&'()*+;=",
    ])
    func `a host and port are accepted`(host: String) throws {
        #expect(
            try oneRequest("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").fields == ["Host:\(host)"])
    }

    @Test(arguments: [
        "a b", "a/b", "a@b", "a:b", "a:80:80", "a:65536", "a:-1", "[::1", "::1", "[]", "[::1]a",
        "[g]", "a%2", "a%zz", "é", "a#", "a?b", "[::1]%", "a]",
    ])
    func `anything else is refused`(host: String) {
        let refusal = everyWay("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").refusal
        #expect(refusal == .malformedHost)
        #expect(refusal?.status == 400)
    }
}

@Suite("RFC 9112 §9.3 — whether the connection persists", .timeLimit(.minutes(60)))
struct PersistenceTests {
    @Test(
        arguments: [
            ("1.1", [], true), ("1.0", [], false), ("1.1", ["close"], false),
            ("1.1", ["CLOSE"], false), ("1.1", ["x, close , y"], false),
            ("1.1", ["keep-alive", "close"], false), ("1.1", ["keep-alive"], true),
            ("1.0", ["keep-alive"], true), ("1.0", ["Keep-Alive, x"], true),
            ("1.0", ["keep-alive, close"], false), ("1.1", ["closed"], true),
            ("1.1", ["x-close"], true), ("1.0", ["keep-alived"], false), ("1.1", [""], true),
        ] as [(String, [String], Bool)])
    func `close wins, then the version decides`(
        version: String, values: [String], stays: Bool
    ) throws {
        let lines = values.map { "Connection: \($0)\r\n" }.joined()
        let request = try oneRequest("GET / HTTP/\(version)\r\nHost: x\r\n\(lines)\r\n")
        #expect(request.keepsAlive == stays)
    }
}

@Suite("RFC 9110 §10.1.1 — Expect", .timeLimit(.minutes(60)))
struct ExpectTests {
    private func post(_ expect: String, version: String = "1.1", length: Int = 2) -> String {
        "POST / HTTP/\(version)\r\nHost: x\r\nExpect: \(expect)\r\nContent-Length: \(length)\r\n\r\n"
    }

    /// The progress of each call, for pieces fed one after another.
    private func progress(_ pieces: [String]) throws -> [RequestReader.Progress] {
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        var all: [RequestReader.Progress] = []
        for piece in pieces {
            let bytes = Array(piece.utf8)
            var offset = 0
            all.append(
                try reader.next(bytes.span, at: &offset, head: &head, body: &body))
        }
        return all
    }

    @Test func `100-continue is due once, when the head is complete`() throws {
        #expect(
            try progress([post("100-Continue"), "h", "i"]) == [
                .continueExpected, .needsMore, .complete,
            ])
    }

    @Test func `it is not due when the body is already arriving or absent`() throws {
        #expect(try progress([post("100-continue") + "h", "i"]) == [.needsMore, .complete])
        #expect(try progress([post("100-continue", length: 0)]) == [.complete])
    }

    @Test func `HTTP 1.0 gets no 100-continue`() throws {
        #expect(try progress([post("100-continue", version: "1.0")]) == [.needsMore])
    }

    @Test(arguments: ["200-ok", "100-continue, x", "", "100-continue;a=b"])
    func `another expectation is 417`(value: String) {
        let refusal = everyWay(post(value) + "hi").refusal
        #expect(refusal == .unsupportedExpectation)
        #expect(refusal?.status == 417)
    }

    @Test func `a body that is too large is refused before 100-continue`() {
        var limits = RequestLimits()
        limits.bodyBytes = 1
        let reading = everyWay(post("100-continue"), limits: limits)
        #expect(reading.refusal == .bodyTooLarge(limit: 1))
    }
}
