import Testing
import WireFeeds

@testable import Wire

@Suite("Links — the same bytes are the same frames, however they arrive", .timeLimit(.minutes(60)))
struct LinkReaderTests {
    private let frames = [
        LinkFrame(.ping, payload: Array(repeating: 7, count: 16)),
        LinkFrame(.gone, stream: 1), LinkFrame(.gone, stream: .max),
        LinkFrame(.request, stream: 0x0102_0304, payload: Array(repeating: 9, count: 300)),
    ]

    private var bytes: [UInt8] {
        frames.reduce(into: []) { $1.append(to: &$0) }
    }

    @Test func `a frame is its length, its kind, its stream and its payload`() {
        var out: [UInt8] = [0xff]
        LinkFrame(.moved, stream: 0x0a0b_0c0d, payload: [1, 2, 3]).append(to: &out)
        #expect(out == [0xff, 0, 0, 0, 3, 6, 0x0a, 0x0b, 0x0c, 0x0d, 1, 2, 3])
    }

    @Test func `frames are read whole, byte by byte, and with more after them`() {
        let whole = LinkReading(frames: frames)
        #expect(readFrames(bytes) == whole)
        #expect(readFrames(bytes, cutAt: Array(bytes.indices)) == whole)
        #expect(readFrames(bytes + bytes).frames == frames + frames)
        #expect(readFrames(bytes + [0, 0]) == whole)
    }

    @Test func `frames are read however they are split in two`() {
        for cut in 0...bytes.count {
            #expect(readFrames(bytes, cutAt: [cut]) == LinkReading(frames: frames))
        }
    }

    @Test func `a frame that is not complete is no frame`() {
        for count in 0..<bytes.count {
            let reading = readFrames(Array(bytes[..<count]))
            #expect(reading.fault == nil)
            #expect(frames.starts(with: reading.frames))
            #expect(reading.frames.count < frames.count)
        }
    }

    @Test(
        arguments: [
            // One byte more than the limit: refused before any of it is read.
            ([0, 0, 3, 0xe9], .frameTooLarge(limit: 1_000)),
            ([0xff, 0xff, 0xff, 0xff], .frameTooLarge(limit: 1_000)),
            // The first bytes of an HTTP request.
            (Array("GET / HTTP/1.1\r\n".utf8), .frameTooLarge(limit: 1_000)),
            ([0, 0, 0, 0, 0], .unknownKind(0)), ([0, 0, 0, 0, 11], .unknownKind(11)),
            ([0, 0, 0, 0, 22], .unknownKind(22)), ([0, 0, 0, 0, 255], .unknownKind(255)),
        ] as [([UInt8], LinkFault)])
    func `a malformed head is refused at the byte that shows it`(
        bad: [UInt8], fault: LinkFault
    ) {
        let wanted = LinkReading(frames: frames, fault: fault)
        #expect(readFrames(bytes + bad) == wanted)
        #expect(readFrames(bytes + bad, cutAt: Array(0..<(bytes + bad).count)) == wanted)
        #expect(readFrames(bytes + bad + bytes) == wanted)
    }

    @Test func `a payload of the limit is read`() {
        var out: [UInt8] = []
        let frame = LinkFrame(.answer, stream: 5, payload: Array(repeating: 1, count: 1_000))
        frame.append(to: &out)
        #expect(readFrames(out).frames == [frame])
    }

    @Test func `a payload that is skipped is no frame, wherever that begins`() throws {
        var skipped: [UInt8] = []
        LinkFrame(.request, stream: 9, payload: Array(repeating: 1, count: 300))
            .append(to: &skipped)
        for cut in LinkFrame.headBytes..<skipped.count {
            let (begin, rest) = (Array(skipped[..<cut]), Array(skipped[cut...]) + bytes)
            var reader = LinkReader(payloadLimitBytes: 1_000)
            var offset = 0
            let none = try reader.next(begin.span, at: &offset)
            #expect(none == nil)
            let other = reader.skipPayload(of: .answer)
            #expect(other == nil)
            let stream = reader.skipPayload(of: .request)
            #expect(stream == 9)
            #expect(reader.partialBytes(of: .request) == 0)
            offset = 0
            var read: [LinkFrame] = []
            while let frame = try reader.next(rest.span, at: &offset) { read.append(frame) }
            #expect(read == frames)
        }
    }

    @Test func `after a fault nothing more is read`() {
        var reader = LinkReader(payloadLimitBytes: 10)
        var offset = 0
        #expect(throws: LinkFault.unknownKind(0)) {
            _ = try reader.next([0, 0, 0, 0, 0].span, at: &offset)
        }
        offset = 0
        #expect(throws: LinkFault.unknownKind(0)) {
            _ = try reader.next(bytes.span, at: &offset)
        }
        #expect(offset == 0)
    }
}
