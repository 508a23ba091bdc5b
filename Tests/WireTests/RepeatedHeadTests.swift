import Testing
import WireFeeds

@testable import Wire

@Suite("A repeated head is recognised, and changes nothing", .timeLimit(.minutes(60)))
struct RepeatedHeadTests {
    private static let post = head("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")

    private static func head(_ text: String) -> RequestHead {
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        var offset = 0
        _ = try? reader.next(Array(text.utf8).span, at: &offset, head: &head, body: &body)
        return head
    }

    private func matches(_ repeated: RepeatedHead, _ bytes: [UInt8], at offset: Int = 0) -> Bool {
        repeated.match(bytes.span, at: offset) != nil
    }

    @Test func `a head is kept when it has come twice in a row`() {
        let other = Self.head(nextRequest)
        var repeated = RepeatedHead()
        repeated.record(Self.post)
        #expect(!matches(repeated, Self.post.bytes))
        repeated.record(other)
        repeated.record(Self.post)
        #expect(!matches(repeated, Self.post.bytes))
        repeated.record(Self.post)
        #expect(matches(repeated, Self.post.bytes))
        repeated.record(other)
        #expect(matches(repeated, Self.post.bytes))
        repeated.record(other)
        #expect(!matches(repeated, Self.post.bytes))
        #expect(matches(repeated, other.bytes))
    }

    @Test func `only all of its bytes match, at the offset`() {
        let bytes = Self.post.bytes
        var repeated = RepeatedHead()
        for _ in 1...2 { repeated.record(Self.post) }
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 0x20
            #expect(!matches(repeated, changed))
            #expect(!matches(repeated, Array(bytes[..<place])))
            let later = [UInt8](repeating: 0x20, count: place) + bytes + [0x68]
            #expect(matches(repeated, later, at: place))
            #expect(place == 0 || !matches(repeated, later, at: place - 1))
        }
    }

    @Test func `a head of more than a kilobyte is not kept`() {
        for (padding, isKept) in [(0, true), (RepeatedHead.limitBytes, false)] {
            let long = String(repeating: "a", count: padding)
            let head = Self.head("GET / HTTP/1.1\r\nHost: x\r\nA: \(long)\r\n\r\n")
            var repeated = RepeatedHead()
            for _ in 1...3 { repeated.record(head) }
            #expect(matches(repeated, head.bytes) == isKept)
        }
    }

    @Test func `half an empty line before a repeated request is refused as ever`() {
        let text = Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        let bytes = text + text + text + [0x0d] + text
        let cuts = [3 * text.count + 1]
        let reading = feed(bytes, cutAt: cuts, remembers: true)
        #expect(reading.requests.count == 3)
        #expect(reading == feed(bytes, cutAt: cuts))
        #expect(reading.refusal?.code == "bare_carriage_return")
    }
}
