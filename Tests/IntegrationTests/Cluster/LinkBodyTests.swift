import Cluster
import Synchronization
import Testing
import Wire

@testable import ReactorHosting

@Suite("Requests that arrive over links are in the budget of bodies", .timeLimit(.minutes(60)))
struct LinkBodyTests {
    // Without the budget, the server waits for the rest.
    @Test func `one that grows beyond the budget is refused, and the link stays`() async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(1) { _, configuration in
                (configuration.bodyLimitBytes, configuration.bodyBudgetBytes) = (100_000, 400_000)
            } _: { cluster in
                let peer = try await DiallingPeer(to: cluster)
                defer { peer.end() }
                // The second shows that nothing of the first is counted any more.
                for _ in 0..<2 {
                    let stream = try peer.send(900_000, upTo: 700_000)
                    let answer = try await peer.answer(on: stream)
                    #expect(answer?.status == 503)
                    #expect(answer?.code == "too_many_bodies")
                    peer.sendRest()
                    let next = try peer.send(150_000, upTo: .max)
                    #expect(try await peer.answer(on: next)?.code != "too_many_bodies")
                }
            }
        }
    }
}

/// A node that has dialled a link to the loop 0 of the only server.
///
/// It gives signs of life from a thread of its own: a link that is silent for a second is closed,
/// and the tests' threads may be occupied for as long.
private final class DiallingPeer: Sendable {
    private struct State {
        var link: OutgoingLink
        /// Bytes of requests that are sent next.
        var first: [UInt8] = []
        /// The other bytes of a request that was begun. One at a time is sent as a sign of life.
        var rest: ArraySlice<UInt8> = []
        var hasEnded = false

        mutating func unsent() -> [UInt8] {
            let bytes = Array(link.output.unsent)
            link.sent(bytes.count)
            return bytes
        }

        /// Nil when the peer has ended.
        mutating func next() -> [UInt8]? {
            if hasEnded { return nil }
            if !first.isEmpty {
                defer { first = [] }
                return first
            }
            if let byte = rest.popFirst() { return [byte] }
            let bytes = unsent()
            if !bytes.isEmpty { return bytes }
            guard link.isOpen else { return [] }
            link.send(LinkPing(era: 0, features: []))
            return unsent()
        }
    }

    private let raw: RawConnection
    private let state: Mutex<State>

    init(to cluster: LocalCluster) async throws {
        let own = Member(node: Node(number: 99), address: "", loops: 1)
        let member = try #require(cluster.journal.members(seenBy: own).others.first)
        let address = try #require(LinkAddress(member.address))
        raw = try RawConnection(port: address.port)
        let link = OutgoingLink(
            to: LinkHandshake.Peer(node: member.node.number, loop: 0), from: 99, secret: [],
            nonce: [UInt8](repeating: 1, count: 32), payloadLimitBytes: 1 << 20)
        state = Mutex(State(link: link))
        raw.pump(everyMilliseconds: 20) { [weak self] in self?.state.withLock { $0.next() } }
        while !state.withLock({ $0.link.isOpen }) { try await receive { _ in } }
    }

    func end() { state.withLock { $0.hasEnded = true } }

    private func receive(_ act: (OutgoingLink.Event) -> Void) async throws {
        let received = await raw.receive(count: 1)
        try #require(!received.bytes.isEmpty, "the link has ended")
        try state.withLock { try $0.link.receive(received.bytes.span, act) }
    }

    /// Sends the first bytes of a post, and the others one by one.
    ///
    /// - Returns: Its stream.
    func send(_ bodyBytes: Int, upTo count: Int) throws -> UInt32 {
        let head =
            "POST /v1/sessions/none/actions HTTP/1.1\r\nHost: link\r\n"
            + "Content-Type: application/json\r\n\r\n"
        let request = LinkRequest(
            waitMilliseconds: 0, head: Array(head.utf8),
            body: [UInt8](repeating: 0x20, count: bodyBytes))
        let stream = state.withLock { state -> UInt32? in
            let earlier = state.unsent()
            let stream = state.link.send(request)
            let bytes = state.unsent()
            // The next call of the pump sends this.
            state.first += earlier + bytes.prefix(count)
            state.rest = bytes.dropFirst(count)
            return stream
        }
        return try #require(stream)
    }

    /// Sends all bytes of the request at once.
    func sendRest() {
        state.withLock { state in
            state.first += state.rest
            state.rest = []
        }
    }

    /// Nil: the request was not served.
    func answer(on stream: UInt32) async throws -> LinkAnswer? {
        while true {
            var (isDone, answer) = (false, nil as LinkAnswer?)
            try await receive { event in
                switch event {
                case .answer(stream, let present): (isDone, answer) = (true, present)
                case .moved(stream, _): isDone = true
                case .opened, .answer, .moved, .ping, .last, .hint, .records, .presence,
                    .unfollowed:
                    break
                }
            }
            if isDone { return answer }
        }
    }
}
