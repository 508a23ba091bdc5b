internal import Sockets
internal import Wire

/// Accepts the connections of other nodes, and passes each link to the loop for which it is once its
/// peer has proved itself.
///
/// Design: a loop of its own, so that bytes of strangers reach no loop that has sessions, and nobody
/// waits for a proof on one. A peer has two seconds and a few hundred bytes.
final class LinkDoor: LoopHandler {
    /// Connections whose peer has not proved itself; for the listener.
    static let connectionLimit = 256

    struct Identity: Sendable {
        var node: Int64
        var secret: [UInt8]
        /// The number of loops that have sessions.
        var loops: Int
        /// The size of the largest request.
        var payloadLimitBytes: Int
        var handshakeLimit = Duration.seconds(2)
    }

    /// The actions that follow. Called on the door's loop.
    struct Outcome: Sendable {
        /// The link is the loop's of that number. Its proof is unsent.
        var admit: @Sendable (consuming DetachedSocket, IncomingLink, LinkHandshake.Peer) -> Void
        var refuse: @Sendable (PeerAddress, String) -> Void
    }

    private struct Visitor {
        var link: IncomingLink
        let address: PeerAddress
    }

    private let table: ConnectionTable
    private let identity: Identity
    private let outcome: Outcome
    private var visitors: [ConnectionID: Visitor] = [:]

    init(_ identity: Identity, _ table: ConnectionTable, _ outcome: Outcome) {
        self.identity = identity
        self.table = table
        self.outcome = outcome
    }

    // MARK: LoopHandler

    func opened(_ id: ConnectionID, peer: PeerAddress) {
        let link = IncomingLink(
            at: identity.node, secret: identity.secret,
            nonce: LinkHandshake.newNonce(),
            payloadLimitBytes: identity.payloadLimitBytes)
        visitors[id] = Visitor(link: link, address: peer)
        table.setDeadline(id, table.now + identity.handshakeLimit)
    }

    func received(_ id: ConnectionID, _ bytes: RawSpan) {
        guard var visitor = visitors.removeValue(forKey: id) else { return }
        var input: [UInt8] = []
        unsafe bytes.withUnsafeBytes { unsafe input.append(contentsOf: $0) }
        var admitted: LinkHandshake.Peer?
        do throws(LinkFault) {
            try visitor.link.receive(input.span) { event in
                if case .opened(let peer) = event { admitted = peer }
            }
        } catch {
            return refuse(id, visitor.address, "\(error)")
        }
        if let admitted { return admit(id, visitor, admitted) }
        visitors[id] = visitor
        send(id)
    }

    func peerFinished(_ id: ConnectionID) {
        guard let visitor = visitors.removeValue(forKey: id) else { return }
        refuse(id, visitor.address, "the peer has closed the connection before it proved itself")
    }

    func writable(_ id: ConnectionID) { send(id) }

    func closed(_ id: ConnectionID, _ why: CloseReason) { visitors[id] = nil }

    func deadlineReached(_ id: ConnectionID) {
        guard let visitor = visitors.removeValue(forKey: id) else { return }
        refuse(id, visitor.address, "the peer has not proved itself in time")
    }

    func timerReached(_ token: UInt64) {}

    func roundEnded() {}

    // MARK: Ends

    private func send(_ id: ConnectionID) {
        guard let unsent = visitors[id]?.link.output.unsent, !unsent.isEmpty else { return }
        let count = table.send(id, unsent.span)
        visitors[id]?.link.sent(count)
    }

    private func admit(_ id: ConnectionID, _ visitor: Visitor, _ peer: LinkHandshake.Peer) {
        guard peer.loop < identity.loops else {
            return refuse(id, visitor.address, "the node has no loop \(peer.loop)")
        }
        guard let socket = table.detach(id) else {
            return refuse(id, visitor.address, "there is no descriptor for the link")
        }
        outcome.admit(socket, visitor.link, peer)
    }

    private func refuse(_ id: ConnectionID, _ address: PeerAddress, _ why: String) {
        table.close(id, .reset)
        outcome.refuse(address, why)
    }
}
