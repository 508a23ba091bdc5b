import Testing

@testable import Sessions

@Suite("The blocks of a relay, cut anywhere", .timeLimit(.minutes(60)))
struct RelayBlocksTests {
    private static let blocks = [
        "id: k3v9x0qa.0\n\n", "event: a\nid: k3v9x0qa.1.1\ncause: id: x\ndata: 7\n\n",
        "event: state\nid: k3v9x0qa.1\ndata: {\"id: \":\"event: \"}\n\n",
        "event: end\nid: k3v9x0qa.1\ndata: {\"reason\":\"deleted\"}\n\n",
    ]
    private static let expected = [
        "nil k3v9x0qa.0 nil", "a k3v9x0qa.1.1 7", "state k3v9x0qa.1 {\"id: \":\"event: \"}",
        "end k3v9x0qa.1 {\"reason\":\"deleted\"}",
    ]

    private static var framed: [UInt8] {
        blocks.flatMap { Array("\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n".utf8) }
    }

    private static func read(_ pieces: [ArraySlice<UInt8>]) -> [String] {
        var (blocks, read) = (RelayBlocks(), [String]())
        for piece in pieces {
            blocks.append(Array(piece))
            while let block = blocks.next() {
                let data = block.data.map { String(decoding: $0, as: UTF8.self) }
                read.append("\(block.event ?? "nil") \(block.id ?? "nil") \(data ?? "nil")")
            }
        }
        #expect(blocks.isBetweenBlocks)
        return read
    }

    @Test func `whole, byte by byte, and in two pieces at each position`() {
        let framed = Self.framed
        #expect(Self.read([framed[...]]) == Self.expected)
        #expect(Self.read(framed.indices.map { framed[$0...$0] }) == Self.expected)
        for cut in framed.indices {
            #expect(Self.read([framed[..<cut], framed[cut...]]) == Self.expected)
        }
    }
}
