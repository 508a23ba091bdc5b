import Cluster
import Testing
import Wire

@testable import ReactorHosting

@Suite("Requests that arrive over links are in the budget of bodies", .timeLimit(.minutes(15)))
struct LinkBodyTests {
    // Without the budget, the server waits for the rest.
    @Test func `one that grows beyond the budget is refused, and the link stays`() async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(1) { _, configuration in
                (configuration.bodyLimitBytes, configuration.bodyBudgetBytes) = (100_000, 400_000)
            } _: { cluster in
                var peer = try await DiallingPeer(to: cluster)
                // The second shows that nothing of the first is counted any more.
                for _ in 0..<2 {
                    let (stream, rest) = try await peer.send(900_000, upTo: 700_000)
                    let answer = try await peer.answer(on: stream)
                    #expect(answer?.status == 503)
                    #expect(answer?.code == "too_many_bodies")
                    await peer.raw.send(rest)
                    let (next, none) = try await peer.send(150_000, upTo: .max)
                    #expect(none.isEmpty)
                    #expect(try await peer.answer(on: next)?.code != "too_many_bodies")
                }
            }
        }
    }
}

/// A node that has dialled a link to the loop 0 of the only server.
private struct DiallingPeer {
    let raw: RawConnection
    private var link: OutgoingLink

    init(to cluster: LocalCluster) async throws {
        let own = Member(node: Node(number: 99), address: "", loops: 1)
        let member = try #require(cluster.journal.members(seenBy: own).others.first)
        let address = try #require(LinkAddress(member.address))
        raw = try RawConnection(port: address.port)
        link = OutgoingLink(
            to: LinkHandshake.Peer(node: member.node.number, loop: 0), from: 99, secret: [],
            nonce: [UInt8](repeating: 1, count: 32), payloadLimitBytes: 1 << 20)
        while !link.isOpen {
            await raw.send(unsent())
            try await receive { _ in }
        }
    }

    private mutating func unsent() -> [UInt8] {
        let bytes = Array(link.output.unsent)
        link.sent(bytes.count)
        return bytes
    }

    private mutating func receive(_ act: (OutgoingLink.Event) -> Void) async throws {
        let received = await raw.receive(count: 1)
        try #require(!received.bytes.isEmpty, "the link has ended")
        try link.receive(received.bytes.span, act)
    }

    /// Sends the first bytes of a post.
    ///
    /// - Returns: Its stream, and the other bytes.
    mutating func send(
        _ bodyBytes: Int, upTo count: Int
    ) async throws -> (stream: UInt32, rest: [UInt8]) {
        let head =
            "POST /v1/sessions/none/actions HTTP/1.1\r\nHost: link\r\n"
            + "Content-Type: application/json\r\n\r\n"
        let request = LinkRequest(
            waitMilliseconds: 0, head: Array(head.utf8),
            body: [UInt8](repeating: 0x20, count: bodyBytes))
        let stream = link.send(request)
        let bytes = unsent()
        await raw.send(Array(bytes.prefix(count)))
        return (try #require(stream), Array(bytes.dropFirst(count)))
    }

    /// Nil: the request was not served.
    mutating func answer(on stream: UInt32) async throws -> LinkAnswer? {
        while true {
            var (isDone, answer) = (false, nil as LinkAnswer?)
            try await receive { event in
                switch event {
                case .answer(stream, let present): (isDone, answer) = (true, present)
                case .moved(stream, _): isDone = true
                case .opened, .answer, .moved, .ping, .last, .hint, .records, .unfollowed:
                    break
                }
            }
            if isDone { return answer }
        }
    }
}
