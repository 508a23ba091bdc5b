import Cluster
import Sockets
import Wire

@testable import ReactorHosting

/// Another node of a cluster that does what the test says.
final class ScriptedPeer: Sendable {
    enum Act: Sendable {
        case answer(LinkAnswer)
        case moved(Node)
        case nothing
        /// The process ends: the link breaks, and nothing listens any more.
        case end
        /// The link breaks.
        case close
    }

    /// The reaction to a wish for hints.
    enum HintAct: Sendable {
        case hints([LinkHint])
        case refuse
        case nothing
        case close
    }

    let node: Node
    /// The arrivals: the first line of a request, `gone`, `follow` with the session, `unfollow`,
    /// `part` with the parent, the client and the action, a fault.
    let events: AsyncStream<String>
    private let loop: EventLoop<PeerEnd>
    private let listener: Listener<PeerEnd>

    /// - Parameters:
    ///   - acts: One for each request; then nothing.
    ///   - hasPings: Whether it sends pings.
    ///   - saysItsDatabase: Whether it sends, once, the same database as the other nodes. Default:
    ///     `hasPings`.
    ///   - provesItself: Whether it takes part in the handshake.
    ///   - hintActs: One for each request for hints; then nothing. Nil: its release has no hints.
    init(
        _ acts: [Act], hasPings: Bool = true, saysItsDatabase: Bool? = nil,
        provesItself: Bool = true,
        hintActs: [HintAct]? = nil
    ) throws {
        let (events, event) = AsyncStream.makeStream(of: String.self)
        var randomness = SystemRandomNumberGenerator()
        let node = Node(using: &randomness)
        let loop = try EventLoop<PeerEnd>(label: "peer") {
            PeerEnd(
                $1, node, acts, hasPings, saysItsDatabase ?? hasPings, provesItself, hintActs
            ) { event.yield($0) }
        }
        let listener = try Listener(
            try BoundSocket(.tcp(host: "127.0.0.1", port: 0)), loops: [loop],
            maximumConnections: 100)
        loop.enqueue { peer in
            // The link breaks when nobody listens any more: it would be dialled again before.
            peer.ended = { [weak loop] in
                listener.close()
                Task {
                    await listener.untilClosed()
                    loop?.enqueue { $0.breakLinks() }
                }
            }
        }
        (self.node, self.events, self.loop, self.listener) = (node, events, loop, listener)
    }

    var member: Member {
        Member(node: node, address: "\(listener.boundAddress)", loops: 1)
    }

    func until(_ wanted: String) async -> Bool {
        for await event in events where event.hasPrefix(wanted) { return true }
        return false
    }

    func next() async -> String? {
        for await event in events { return event }
        return nil
    }

    func end() async {
        listener.close()
        await listener.untilClosed()
        await loop.stop()
    }
}

private final class PeerEnd: LoopHandler {
    let table: ConnectionTable
    var ended: () -> Void = {}
    private let node: Node
    private var acts: [ScriptedPeer.Act]
    private let hasPings: Bool
    private let saysItsDatabase: Bool
    private let provesItself: Bool
    private var hintActs: [ScriptedPeer.HintAct]
    private let ping: LinkPing
    private let note: (String) -> Void
    private var links: [ConnectionID: IncomingLink] = [:]

    init(
        _ table: ConnectionTable, _ node: Node, _ acts: [ScriptedPeer.Act], _ hasPings: Bool,
        _ saysItsDatabase: Bool, _ provesItself: Bool, _ hintActs: [ScriptedPeer.HintAct]?,
        _ note: @escaping (String) -> Void
    ) {
        self.table = table
        self.node = node
        self.acts = acts
        self.hasPings = hasPings
        self.saysItsDatabase = saysItsDatabase
        self.provesItself = provesItself
        self.hintActs = hintActs ?? []
        ping = LinkPing(era: 1, features: hintActs == nil ? [] : .hints)
        self.note = note
        if hasPings { timerReached(0) }
    }

    func opened(_ id: ConnectionID, peer: PeerAddress) {
        links[id] = IncomingLink(
            at: node.number, secrets: [[]], nonce: [UInt8](repeating: 9, count: 32),
            payloadLimitBytes: 1 << 20)
    }

    func received(_ id: ConnectionID, _ bytes: RawSpan) {
        guard provesItself, var link = links[id] else { return }
        let input = unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) }
        var events: [IncomingLink.Event] = []
        do {
            try link.receive(input.span) { events.append($0) }
        } catch {
            note("\(error)")
        }
        for event in events {
            switch event {
            case .request(let stream, let request):
                note(line(of: request))
                guard serve(stream, on: &link) else {
                    breakLink(id)
                    return
                }
            case .gone: note("gone")
            case .follow(let stream, let follow):
                note("follow \(follow.session)")
                guard promise(stream, on: &link) else {
                    breakLink(id)
                    return
                }
            case .unfollow: note("unfollow")
            case .presence: break
            case .opened: if saysItsDatabase { link.send(ping) }
            case .hurry, .ping: break
            }
        }
        links[id] = link
        send(id)
    }

    /// The first line of a request. For a part's action: the parent, the client and the body.
    private func line(of request: LinkRequest) -> String {
        let line = String(decoding: request.head.prefix { $0 != 0x0d }, as: UTF8.self)
        guard line.hasPrefix("POST /parts/") else { return line }
        let parent = line.dropFirst("POST /parts/".count).prefix { $0 != "?" }
        let body = String(decoding: request.body, as: UTF8.self)
        return "part \(parent) \(request.access?.subject ?? "-") \(body)"
    }

    /// - Returns: False if the link breaks.
    private func promise(_ stream: UInt32, on link: inout IncomingLink) -> Bool {
        switch hintActs.isEmpty ? .nothing : hintActs.removeFirst() {
        case .hints(let hints):
            for hint in hints {
                link.hint(stream, hint)
                link.writeHints()
            }
        case .refuse: link.unfollow(stream)
        case .nothing: break
        case .close: return false
        }
        return true
    }

    /// - Returns: False if the link breaks.
    private func serve(_ stream: UInt32, on link: inout IncomingLink) -> Bool {
        // The server knows the peer's features before it has the answer.
        link.send(ping)
        switch acts.isEmpty ? .nothing : acts.removeFirst() {
        case .answer(let answer): link.answer(stream, answer)
        case .moved(let node): link.answer(stream, LinkMoved(node: node.number))
        case .nothing: break
        case .end: ended()
        case .close: return false
        }
        return true
    }

    func breakLinks() {
        for id in links.keys { breakLink(id) }
    }

    private func breakLink(_ id: ConnectionID) {
        table.close(id, .reset)
        links[id] = nil
    }

    private func send(_ id: ConnectionID) {
        guard var link = links[id] else { return }
        link.sent(table.send(id, link.output.unsent.span))
        links[id] = link
    }

    func timerReached(_ token: UInt64) {
        for id in links.keys {
            links[id]?.send(ping)
            send(id)
        }
        table.setTimer(token: 0, at: table.now + .milliseconds(100))
    }

    func peerFinished(_ id: ConnectionID) { links[id] = nil }
    func writable(_ id: ConnectionID) { send(id) }
    func closed(_ id: ConnectionID, _ why: CloseReason) { links[id] = nil }
    func deadlineReached(_ id: ConnectionID) {}
    func roundEnded() {}
}
