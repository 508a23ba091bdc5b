import Testing

@testable import ReactorClient

@Suite("RFC 9112 §4 and §5 — the head of a response, line by line", .timeLimit(.minutes(60)))
struct ResponseHeadTests {
    private static func read(
        _ lines: [String], limit: Int = 1_000
    ) throws(TransportFailure) -> (Int, [TransportField])? {
        var reader = ResponseHeadReader(limitBytes: limit)
        var found: (Int, [TransportField])?
        for line in lines {
            let bytes = Array(line.utf8)
            guard let head = try reader.receive(bytes.span) else { continue }
            #expect(found == nil)
            found = head
        }
        return found
    }

    @Test(arguments: [
        (["HTTP/1.1 200 OK\r\n", "\r\n"], 200, []),
        (["HTTP/1.1 204\n", "\n"], 204, []),
        (["HTTP/2 404 \r\n", "a:b\r\n", "\r\n"], 404, [TransportField("a", "b")]),
        (
            ["HTTP/1.1 200 OK\r\n", "A: \t b c \t\r\n", "B:\r\n", "A: d: e\r\n", "\r\n"], 200,
            [.init("A", "b c"), .init("B", ""), .init("A", "d: e")]
        ),
        (["HTTP/1.1 200 OK\r\n", "A: b\r\n", "  c \r\n", "\r\n"], 200, [.init("A", "b c")]),
        (["HTTP/1.1 200 OK\r\n", "A:\u{301}b\r\n", "\r\n"], 200, [.init("A", "\u{301}b")]),
        (["HTTP/1.1 200 OK\r\n", "A: b\u{2028}c\r\n", "\r\n"], 200, [.init("A", "b\u{2028}c")]),
        (
            [
                "HTTP/1.1 103 Early\r\n", "A: b\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "\r\n",
                "T: t\r\n",
            ],
            200, []
        ),
    ])
    func `a head has a status and its fields in their order`(
        _ lines: [String], _ status: Int, _ fields: [TransportField]
    ) throws {
        let head = try #require(try Self.read(lines))
        #expect(head.0 == status)
        #expect(head.1 == fields)
    }

    @Test(arguments: [
        ["hello\r\n"], ["\r\n"], ["HTTP/1.1\r\n"], ["HTTP/1.1 20\r\n"], ["HTTP/1.1 2000 OK\r\n"],
        ["HTTP/1.1 +20 OK\r\n"], ["HTTP/1.1 099 OK\r\n"], ["ICY 200 OK\r\n"],
        ["HTTP/1.1 200 OK\r\n", "A\r\n"], ["HTTP/1.1 200 OK\r\n", ": b\r\n"],
        ["HTTP/1.1 200 OK\r\n", " b\r\n"],
    ])
    func `a line that does not belong there is refused`(_ lines: [String]) {
        #expect(throws: TransportFailure.self) { try Self.read(lines) }
    }

    @Test func `heads and trailers together have a bound`() throws {
        let lines = ["HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n", "T: t\r\n"]
        #expect(try Self.read(lines, limit: 31)?.0 == 200)
        #expect(throws: TransportFailure.self) { try Self.read(lines, limit: 30) }
    }
}
