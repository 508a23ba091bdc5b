import Testing
import WireFeeds

@testable import Wire

@Suite("A request reader — the machine", .timeLimit(.minutes(60)))
struct RequestReaderTests {
    private let post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"

    @Test func `it reports its position within a request`() throws {
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        var told: [String] = []
        for byte in post.utf8 {
            var offset = 0
            _ = try reader.next([byte].span, at: &offset, head: &head, body: &body)
            #expect(offset == 1)
            let now =
                reader.isBetweenRequests ? "between" : reader.isReadingHead ? "head" : "body"
            if told.last != now { told.append(now) }
        }
        #expect(told == ["head", "body", "between"])
    }

    @Test func `it stops after a complete request`() throws {
        let bytes = Array((post + nextRequest).utf8)
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        var offset = 0
        let first = try reader.next(bytes.span, at: &offset, head: &head, body: &body)
        #expect(first == .complete)
        #expect(offset == post.utf8.count)
        #expect(head.bytes.count == post.utf8.count - 2)
        let second = try reader.next(bytes.span, at: &offset, head: &head, body: &body)
        #expect(second == .complete)
        #expect(offset == bytes.count)
        #expect(head.text(head.path) == "/next")
        #expect(body.isEmpty)
    }

    @Test func `a request leaves nothing behind in the next one`() throws {
        let full =
            "OPTIONS http://h/p?q HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            + "Connection: close\r\nAccept: a\r\nContent-Length: 1\r\n\r\nz"
        let alone = threeWays(nextRequest).requests
        #expect(threeWays(full + nextRequest).requests.suffix(1) == alone[...])
    }

    @Test func `after a refusal it consumes nothing and repeats the refusal`() {
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        let bad = Array("GET /\r\n".utf8)
        var offset = 0
        #expect(throws: RequestRefusal.malformedRequestLine) {
            try reader.next(bad.span, at: &offset, head: &head, body: &body)
        }
        let good = Array(nextRequest.utf8)
        offset = 0
        #expect(throws: RequestRefusal.malformedRequestLine) {
            try reader.next(good.span, at: &offset, head: &head, body: &body)
        }
        #expect(offset == 0)
        #expect(!reader.isBetweenRequests)
    }

    @Test func `no input is no progress`() throws {
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        let bytes = Array(post.utf8)
        for byte in bytes {
            var offset = 0
            let none: [UInt8] = []
            let progress = try reader.next(none.span, at: &offset, head: &head, body: &body)
            #expect(progress == .needsMore)
            _ = try reader.next([byte].span, at: &offset, head: &head, body: &body)
        }
        #expect(body == Array("hi".utf8))
    }

    @Test func `a large head is read whole and in pieces of any size`() throws {
        var limits = RequestLimits()
        limits.headBytes = 20_000
        var text = "GET /" + String(repeating: "p", count: 3_000) + " HTTP/1.1\r\nHost: x\r\n"
        for number in 0..<40 {
            text += "X-\(number): " + String(repeating: "v", count: 200 + number) + "\r\n"
        }
        text += "Content-Length: 5000\r\n\r\n" + String(repeating: "b", count: 5_000)
        let bytes = Array(text.utf8)
        let whole = feed(bytes, limits: limits)
        #expect(whole.requests.first?.fields.count == 42)
        #expect(whole.requests.first?.body.utf8.count == 5_000)
        for size in [1, 2, 3, 7, 1_023, 1_024, 1_025, 4_096] {
            let cuts = Array(stride(from: size, to: bytes.count, by: size))
            #expect(feed(bytes, cutAt: cuts, limits: limits) == whole, "pieces of \(size)")
        }
    }

    @Test func `memory is kept between requests and not reserved in advance`() throws {
        var reader = RequestReader(limits: RequestLimits())
        var head = RequestHead()
        var body: [UInt8] = []
        let announced = Array("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n".utf8)
        var offset = 0
        _ = try reader.next(announced.span, at: &offset, head: &head, body: &body)
        #expect(body.capacity == 0)
        let kept = head.bytes.capacity
        head.reset()
        #expect(head.bytes.capacity == kept)
        #expect(MemoryLayout<RequestReader>.size <= 128)
    }

    @Test func `every refusal has a status, a code of its own, a sentence and a clause`() {
        let faults: [FieldFault] = [
            .bareLineFeed, .bareCarriageReturn, .folded, .missingColon, .emptyName,
            .spaceBeforeColon, .forbiddenNameCharacter, .forbiddenValueCharacter,
        ]
        let own: [RequestRefusal] = [
            .malformedRequestLine, .methodTooLong(limit: 1), .connectNotImplemented,
            .targetTooLong(limit: 1), .forbiddenTargetCharacter, .malformedTarget,
            .unsupportedVersion, .tooManyEmptyLines(limit: 1), .headTooLarge(limit: 1),
            .tooManyFields(limit: 1), .missingHost, .repeatedHost, .malformedHost,
            .unsupportedExpectation, .malformedContentLength, .repeatedContentLength,
            .transferEncodingWithContentLength, .transferEncodingInOldVersion,
            .malformedTransferEncoding, .chunkedNotFinal, .unknownTransferCoding,
            .bodyTooLarge(limit: 1), .malformedChunkSize, .malformedChunkExtension,
            .chunkExtensionsTooLarge(limit: 1), .chunkTooLong, .malformedTrailer,
            .trailerTooLarge(limit: 1), .malformedEscape(inItem: 1), .malformedText(inItem: 1),
            .tooManyItems(limit: 1),
        ]
        let all = own + faults.map { RequestRefusal.field($0, line: 1) }
        #expect(Set(all.map(\.code)).count == all.count)
        for refusal in all {
            #expect((400...505).contains(refusal.status))
            #expect(refusal.code.allSatisfy { $0 == "_" || $0.isLowercase || $0.isNumber })
            #expect(refusal.detail.hasSuffix("."))
            #expect(refusal.clause.hasPrefix("RFC "))
        }
    }
}
