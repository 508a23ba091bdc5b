import Testing

@testable import reactor_bench

@Suite("WHATWG HTML §9.2.6 — blocks of a stream, at any split", .timeLimit(.minutes(60)))
struct EventScannerTests {
    private typealias Block = CollectedBlocks.Block

    private func expect(
        _ text: String, _ blocks: [Block], location: SourceLocation = #_sourceLocation
    ) {
        for feed in Feeds.all(text) {
            #expect(CollectedBlocks(feed).blocks == blocks, sourceLocation: location)
        }
    }

    @Test func `an event has a name, an id and data`() {
        expect(
            "event: alertMessage\nid: abcd1234.17\ndata: \"Hello\"\n\n",
            [Block(event: "alertMessage", id: "abcd1234.17", data: "\"Hello\"")])
    }

    @Test func `one space after the colon is no part of a value, a second is`() {
        expect(
            "data:a\n\ndata:  b\n\ndata:\n\n",
            [
                Block(data: "a"), Block(data: " b"), Block(data: ""),
            ])
    }

    @Test func `comments, retry and unknown fields make a block without content`() {
        expect(": hi\nretry: 2000\nidle: 1\ndatum: 2\n\n", [Block()])
    }

    @Test func `an id alone is a block without an event`() {
        expect("id: abcd1234.0\n\n", [Block(id: "abcd1234.0")])
    }

    @Test func `lines may end in CR LF`() {
        expect(
            "id: 1\r\ndata: x\r\n\r\n: c\r\n\r\nid: 2\r\ndata: y\r\n\r\n",
            [
                Block(id: "1", data: "x"), Block(), Block(id: "2", data: "y"),
            ])
    }

    @Test func `blank lines after the first end nothing`() {
        expect("\n\ndata: x\n\n\n\n\ndata: y\n\n", [Block(data: "x"), Block(data: "y")])
    }

    @Test func `several data lines are one event`() {
        expect("data: a\ndata: b\n\n", [Block(data: "a\ndata: b")])
    }

    @Test func `an unfinished block is not delivered`() {
        expect("data: a\n\ndata: b\n", [Block(data: "a")])
    }

    @Test func `a block beyond the limit is dropped and reported`() {
        var scanner = EventScanner()
        var blocks = CollectedBlocks([])
        let piece = [UInt8](repeating: 0x61, count: EventScanner.blockLimitBytes / 2 + 1)
        let first = scanner.scan(piece.span, range: 0..<piece.count, into: &blocks)
        let second = scanner.scan(piece.span, range: 0..<piece.count, into: &blocks)
        #expect(first && !second)
        // Nothing of it is in the next block.
        let next = Array("data: x\n\n".utf8)
        #expect(scanner.scan(next.span, range: 0..<next.count, into: &blocks))
        #expect(blocks.blocks == [Block(data: "x")])
    }
}
