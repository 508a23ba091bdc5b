import Sockets
import Testing
import Wire

@testable import Clustering

@Suite("A node is admitted once it has proved itself", .timeLimit(.minutes(60)))
struct LinkHandshakesTests {
    private let secret = [UInt8](repeating: 7, count: 32)

    @Test func `with the secret the link arrives at the loop for which it is`() async throws {
        let rig = try HandshakeRig(secret: secret)
        rig.dial(secret: secret, loop: 1)
        try await rig.until("admitted from 1 for 1")
        try await rig.until("opened")
        // From the far end, which the proof precedes.
        try await rig.until("ping 5")
        await rig.end()
    }

    @Test func `with another secret it is refused, and the reason is said`() async throws {
        let rig = try HandshakeRig(secret: secret)
        rig.dial(secret: [1], loop: 1)
        // Either side may be first.
        try await rig.until("refused: \(LinkFault.otherSecret)", "closed, awaits proof: true")
        await rig.end()
    }

    @Test func `a loop that does not exist is refused`() async throws {
        let rig = try HandshakeRig(secret: secret)
        rig.dial(secret: secret, loop: 2)
        try await rig.until("refused: the node has no loop 2")
        await rig.end()
    }

    @Test func `a stranger is refused by its first bytes`() async throws {
        let rig = try HandshakeRig(secret: secret)
        rig.dial(sending: Array("GET / HTTP/1.1\r\n\r\n".utf8))
        let limit = LinkHandshake.payloadLimitBytes
        try await rig.until("refused: \(LinkFault.frameTooLarge(limit: limit))")
        await rig.end()
    }

    @Test func `a peer that says nothing is refused in time`() async throws {
        let rig = try HandshakeRig(secret: secret, limit: .milliseconds(1))
        rig.dial(sending: [])
        try await rig.until("refused: the peer did not prove itself in time")
        await rig.end()
    }

    // Without the limit: a line for each.
    @Test func `many strangers have one line, which hides no other reason`() async throws {
        let rig = try HandshakeRig(secret: secret)
        let bytes = Array("GET / HTTP/1.1\r\n\r\n".utf8)
        let line = "refused: \(LinkFault.frameTooLarge(limit: LinkHandshake.payloadLimitBytes))"
        rig.dial(sending: bytes)
        try await rig.until(line, "stranger closed")
        var notes: [String] = []
        for _ in 0..<3 {
            rig.dial(sending: bytes)
            notes += await rig.notes(through: "stranger closed")
        }
        rig.dial(secret: secret, loop: 2)
        notes += await rig.notes(through: "refused: the node has no loop 2")
        #expect(!notes.contains(line))
        await rig.end()
    }

    // Without the rule, both strangers stay.
    @Test func `strangers that say nothing keep no node out`() async throws {
        let rig = try HandshakeRig(secret: secret, pendingLimit: 2)
        for _ in 0..<2 { rig.dial(sending: []) }
        rig.dial(secret: secret, loop: 1)
        try await rig.until(
            "refused: \(LinkHandshakes.Refusal.displaced)", "stranger closed",
            "admitted from 1 for 1",
            "opened")
        // There is room again: the second stranger stays.
        rig.dial(secret: secret, loop: 0)
        let notes = await rig.notes(through: "admitted from 1 for 0")
        #expect(!notes.contains("stranger closed"))
        await rig.end()
    }
}

/// The handshakes with their listener, and a loop on which both ends of links are.
private final class HandshakeRig: Sendable {
    private let handshakeLoop: EventLoop<LinkHandshakes>
    private let ends: EventLoop<LinkEnd>
    private let listener: Listener<LinkHandshakes>
    private let notes: AsyncStream<String>

