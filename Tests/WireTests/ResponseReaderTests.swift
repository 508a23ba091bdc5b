import Testing

@testable import Wire

@Suite("RFC 9112 §6.3 — how long a response is", .timeLimit(.minutes(60)))
struct ResponseReaderTests {
    /// `status|type|body`, or the fault; read whole, byte by byte, and cut in two everywhere.
    private func read(
        _ text: String, ends: Bool = true, at location: SourceLocation = #_sourceLocation
    ) -> String {
        let bytes = Array(text.utf8)
        let whole = read(bytes, cutAt: [], ends)
        for cuts in [Array(0..<bytes.count)] + bytes.indices.map({ [$0] }) {
            #expect(read(bytes, cutAt: cuts, ends) == whole, "\(cuts)", sourceLocation: location)
        }
        return whole
    }

    private func read(_ bytes: [UInt8], cutAt cuts: [Int], _ ends: Bool) -> String {
        var reader = ResponseReader(bodyLimitBytes: 20)
        var body: [UInt8] = []
        do throws(RequestRefusal) {
            var start = 0
            for end in cuts + [bytes.count] {
                try reader.receive(bytes[start..<end].span)
                // As a stream is read; the limit is for what waits.
                if reader.head?[.contentType] == "s" { body += reader.takeBody() }
                start = end
            }
        } catch {
            return error.detail
        }
        if ends, !reader.finish() { return "cut off" }
        guard let head = reader.head, reader.isComplete else { return "incomplete" }
        body += reader.takeBody()
        return
            "\(head.status)|\(head[.contentType] ?? "-")|\(String(decoding: body, as: UTF8.self))"
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\ncontent-type: a/b\r\nContent-Length: 2\r\n\r\nhi", "200|a/b|hi"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more", "200|-|hi"),
        ("HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", "404|-|"),
        ("HTTP/1.1 204 No Content\r\n\r\n", "204|-|"),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "304|-|"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhi\r\n1\r\n!\r\n0\r\n\r\n",
            "200|-|hi!"
        ),
        (
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 \r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n.", "200|-|."
        ),
    ])
    func `a length ends it, also if the connection stays open`(text: String, expected: String) {
        #expect(read(text, ends: false) == expected)
        #expect(read(text) == expected)
    }

    @Test func `without a length it ends with the connection`() {
        #expect(read("HTTP/1.0 200 OK\r\n\r\nhi") == "200|-|hi")
        #expect(read("HTTP/1.0 200 OK\r\n\r\nhi", ends: false) == "incomplete")
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ])
    func `one that is cut off is none`(text: String) { #expect(read(text) == "cut off") }

    @Test(arguments: [
        ("SSH-2.0-OpenSSH_9.2\r\n", "first line"), ("HTTP/2.0 200 OK\r\n\r\n", "first line"),
        ("HTTP/1.1 2x0 OK\r\n\r\n", "first line"), ("HTTP/1.1 099 No\r\n\r\n", "first line"),
        ("HTTP/1.1 200 OK\nA: b\n\n", "line feed"),
        ("HTTP/1.1 200 OK\r\nnone\r\n\r\n", "colon"),
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n.", "more than once"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "Both Transfer-Encoding and Content-Length"
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "not chunked"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", "chunk's size"),
    ])
    func `one that is not HTTP says where`(text: String, phrase: String) {
        #expect(read(text).contains(phrase), "\(read(text))")
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n123456789012345678901",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n12345678901234567890\r\n1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: s\r\nTransfer-Encoding: chunked\r\n\r\n15\r\n",
    ])
    func `a body has a limit`(text: String) {
        #expect(read(text) == "The body is larger than 20 bytes.")
    }

    @Test func `a body that is taken as it comes has none`() {
        let chunk = "14\r\n12345678901234567890\r\n"
        let head = "HTTP/1.1 200 OK\r\nContent-Type: s\r\nTransfer-Encoding: chunked\r\n\r\n"
        let bytes = Array((head + chunk + chunk + "0\r\n\r\n").utf8)
        let cuts = [head.utf8.count + chunk.utf8.count]
        #expect(read(bytes, cutAt: cuts, true) == "200|s|1234567890123456789012345678901234567890")
    }

    @Test func `heads have a limit together`() {
        let field = "A: " + String(repeating: "x", count: 40_000) + "\r\n"
        let early = "HTTP/1.1 103 x\r\n\(field)\r\n"
        let final = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(field)\r\n"
        #expect(read(Array((early + early).utf8), cutAt: [], false).contains("65536"))
        #expect(read(Array((early + final).utf8), cutAt: [], false).contains("65536"))
        #expect(read(Array(final.utf8), cutAt: [], false) == "200|-|")
        #expect(
            read(Array(repeating: 0x61, count: 65_537), cutAt: [], false)
                == "The head is larger than 65536 bytes.")
    }
}
