import Testing
import WireFeeds

@testable import Wire

@Suite("Links — a message is read as it was written", .timeLimit(.minutes(60)))
struct LinkMessageTests {
    private let access = LinkAccess(
        subject: "ädä", expiresAt: -5, verbs: 0x0103, sessions: ["a*", ""], ownSessions: true,
        reactors: nil, pulses: [], actions: ["one", "two"])

    @Test func `a request is read as it was written`() throws {
        for access in [nil, access] {
            let request = LinkRequest(
                waitMilliseconds: 1_500, access: access, head: Array("head".utf8), body: [1, 2])
            #expect(try LinkRequest(frame { request.append(stream: 8, to: &$0) }) == request)
        }
    }

    @Test func `an answer is read as it was written`() throws {
        let answer = LinkAnswer(
            status: 503, code: "too_busy",
            fields: [LinkAnswer.Field("Retry-After", "1"), LinkAnswer.Field("X", "")],
            body: Array("{}\n".utf8))
        #expect(try LinkAnswer(frame { answer.append(stream: 8, to: &$0) }) == answer)
    }

    @Test func `moved and ping are read as they were written`() throws {
        let moved = LinkMoved(node: .max)
        #expect(try LinkMoved(frame { moved.append(stream: 8, to: &$0) }) == moved)
        let ping = LinkPing(
            journal: 7, era: -1, timeline: 3, branch: .max, committed: 1 << 40,
            features: LinkFeatures(rawValue: .max))
        let bytes = readFrames(pingBytes(ping)).frames
        #expect(bytes.map(\.stream) == [0])
        #expect(try LinkPing(bytes[0]) == ping)
    }

    @Test func `a wish for hints and a hint are read as they were written`() throws {
        let follow = LinkFollow(session: String(repeating: "s", count: 128))
        #expect(try LinkFollow(frame { follow.append(stream: 8, to: &$0) }) == follow)
        let hint = LinkHint(generation: "abcd1234", number: .max, part: 7)
        #expect(try LinkHint(frame { hint.append(stream: 8, to: &$0) }) == hint)
    }

    @Test(arguments: [1, 20])
    func `records are read as they were written`(count: Int) throws {
        let records = LinkRecords(
            afterNumber: .max, afterPart: 3,
            end: LinkHint(generation: "abcd1234", number: 9, part: .max), version: 1 << 62,
            text: [UInt8](repeating: 0xff, count: count))
        #expect(try LinkRecords(frame { records.append(stream: 8, to: &$0) }) == records)
    }

    @Test func `presence decodes to the encoded value, with or without names`() throws {
        for presence in [
            LinkPresence(names: ["ada", "\u{e9}"], count: 2, others: .max),
            LinkPresence(names: [], count: 0, others: 0),
            LinkPresence(names: nil, count: 10_000, others: 1),
        ] {
            #expect(try LinkPresence(frame { presence.append(stream: 8, to: &$0) }) == presence)
        }
    }

