import Testing

@testable import reactor_bench

@Suite("RFC 9112 §6.3 — where a response ends, at any split", .timeLimit(.minutes(60)))
struct ResponseReaderTests {
    private func expect(
        _ text: String, statuses: [Int], bodies: [String], ended: Int,
        location: SourceLocation = #_sourceLocation
    ) throws {
        for feed in Feeds.all(text) {
            let read = try ReadResponses(feed)
            #expect(read.statuses == statuses, sourceLocation: location)
            #expect(read.bodies == bodies, sourceLocation: location)
            #expect(read.ended == ended, sourceLocation: location)
        }
    }

    @Test func `pipelined responses with Content-Length are separated`() throws {
        try expect(
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
                + "HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n"
                + "HTTP/1.1 201 Created\r\nX: y\r\nCONTENT-LENGTH:  2  \r\n\r\n{}",
            statuses: [200, 404, 201], bodies: ["abc", "", "{}"], ended: 3)
    }

    @Test func `chunks are joined and extensions and trailers are skipped`() throws {
        try expect(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3\r\nabc\r\n0A ;x=y\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
                + "HTTP/1.1 204 No Content\r\n\r\n",
            statuses: [200, 204], bodies: ["abc0123456789", ""], ended: 2)
    }

    @Test func `Transfer-Encoding decides over Content-Length`() throws {
        try expect(
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
                + "2\r\nab\r\n0\r\n\r\n",
            statuses: [200], bodies: ["ab"], ended: 1)
    }

    @Test(arguments: [("Age: 3\r\n", true), ("age:0\r\n", true), ("Accept-Age: 3\r\n", false)])
    func `a response says whether it may be old`(field: String, hasAge: Bool) throws {
        var (reader, position) = (ResponseReader(), 0)
        let bytes = Array("HTTP/1.1 200 OK\r\n\(field)Content-Length: 0\r\n\r\n".utf8)
        #expect(try reader.next(bytes.span, &position) == .head(200))
        #expect(reader.hasAge == hasAge)
    }

    @Test func `an informational response is skipped`() throws {
        try expect(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            statuses: [200], bodies: ["x"], ended: 1)
    }

    @Test func `a response without a length lasts until the close`() throws {
        try expect(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: x\n\n",
            statuses: [200], bodies: ["data: x\n\n"], ended: 0)
        var reader = ResponseReader()
        var position = 0
        let bytes = Array("HTTP/1.1 200 OK\r\n\r\n".utf8)
        #expect(try reader.next(bytes.span, &position) == .head(200))
        #expect(reader.endsAtClose)
        #expect(reader.closes)
    }

    @Test func `Connection close is noticed, and HTTP 1.0 means it`() throws {
        for head in [
            "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        ] {
            var reader = ResponseReader()
            var position = 0
            let bytes = Array(head.utf8)
            #expect(try reader.next(bytes.span, &position) == .head(200))
            #expect(reader.closes)
            #expect(try reader.next(bytes.span, &position) == .end)
            #expect(reader.isBetweenResponses)
        }
    }

    @Test(arguments: [
        ("SSH-2.0-OpenSSH_9.2p1\r\n\r\n", ResponseFault.noStatusLine),
        ("HTTP/1.1 abc OK\r\n\r\n", .noStatusLine),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", .badContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", .badContentLength),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", .badChunkSize),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", .badChunkSize),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
            .badChunkSize
        ),
    ])
    func `bytes that are not HTTP are a fault`(_ text: String, _ fault: ResponseFault) {
        for feed in Feeds.all(text) {
            #expect(throws: fault) { try ReadResponses(feed) }
        }
    }

    @Test func `a head without end is a fault at the limit`() {
        let endless = [UInt8](
            repeating: 0x61, count: ResponseReader.headLimitBytes + 1)
        #expect(throws: ResponseFault.headTooLong) { try ReadResponses([endless]) }
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\nContent-Length: 0\n\n", ResponseFault.badHead("a line ends without CR")),
        ("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", .badHead("no status line")),
        ("HTTP/1.1 200 OK\r\nA b: c\r\nContent-Length: 0\r\n\r\n", .badHead("the name A b")),
        ("HTTP/1.1 200 OK\r\nabc\r\nContent-Length: 0\r\n\r\n", .badHead("a line without a name")),
        (
            "HTTP/1.1 200 OK\r\nA: \u{1}\r\nContent-Length: 0\r\n\r\n",
            .badHead("a control character in a value")
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
            .badHead("two lengths")
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            .badHead("a length and chunks")
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
            .badChunkEnd
        ),
    ])
    func `deviations that a lenient client accepts are faults for a strict one`(
        _ text: String, _ fault: ResponseFault
    ) throws {
        for feed in Feeds.all(text) {
            #expect(throws: fault) { try ReadResponses(feed, isStrict: true) }
        }
        _ = try ReadResponses([Array(text.utf8)])
    }

    @Test func `a strict client reads well-formed responses`() throws {
        let text =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
            + "\r\n3\r\nabc\r\n0\r\n\r\nHTTP/1.1 204 No Content\r\nX-A_b.c: \td\r\n\r\n"
        for feed in Feeds.all(text) {
            #expect(try ReadResponses(feed, isStrict: true).statuses == [200, 204])
        }
    }
}
