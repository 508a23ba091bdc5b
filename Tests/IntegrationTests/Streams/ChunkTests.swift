import Glibc
import Testing

@Suite("Contract §5, case 155 — streams are chunked", .timeLimit(.minutes(60)))
struct ChunkTests {
    /// Opens a stream over a bare socket; head and body are unchanged.
    private func open(
        _ server: ServerProcess, _ path: String, version: String = "1.1", fields: String = ""
    ) async throws -> RawConnection {
        let connection = try RawConnection(port: server.port)
        await connection.send("GET \(path) HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n")
        return connection
    }

    @Test func `case 155: an event is one chunk, and the retry is in the first one`() async throws {
        try await withServer { server in
            let session = try await server.client().session("alerts")
            let connection = try await open(server, "\(session.path)/pulses")
            _ = await connection.receive(until: "snapshot")
            for number in 1...3 { try await session.alert("number \(number)") }
            #expect(try await session.client.delete(session.path).status == 204)
            let received = await connection.receiveAll()
            // The snapshot was read before.
            let chunks = try ChunkedText(whole: received.text, from: "event: alertMessage")
            #expect(received.ending == .finished)
            #expect(chunks.isFinished, "the body has its last chunk")
            #expect(chunks.contents.count == 4)
            for (index, chunk) in chunks.contents.enumerated() {
                #expect(chunk.hasSuffix("\n\n"))
                #expect(chunk.hasPrefix(index < 3 ? "event: alertMessage\nid: " : "event: end\n"))
            }
        }
    }

    @Test func `case 155: a stream begins as its HTTP version requires`() async throws {
        try await withServer { server in
            let session = try await server.client().session("alerts")
            for (path, block) in [
                ("pulses", "event: snapshot\nid: "), ("pulses?from=now", "id: "),
                ("pulses?after=x", "event: reset\ndata: "),
            ] {
                let path = "\(session.path)/\(path)"
                let new = try await open(server, path).receive(until: "\n\n\r\n")
                #expect(new.text.contains("\r\nTransfer-Encoding: chunked\r\n"))
                #expect(new.text.contains("\r\nConnection: close\r\n"))
                let first = try #require(try ChunkedText(whole: new.text).contents.first)
                let lines = first.split(separator: "\n", maxSplits: 1)
                #expect(lines[0].hasPrefix("retry: "))
                #expect(lines[1].hasPrefix(block))
                #expect(first.hasSuffix("\n\n"))

                let old = try await open(server, path, version: "1.0").receive(until: "\n\n")
                #expect(!old.text.contains("Transfer-Encoding"))
                let body = try #require(old.text.firstRange(of: "\r\n\r\n")).upperBound
                #expect(old.text[body...].hasPrefix("retry: "))
                #expect(!old.text[body...].contains("\r"))
            }
        }
    }

    @Test func `case 155: a resumed stream has the retry at once, then one chunk per event`()
        async throws
    {
        try await withServer { server in
            let session = try await server.client().session("alerts")
            let position = try await session.alert("before").position
            let connection = try await open(
                server, "\(session.path)/pulses", fields: "Last-Event-ID: \(position)\r\n")
            let head = await connection.receive(until: "retry: ")
            try await session.alert("after")
            let rest = await connection.receive(until: "\n\n\r\n")
            let chunks = try ChunkedText(whole: head.text + rest.text).contents
            #expect(chunks.count == 2)
            #expect(chunks[0].hasPrefix("retry: ") && chunks[0].count(where: { $0 == "\n" }) == 1)
            #expect(chunks[1].hasPrefix("event: alertMessage\nid: "))
        }
    }

    @Test func `case 155: heartbeats are chunks without a block`() async throws {
        try await withServer(.server, "--heartbeat", "200ms") { server in
            let session = try await server.client().session("alerts")
            let connection = try await open(server, "\(session.path)/pulses")
            let text = await connection.receive(until: "7\r\n: ping\n\r\n").text
            #expect(try ChunkedText(whole: text).contents.last == ": ping\n")
            let old = try await open(server, "\(session.path)/pulses", version: "1.0")
            #expect(await old.receive(until: "}\n\n: ping\n").ending == nil)
        }
    }

