import Testing
import WireFeeds

@testable import Wire

@Suite("RFC 9112 §7.1 — chunked bodies", .timeLimit(.minutes(60)))
struct ChunkedBodyTests {
    private let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test(arguments: [
        ("0\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"),
        ("A\r\n0123456789\r\n000\r\n\r\n", "0123456789"),
        ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("0000000000000002\r\nhi\r\n0\r\n\r\n", "hi"),
        ("2;a\r\nhi\r\n0;b=c\r\n\r\n", "hi"), ("2 ; a=\"b;c\"\r\nhi\r\n0\t;x\r\n\r\n", "hi"),
        ("2;a=b;c\r\nhi\r\n0\r\n\r\n", "hi"), ("2;a = b ; c\r\nhi\r\n0\r\n\r\n", "hi"),
        ("2;a=\"\\\"\\\\;\t\u{e9}\"\r\nhi\r\n0\r\n\r\n", "hi"),
        ("2;a=\"\";b\r\nhi\r\n0\r\n\r\n", "hi"), ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
        ("2\r\nhi\r\n0\r\nA: b\r\nC:\r\n\r\n", "hi"), ("0\r\nDigest: \tx y\r\n\r\n", ""),
    ])
    func `chunks are joined; extensions and trailers are dropped`(
        coded: String, plain: String
    ) throws {
        let request = try oneRequest(head + coded)
        #expect(request.length == .chunked)
        #expect(request.body == plain)
        #expect(request.fields.count == 2)
    }

    @Test(
        arguments: [
            ("\r\n", .malformedChunkSize), ("g\r\n", .malformedChunkSize),
            ("-1\r\n", .malformedChunkSize),
            ("+1\r\n", .malformedChunkSize), ("0x1\r\n", .malformedChunkSize),
            (" 1\r\n", .malformedChunkSize),
            ("1\n", .malformedChunkSize), ("1\rx", .malformedChunkSize),
            ("1 \r\n", .malformedChunkSize),
            ("1 2\r\n", .malformedChunkSize), (";a\r\n", .malformedChunkSize),
            ("1,\r\n", .malformedChunkSize),
            ("00000000000000001\r\n", .malformedChunkSize), ("1;a\n", .malformedChunkExtension),
            ("1;a\rb", .malformedChunkSize), ("1;\u{0}\r\n", .malformedChunkExtension),
            ("1;\u{7f}\r\n", .malformedChunkExtension), ("1;\r\n", .malformedChunkExtension),
            ("1;;\r\n", .malformedChunkExtension), ("1;a;\r\n", .malformedChunkExtension),
            ("1; \r\n", .malformedChunkExtension), ("1;[x]\r\n", .malformedChunkExtension),
            ("1;a=\r\n", .malformedChunkExtension), ("1;=b\r\n", .malformedChunkExtension),
            ("1;a \r\n", .malformedChunkExtension), ("1;a b\r\n", .malformedChunkExtension),
            ("1;a==b\r\n", .malformedChunkExtension), ("1;a=b \r\n", .malformedChunkExtension),
            ("1;a=b c\r\n", .malformedChunkExtension), ("1;a=\"open\r\n", .malformedChunkExtension),
            ("1;a=\"open\\\"\r\n", .malformedChunkExtension),
            ("1;a=\"x\"y\r\n", .malformedChunkExtension),
            ("1;a=\"\u{1}\"\r\n", .malformedChunkExtension),
            ("1;\u{e9}\r\n", .malformedChunkExtension),
            ("1;a=\u{e9}\r\n", .malformedChunkExtension), ("1;a,b\r\n", .malformedChunkExtension),
            ("1\r\nab\r\n", .chunkTooLong),
            ("1\r\na\n", .chunkTooLong), ("1\r\na\rb", .chunkTooLong),
            ("2\r\na\r\n0", .chunkTooLong),
            ("0\r\n\n", .malformedTrailer), ("0\r\n\rx", .malformedTrailer),
            ("0\r\n a: b\r\n", .malformedTrailer), ("0\r\na b\r\n", .malformedTrailer),
            ("0\r\n: b\r\n", .malformedTrailer), ("0\r\na\r\n", .malformedTrailer),
            ("0\r\na : b\r\n", .malformedTrailer), ("0\r\na: b\n", .malformedTrailer),
            ("0\r\na: b\rc", .malformedTrailer), ("0\r\na: \u{0}\r\n", .malformedTrailer),
            ("0\r\na: b\r\n c\r\n", .malformedTrailer),
        ] as [(String, RequestRefusal)])
    func `bad framing is refused`(coded: String, fault: RequestRefusal) {
        let refusal = everyWay(head + coded + "\r\n").refusal
        #expect(refusal == fault)
        #expect(refusal?.status == 400)
    }

    @Test(arguments: [
        "B\r\n", "ffffffff\r\n", "7fffffffffffffff\r\n", "8000000000000000\r\n",
        "ffffffffffffffff\r\n", "9\r\n123456789\r\n2\r\n",
    ])
    func `a chunk size beyond the limit or a machine word is 413 before its data`(coded: String) {
        var limits = RequestLimits()
        limits.bodyBytes = 10
        let refusal = everyWay(head + coded, limits: limits).refusal
        #expect(refusal == .bodyTooLarge(limit: 10))
        #expect(refusal?.status == 413)
    }

    @Test func `a body of exactly the limit is read`() {
        var limits = RequestLimits()
        limits.bodyBytes = 10
        let text = head + "4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n"
        #expect(everyWay(text, limits: limits).requests.first?.body == "0123456789")
    }

    @Test func `extensions are bounded over the whole body`() {
        var limits = RequestLimits()
        limits.chunkExtensionBytes = 8
        let fits = "1;abc\r\nx\r\n1;abc\r\ny\r\n0\r\n\r\n"
        #expect(everyWay(head + fits, limits: limits).requests.first?.body == "xy")
        let over = everyWay(head + "1;abc\r\nx\r\n1;abcd\r\n", limits: limits).refusal
        #expect(over == .chunkExtensionsTooLarge(limit: 8))
        #expect(over?.status == 400)
    }

    @Test func `trailers are bounded`() {
        var limits = RequestLimits()
        limits.trailerBytes = 8
        // "A: bcd" CR LF are eight bytes, the CR of the last line is the ninth.
        #expect(everyWay(head + "0\r\nA: bc\r\n\r\n", limits: limits).requests.count == 1)
        let over = everyWay(head + "0\r\nA: bcde\r\n\r\n", limits: limits).refusal
        #expect(over == .trailerTooLarge(limit: 8))
        #expect(over?.status == 431)
    }
}