    @Test func `presence with too many names, a long one, or another number is refused`() {
        let long = String(repeating: "x", count: LinkPresence.nameLimitBytes + 1)
        let many = (0...LinkPresence.listLimit).map { "\($0)" }
        for (names, count) in [([long], 1), ([""], 1), (many, many.count), (["a"], 2)] {
            let presence = LinkPresence(names: names, count: UInt32(count), others: 0)
            #expect(throws: LinkFault.malformed(.presence)) {
                try decode(frame { presence.append(stream: 8, to: &$0) })
            }
        }
    }

    @Test(arguments: [0, LinkRecords.textLimitBytes + 1])
    func `records without text, or with too much, are refused`(count: Int) {
        var payload = [UInt8](repeating: 0x61, count: 40)
        payload += [UInt8](repeating: 0x31, count: count)
        #expect(throws: LinkFault.malformed(.records)) {
            try decode(LinkFrame(.records, payload: payload))
        }
    }

    // Numbers that no kind has are kept, so that a newer program's ping is read.
    @Test func `a ping of a program without features, or with more of them, is read`() throws {
        let old = LinkFrame(.ping, payload: [UInt8](repeating: 0, count: 48))
        #expect(try LinkPing(old).features == [])
        let new = LinkFrame(.ping, payload: [UInt8](repeating: 0xff, count: 48))
        #expect(try LinkPing(new).features.contains(.hints))
    }

    @Test(arguments: [
        [], [UInt8](repeating: 0x61, count: 129), [0x61, 0xff],
    ])
    func `a wish for hints of a session that has no id is refused`(payload: [UInt8]) {
        #expect(throws: LinkFault.malformed(.follow)) {
            try decode(LinkFrame(.follow, payload: payload))
        }
    }

    @Test func `a payload that ends early is refused`() throws {
        let messages = [
            frame {
                LinkRequest(waitMilliseconds: 1, access: access, head: [1], body: [])
                    .append(stream: 8, to: &$0)
            },
            frame {
                LinkAnswer(status: 200, fields: [LinkAnswer.Field("a", "b")])
                    .append(stream: 8, to: &$0)
            },
            frame { LinkMoved(node: 3).append(stream: 8, to: &$0) },
            frame {
                LinkHint(generation: "abcd1234", number: 5, part: 0).append(stream: 8, to: &$0)
            },
            frame {
                LinkRecords(
                    afterNumber: 4, afterPart: 0,
                    end: LinkHint(generation: "abcd1234", number: 5, part: 0), version: 2,
                    text: [0x31]
                ).append(stream: 8, to: &$0)
            },
            readFrames(pingBytes(LinkPing(era: 1, features: .hints))).frames[0],
        ]
        for message in messages {
            for count in message.payload.indices {
                var cut = message
                cut.payload = Array(message.payload[..<count])
                #expect(throws: LinkFault.malformed(message.kind), "\(message.kind), \(count)") {
                    try decode(cut)
                }
            }
        }
    }

    @Test func `bytes after a payload of a fixed size are refused`() {
        for (kind, size) in [(LinkFrame.Kind.moved, 8), (.ping, 48), (.hint, 20)] {
            let long = LinkFrame(kind, payload: [UInt8](repeating: 0, count: size + 1))
            #expect(throws: LinkFault.malformed(kind)) { try decode(long) }
        }
    }

    @Test func `a declared length or number beyond the payload is refused`() {
        let request: [UInt8] = [0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1]
        #expect(throws: LinkFault.malformed(.request)) {
            try decode(LinkFrame(.request, payload: request))
        }
        let answer: [UInt8] = [0, 200, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]
        #expect(throws: LinkFault.malformed(.answer)) {
            try decode(LinkFrame(.answer, payload: answer))
        }
    }

    @Test func `a flag that is neither yes nor no, and text that is none, are refused`() {
        #expect(throws: LinkFault.malformed(.request)) {
            try decode(LinkFrame(.request, payload: [0, 0, 0, 0, 2, 0, 0, 0, 0]))
        }
        #expect(throws: LinkFault.malformed(.answer)) {
            try decode(LinkFrame(.answer, payload: [0, 200, 0, 0, 0, 1, 0xff, 0, 0, 0, 0]))
        }
    }

    @Test(arguments: [
        LinkAnswer(status: 101), LinkAnswer(status: 600),
        LinkAnswer(status: 200, fields: [LinkAnswer.Field("", "x")]),
        LinkAnswer(status: 200, fields: [LinkAnswer.Field("a b", "x")]),
        LinkAnswer(status: 200, fields: [LinkAnswer.Field("a", "x\r\nSet-Cookie: y")]),
    ])
    func `an answer that could not be a response is refused`(answer: LinkAnswer) {
        #expect(throws: LinkFault.malformed(.answer)) {
            try decode(frame { answer.append(stream: 8, to: &$0) })
        }
    }

    @Test func `a message is not read from a frame of another kind`() {
        #expect(throws: LinkFault.unexpected(.gone)) { try LinkMoved(LinkFrame(.gone)) }
        #expect(throws: LinkFault.unexpected(.gone)) { try LinkRequest(LinkFrame(.gone)) }
    }

    // MARK: Heads

    @Test func `the target and the fields that matter arrive, and no others`() throws {
        let client = """
            POST /v1/sessions/a%2Db/actions?wait=settled&x HTTP/1.1\r
            Host: example.org\r
            Authorization: Bearer secret\r
            Cookie: secret\r
            Content-Type: application/json\r
            If-Match: "a"\r
            If-Match: "b"\r
            Idempotency-Key: k 1\r
            Content-Length: 2\r
            Connection: close\r
            \r
            {}
            """
        let head = try LinkRequest(
            waitMilliseconds: 0, access: nil, try read(client), body: [], traceparent: "t"
        ).readHead(limits: RequestLimits())
        #expect(head.method == .post)
        #expect(head.text(head.path) == "/v1/sessions/a%2Db/actions")
        #expect(head.query.map(head.text) == "wait=settled&x")
        #expect(
            head.fieldLines.map { "\(head.text($0.name)): \(head.text($0.value))" } == [
                "Host: link", "Content-Type: application/json", "If-Match: \"a\"",
                "If-Match: \"b\"", "Idempotency-Key: k 1", "traceparent: t",
            ])
    }

    @Test func `the client's trace is not replaced`() throws {
        let client = "DELETE /v1/sessions/a HTTP/1.1\r\nHost: x\r\ntraceparent: own\r\n\r\n"
        let request = LinkRequest(
            waitMilliseconds: 0, access: nil, try read(client), body: [], traceparent: "t")
        let head = try request.readHead(limits: RequestLimits())
        #expect(head.query == nil)
        #expect(head.values(of: .traceparent).map(head.text) == ["own"])
    }

    @Test(arguments: [
        "", "\r\n", "POST / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: x\r\n\r\nmore",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /\r\n/ HTTP/1.1\r\nHost: x\r\n\r\n",
    ])
    func `a head that is none, or that does not end with its bytes, is refused`(text: String) {
        let request = LinkRequest(waitMilliseconds: 0, head: Array(text.utf8), body: [])
        #expect(throws: RequestRefusal.self) { try request.readHead(limits: RequestLimits()) }
    }

    // MARK: Helpers

    private func read(_ text: String) throws -> RequestHead {
        var reader = RequestReader(limits: RequestLimits())
        var (head, body, offset) = (RequestHead(), [UInt8](), 0)
        let progress = try reader.next(
            Array(text.utf8).span, at: &offset, head: &head, body: &body)
        try #require(progress == .complete)
        return head
    }

    private func frame(_ write: (inout [UInt8]) -> Void) -> LinkFrame {
        var bytes: [UInt8] = []
        write(&bytes)
        let frames = readFrames(bytes).frames
        #expect(frames.map(\.stream) == [8])
        return frames.first ?? LinkFrame(.gone)
    }

    private func pingBytes(_ ping: LinkPing) -> [UInt8] {
        var bytes: [UInt8] = []
        ping.append(to: &bytes)
        return bytes
    }

    private func decode(_ frame: LinkFrame) throws {
        switch frame.kind {
        case .request: _ = try LinkRequest(frame)
        case .answer: _ = try LinkAnswer(frame)
        case .moved: _ = try LinkMoved(frame)
        case .follow: _ = try LinkFollow(frame)
        case .hint: _ = try LinkHint(frame)
        case .records: _ = try LinkRecords(frame)
        case .presence: _ = try LinkPresence(frame)
        default: _ = try LinkPing(frame)
        }
    }
}
