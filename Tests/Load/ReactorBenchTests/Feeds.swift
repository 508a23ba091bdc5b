import Testing

@testable import reactor_bench

/// The ways in which bytes may arrive: whole, byte by byte, and split at every position.
enum Feeds {
    static func all(_ text: String) -> [[[UInt8]]] {
        let bytes = Array(text.utf8)
        var feeds: [[[UInt8]]] = [[bytes], bytes.map { [$0] }]
        for split in 0...bytes.count {
            feeds.append([Array(bytes[..<split]), Array(bytes[split...])])
        }
        return feeds
    }
}

/// The result of a `ResponseReader` on a feed.
struct ReadResponses: Equatable {
    var statuses: [Int] = []
    var bodies: [String] = []
    var ended = 0

    init(_ pieces: [[UInt8]], isStrict: Bool = false) throws(ResponseFault) {
        var reader = ResponseReader(isStrict: isStrict)
        var body: [UInt8] = []
        for piece in pieces {
            var position = 0
            steps: while true {
                switch try reader.next(piece.span, &position) {
                case .needMore: break steps
                case .head(let status): statuses.append(status)
                case .body(let range): body += piece[range]
                case .end:
                    ended += 1
                    bodies.append(String(decoding: body, as: UTF8.self))
                    body = []
                }
            }
            // Bytes that are not consumed would be lost by the next `recv`.
            #expect(position == piece.count)
        }
        if !body.isEmpty { bodies.append(String(decoding: body, as: UTF8.self)) }
    }
}

/// Collects blocks as text.
struct CollectedBlocks: EventSink {
    struct Block: Equatable {
        var event: String?
        var id: String?
        var data: String?
    }

    var blocks: [Block] = []

    mutating func recognise(_ bytes: Span<UInt8>, at position: Int) -> Int? { nil }

    mutating func receive(_ block: EventBlock, in bytes: Span<UInt8>, range: Range<Int>) {
        blocks.append(
            Block(
                event: block.event.map { bytes.text(in: $0) },
                id: block.id.map { bytes.text(in: $0) },
                data: block.data.map { bytes.text(in: $0) }))
    }

    init(_ pieces: [[UInt8]]) {
        var scanner = EventScanner()
        for piece in pieces {
            let isKept = scanner.scan(piece.span, range: 0..<piece.count, into: &self)
            #expect(isKept)
        }
    }
}
