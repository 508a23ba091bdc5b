import Testing

@testable import Wire

@Suite("RFC 9112 §7.1 — writing chunked bodies", .timeLimit(.minutes(60)))
struct ChunkEncoderTests {
    @Test(arguments: [
        (1, "1"), (9, "9"), (10, "a"), (15, "f"), (16, "10"), (255, "ff"), (256, "100"),
        (4_095, "fff"), (65_536, "10000"), (1_048_577, "100001"), (Int.max, "7fffffffffffffff"),
    ])
    func `the chunk size is hexadecimal without leading zeros`(count: Int, digits: String) {
        var out: [UInt8] = []
        ChunkEncoder.appendSize(count, to: &out)
        #expect(String(decoding: out, as: UTF8.self) == digits + "\r\n")
    }

    @Test func `wrapped bytes are one chunk, and no bytes are no chunk`() {
        var out = Array("head".utf8)
        ChunkEncoder.wrap(from: 4, in: &out)
        #expect(String(decoding: out, as: UTF8.self) == "head")
        out += Array("0123456789abcdef".utf8)
        ChunkEncoder.wrap(from: 4, in: &out)
        #expect(String(decoding: out, as: UTF8.self) == "head10\r\n0123456789abcdef\r\n")
    }

    @Test(arguments: [1, 2, 15, 16, 17, 255, 256, 5_000])
    func `the reader decodes the written chunks, split anywhere`(count: Int) throws {
        let content = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var out: [UInt8] = []
        ChunkEncoder.appendSize(count, to: &out)
        out += content
        ChunkEncoder.appendEnd(to: &out)
        out += ChunkEncoder.last
        for cut in [0, 1, 2, 3, out.count / 2, out.count - 1] {
            var reader = ChunkReader()
            var body: [UInt8] = []
            var limits = RequestLimits()
            (limits.chunkExtensionBytes, limits.trailerBytes) = (0, 1)
            var isDone = false
            for piece in [Array(out[..<cut]), Array(out[cut...])] {
                var offset = 0
                isDone = try reader.next(
                    piece.span, at: &offset, into: &body, limits: limits)
                #expect(offset == piece.count)
            }
            #expect(isDone)
            #expect(body == content)
        }
    }
}
