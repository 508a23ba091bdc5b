import Testing

@testable import Feeds
@testable import Sessions

@Suite("The events of one session among those of others", .timeLimit(.minutes(60)))
struct EventRewriterTests {
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
    private static var framed: [UInt8] {
        blocks.flatMap { Array("\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n".utf8) }
    }

    private static func ids(areOwn: Bool = false) throws -> JointIDs {
        JointIDs(
            [try #require(SessionID("r")), try #require(SessionID("s-1"))],
            StreamVector(count: 2), areOwn: areOwn)
    }

    private static func rewrite(_ pieces: [ArraySlice<UInt8>], _ ids: JointIDs) -> String {
        var (rewriter, ids, out) = (EventRewriter(), ids, [UInt8]())
        for piece in pieces {
            var rest = piece
            while !rest.isEmpty {
                rest = rest.dropFirst(rewriter.rewrite(rest.span, of: 1, &ids, to: &out))
            }
        }
        #expect(rewriter.isBetweenEvents)
        return String(decoding: out, as: UTF8.self)
    }

    @Test func `name and id are rewritten, wherever the bytes are cut`() throws {
        let (framed, ids) = (Self.framed, try Self.ids())
        #expect(Self.rewrite([framed[...]], ids) == Self.expected)
        #expect(
            Self.rewrite(framed.indices.map { framed[$0...$0] }, ids) == Self.expected)
        for cut in framed.indices {
            #expect(Self.rewrite([framed[..<cut], framed[cut...]], ids) == Self.expected)
        }
    }

    @Test func `ids=own: an id is that of its session`() throws {
        #expect(
            Self.rewrite([Self.framed[...]], try Self.ids(areOwn: true))
                == Self.expected.replacing("id: -,", with: "id: s-1/").replacing(
                    "\"id: s-1/", with: "\"id: "))
    }

    @Test func `a whole block is found, and only a whole one`() {
        let chunk = Array("10\r\n0123456789abcdef\r\n".utf8)
        for count in 0..<chunk.count {
            #expect(!hasBlock(chunk[..<count]))
        }
        #expect(hasBlock(chunk[...]))
        #expect(hasBlock((chunk + chunk)[...]))
    }

    private func hasBlock(_ bytes: ArraySlice<UInt8>) -> Bool { EventRewriter.hasBlock(bytes.span) }

    @Test func `between the blocks, and only there, others may follow`() throws {
        var (rewriter, ids, out) = (EventRewriter(), try Self.ids(), [UInt8]())
        var between = 0
        for byte in Self.framed {
            _ = rewriter.rewrite([byte].span, of: 1, &ids, to: &out)
            if rewriter.isBetweenEvents {
                between += 1
                #expect(out.suffix(2) == Array("\n\n".utf8)[...])
            }
        }
        #expect(between == Self.blocks.count)
    }
}
