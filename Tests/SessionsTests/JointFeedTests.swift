import Testing

@testable import Feeds
@testable import Sessions

@Suite("The events of one session among those of others", .timeLimit(.minutes(60)))
struct JointFeedTests {
    private static let blocks = [
        "id: k3v9x0qa.0\n\n",
        "event: reset\ndata: {\"reason\":\"trimmed\"}\n\n",
        "event: a\nid: k3v9x0qa.1.1\ndata: 7\n\n",
        "event: state\nid: k3v9x0qa.1\ncause: event: b\ndata: {\"id: \":\"event: \"}\n\n",
        "event: end\nid: k3v9x0qa.1\ndata: {\"reason\":\"deleted\"}\n\n",
    ]

    private static let expected =
        "id: -,k3v9x0qa.0\n\n"
        + "event: s-1/reset\ndata: {\"reason\":\"trimmed\"}\n\n"
        + "event: s-1/a\nid: -,k3v9x0qa.1.1\ndata: 7\n\n"
        + "event: s-1/state\nid: -,k3v9x0qa.1\ncause: event: b\n"
        + "data: {\"id: \":\"event: \"}\n\n"
        + "event: s-1/end\nid: -,x\ndata: {\"reason\":\"deleted\"}\n\n"

    /// Each block is a chunk.
    private static func framed(_ blocks: [String] = blocks) -> [UInt8] {
        blocks.flatMap { Array("\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n".utf8) }
    }

    /// The second of two sessions on a stream.
    private struct Stream {
        private var feed = JointFeed(isOver: false)
        private var ids: JointIDs
        private let key = RelayKey(loop: 0, stream: 1, index: 1, attempt: 0)
        private let windowBytes: Int
        private var out: [UInt8] = []

        init(windowBytes: Int = .max, idsAreOwn: Bool = false) throws {
            self.windowBytes = windowBytes
            ids = JointIDs(
                [try #require(SessionID("r")), try #require(SessionID("s-1"))],
                StreamVector(count: 2), areOwn: idsAreOwn)
        }

        var text: String { String(decoding: out, as: UTF8.self) }
        var isBetweenEvents: Bool { feed.isBetweenEvents }
        var hasWork: Bool { feed.hasWork(windowBytes: windowBytes) }

        mutating func receive(_ bytes: ArraySlice<UInt8>) {
            var report = RelayReport(key: key)
            report.bytes = Array(bytes)
            feed.receive(&report)
        }

        /// - Returns: the relay's new credit.
        mutating func write() -> Int {
            feed.write(of: 1, &ids, to: &out, windowBytes: windowBytes)
            return feed.claimCredit(windowBytes: windowBytes) ?? 0
        }

        /// - Returns: the bytes that the relay had no credit for.
        mutating func receiveAll(_ bytes: [UInt8]) -> Int {
            var (rest, credit) = (bytes[...], windowBytes)
            while credit > 0, !rest.isEmpty {
                let sent = rest.prefix(credit)
                rest = rest.dropFirst(sent.count)
                receive(sent)
                credit += write() - sent.count
            }
            return rest.count
        }
    }

    private func text(_ pieces: [ArraySlice<UInt8>], idsAreOwn: Bool = false) throws -> String {
        var stream = try Stream(idsAreOwn: idsAreOwn)
        for piece in pieces {
            stream.receive(piece)
            _ = stream.write()
        }
        #expect(stream.isBetweenEvents)
        return stream.text
    }

    @Test func `name and id are those of the stream, wherever the bytes are cut`() throws {
        let framed = Self.framed()
        #expect(try text([framed[...]]) == Self.expected)
        #expect(try text(framed.indices.map { framed[$0...$0] }) == Self.expected)
        for cut in framed.indices {
            #expect(try text([framed[..<cut], framed[cut...]]) == Self.expected)
        }
    }

    @Test func `ids=own: an id is that of its session`() throws {
        #expect(
            try text([Self.framed()[...]], idsAreOwn: true)
                == Self.expected.replacing("id: -,", with: "id: s-1/").replacing(
                    "\"id: s-1/", with: "\"id: "))
    }

    @Test func `a block is begun when it is whole`() throws {
        for block in Self.blocks {
            let chunk = Self.framed([block])
            for count in chunk.indices {
                var stream = try Stream()
                stream.receive(chunk[..<count])
                #expect(!stream.hasWork)
                _ = stream.write()
                #expect(stream.text.isEmpty)
                stream.receive(chunk[count...])
                #expect(stream.hasWork)
            }
        }
    }

    @Test func `everything is written, however small the window is`() throws {
        let framed = Self.framed()
        for windowBytes in 1...framed.count {
            var stream = try Stream(windowBytes: windowBytes)
            #expect(stream.receiveAll(framed) == 0)
            #expect(stream.text == Self.expected)
        }
    }

    @Test func `the name of an activity may be longer than the window`() throws {
        let name = String(repeating: "n", count: 5_000)
        var stream = try Stream(windowBytes: 700)
        let block = "event: \(name)\nid: k3v9x0qa.1\ndata: 7\n\n"
        #expect(stream.receiveAll(Self.framed([block, Self.blocks[0]])) == 0)
        #expect(
            stream.text
                == "event: s-1/\(name)\nid: -,k3v9x0qa.1\ndata: 7\n\nid: -,k3v9x0qa.0\n\n")
    }

    @Test func `between the blocks, and only there, others may follow`() throws {
        let framed = Self.framed()
        var stream = try Stream(windowBytes: 1)
        var between = 0
        for offset in framed.indices {
            let wasBetween = stream.isBetweenEvents
            stream.receive(framed[offset...offset])
            _ = stream.write()
            guard stream.isBetweenEvents else { continue }
            #expect(stream.text.isEmpty || stream.text.hasSuffix("\n\n"))
            if !wasBetween { between += 1 }
        }
        #expect(between == Self.blocks.count)
    }
}