    init(secret: [UInt8], limit: Duration = .seconds(600), pendingLimit: Int = 10) throws {
        let (notes, note) = AsyncStream.makeStream(of: String.self)
        let ends = try EventLoop<LinkEnd>(label: "ends") { LinkEnd($1) { note.yield($0) } }
        let identity = LinkHandshakes.Identity(
            node: 2, secrets: [secret], loops: 2, payloadLimitBytes: 1_000, handshakeLimit: limit,
            pendingLimit: pendingLimit, reportInterval: .seconds(3_600))
        let outcome = LinkHandshakes.Outcome(
            admit: { socket, link, peer in
                note.yield("admitted from \(peer.node) for \(peer.loop)")
                ends.adopt(socket) { $0.begin($1, .incoming(link)) }
            },
            report: { _, why, _ in note.yield("refused: \(why)") })
        handshakeLoop = try EventLoop<LinkHandshakes>(label: "handshakes") {
            LinkHandshakes(identity, $1, outcome)
        }
        listener = try Listener(
            try BoundSocket(.tcp(host: "127.0.0.1", port: 0)), loops: [handshakeLoop],
            maximumConnections: 10)
        self.ends = ends
        self.notes = notes
    }

    func dial(secret: [UInt8], loop: UInt32) {
        let link = OutgoingLink(
            to: LinkHandshake.Peer(node: 2, loop: loop), from: 1, secret: secret,
            nonce: [UInt8](repeating: 1, count: 32), payloadLimitBytes: 1_000)
        dial { $0.begin($1, .outgoing(link)) }
    }

    func dial(sending bytes: [UInt8]) {
        dial { _ = $0.table.send($1, bytes.span) }
    }

    private func dial(_ act: @escaping @Sendable (LinkEnd, ConnectionID) -> Void) {
        guard case .tcp(let host, let port) = listener.boundAddress else { return }
        Dialler().dial(host: host, port: port, on: ends) { end, result in
            if case .success(let id) = result { act(end, id) }
        }
    }

    func until(_ wanted: String...) async throws {
        var missing = Set(wanted)
        for await note in notes where missing.remove(note) != nil && missing.isEmpty { return }
        Issue.record("no \(missing)")
    }

    /// All up to that one.
    func notes(through last: String) async -> [String] {
        var seen: [String] = []
        for await note in notes {
            seen.append(note)
            if note == last { return seen }
        }
        Issue.record("no \(last)")
        return seen
    }

    func end() async {
        listener.close()
        await listener.untilClosed()
        await handshakeLoop.stop()
        await ends.stop()
    }
}

private final class LinkEnd: LoopHandler {
    enum Link {
        case incoming(IncomingLink)
        case outgoing(OutgoingLink)
    }

    let table: ConnectionTable
    private let note: (String) -> Void
    private var links: [ConnectionID: Link] = [:]

    init(_ table: ConnectionTable, _ note: @escaping (String) -> Void) {
        self.table = table
        self.note = note
    }

    func begin(_ id: ConnectionID, _ link: Link) {
        var link = link
        if case .incoming(var incoming) = link {
            incoming.send(LinkPing(era: 5, features: .hints))
            link = .incoming(incoming)
        }
        links[id] = link
        send(id)
    }

    func opened(_ id: ConnectionID, peer: PeerAddress) {}

    func received(_ id: ConnectionID, _ bytes: RawSpan) {
        let input = unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
        guard case .outgoing(var link)? = links[id] else { return }
        do {
            try link.receive(input.span) { event in
                switch event {
                case .opened: note("opened")
                case .ping(let ping): note("ping \(ping.era)")
                case .answer, .moved, .last, .hint, .records, .presence, .unfollowed:
                    note("\(event)")
                }
            }
        } catch {
            note("\(error)")
        }
        links[id] = .outgoing(link)
        send(id)
    }

    func peerFinished(_ id: ConnectionID) {}
    func writable(_ id: ConnectionID) { send(id) }
    func deadlineReached(_ id: ConnectionID) {}
    func timerReached(_ token: UInt64) {}
    func roundEnded() {}

    func closed(_ id: ConnectionID, _ why: CloseReason) {
        guard case .outgoing(let link)? = links[id] else { return note("stranger closed") }
        note("closed, awaits proof: \(link.awaitsProof)")
    }

    private func send(_ id: ConnectionID) {
        switch links[id] {
        case .incoming(var link)?:
            link.sent(table.send(id, link.output.unsent.span))
            links[id] = .incoming(link)
        case .outgoing(var link)?:
            link.sent(table.send(id, link.output.unsent.span))
            links[id] = .outgoing(link)
        case nil: break
        }
    }
}