    @Test(arguments: ["age", "drain"])
    func `case 155: an end that can be resumed has its last chunk`(why: String) async throws {
        let age = why == "age" ? "300ms" : "10m"
        try await withServer(.server, "--connection-age", age) { server in
            let session = try await server.client().session("alerts")
            let connection = try await open(server, "\(session.path)/pulses")
            var text = await connection.receive(until: "\n\n\r\n").text
            if why == "drain" { server.signal(SIGTERM) }
            text += await connection.receiveAll().text
            let chunks = try ChunkedText(whole: text)
            #expect(chunks.isFinished)
            #expect(chunks.contents.last?.hasPrefix("retry: ") == true)
            #expect(chunks.contents.last?.hasSuffix("\n\n") == false, "no block without an event")
            #expect(text.hasSuffix("\n\r\n0\r\n\r\n"))
        }
    }

    @Test func `case 155: a stream cut in the middle of an event resumes exactly`() async throws {
        try await withServer { server in
            let session = try await server.client().session("alerts")
            let messages = (1...6).map { "message \($0)" }
            for message in messages { try await session.alert(message) }
            let whole = try await open(server, "\(session.path)/pulses?from=start")
                .receive(until: "message 6\"\n\n\r\n").bytes
            let text = String(decoding: whole, as: UTF8.self)
            let head = try #require(text.firstRange(of: "\r\n\r\n")).upperBound
            let start = text[..<head].utf8.count
            for count in stride(from: start, to: whole.count, by: 7) {
                let connection = try await open(server, "\(session.path)/pulses?from=start")
                let seen = await connection.receive(count: count).bytes.prefix(count)
                var parser = EventParser()
                let text = String(decoding: seen, as: UTF8.self)
                let events = parser.parse(Array(try ChunkedText(whole: text).everything.utf8))
                    .events
                // Like EventSource: the id of the last dispatched event.
                let resumed = try await session.open(
                    "pulses?from=start", events.last.map { [("Last-Event-ID", $0.id)] } ?? [])
                let rest = try await resumed.next(6 - events.count)
                #expect((events + rest).map(\.data) == messages.map { "\"\($0)\"" })
            }
        }
    }
}

/// A chunked body, parsed strictly by RFC 9112 §7.1.
private struct ChunkedText {
    struct Broken: Error { var text: String }

    var contents: [String] = []
    /// The bytes of an incomplete chunk.
    var rest = ""
    var isFinished = false

    var everything: String { contents.joined() + rest }

    /// - Parameters:
    ///   - whole: a response with its head, the body possibly truncated; ASCII.
    ///   - from: where the first chunk of interest begins; the body's beginning if nil.
    init(whole: String, from text: String? = nil) throws {
        var bytes = Array(whole.utf8)[...]
        if let text {
            guard let range = whole.firstRange(of: text) else { throw Broken(text: whole) }
            let before = whole[..<range.lowerBound].utf8.dropLast(2)
            let line = before.lastIndex(of: 0x0a).map { before.index(after: $0) }
            bytes = bytes.dropFirst(
                whole.utf8.distance(
                    from: whole.utf8.startIndex, to: line ?? whole.utf8.startIndex))
        } else {
            guard let head = whole.firstRange(of: "\r\n\r\n") else { throw Broken(text: whole) }
            bytes = bytes.dropFirst(whole[..<head.upperBound].utf8.count)
        }
        while let line = bytes.firstIndex(of: 0x0a) {
            let digits = String(decoding: bytes[..<line].dropLast(), as: UTF8.self)
            guard bytes[line - 1] == 0x0d, let size = Int(digits, radix: 16) else {
                throw Broken(text: digits)
            }
            bytes = bytes[(line + 1)...]
            if size == 0 {
                isFinished = bytes.elementsEqual([0x0d, 0x0a])
                return
            }
            let content = String(decoding: bytes.prefix(size), as: UTF8.self)
            guard bytes.count >= size + 2 else {
                rest = content
                return
            }
            contents.append(content)
            bytes = bytes.dropFirst(size)
            guard bytes.starts(with: [0x0d, 0x0a]) else { throw Broken(text: content) }
            bytes = bytes.dropFirst(2)
        }
    }
}

extension [EventParser.Item] {
    fileprivate var events: [Event] {
        compactMap { if case .event(let event) = $0 { event } else { nil } }
    }
}
