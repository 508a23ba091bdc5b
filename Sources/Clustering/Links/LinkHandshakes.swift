package import Sockets
package import Wire

/// Accepts the connections of other nodes, and passes each link to its loop once the peer has
/// proved itself.
///
/// Design: a loop of its own, so that no loop with sessions reads bytes of strangers or waits for a
/// proof. A peer has two seconds and a few hundred bytes. Idle strangers keep no node out, because
/// a new peer replaces the oldest of them.
package final class LinkHandshakes: LoopHandler {
    /// The listener's limit: as many connections as this type holds, and as many that it has not
    /// seen yet. If there are more at one moment, they are reset.
    package static let connectionLimit = 2 * pendingLimit
    /// The maximum number of connections whose peer has not proved itself. One more resets the
    /// oldest.
    package static let pendingLimit = 256

    package struct Identity: Sendable {
        let node: Int64
        /// The secrets with which a peer may prove that it is a node. At least one.
        let secrets: [[UInt8]]
        /// The number of loops that have sessions.
        let loops: Int
        /// The size of the largest request.
        let payloadLimitBytes: Int
        let handshakeLimit: Duration
        let pendingLimit: Int
        /// The time between two reports of the same kind of refusal.
        let reportInterval: Duration

        package init(
            node: Int64, secrets: [[UInt8]], loops: Int, payloadLimitBytes: Int,
            handshakeLimit: Duration = .seconds(2), pendingLimit: Int = LinkHandshakes.pendingLimit,
            reportInterval: Duration = .seconds(10)
        ) {
            self.node = node
            self.secrets = secrets
            self.loops = loops
            self.payloadLimitBytes = payloadLimitBytes
            self.handshakeLimit = handshakeLimit
            self.pendingLimit = pendingLimit
            self.reportInterval = reportInterval
        }
    }

    /// The reason why a peer gets no link.
    package enum Refusal: CustomStringConvertible {
        case fault(LinkFault)
        case closed
        case late
        case displaced
        case noLoop(UInt32)
        case noDescriptor

        package var description: String {
            switch self {
            case .fault(let fault): "\(fault)"
            case .closed: "the peer closed the connection before it proved itself"
            case .late: "the peer did not prove itself in time"
            case .displaced: "too many other peers have not proved themselves yet"
            case .noLoop(let loop): "the node has no loop \(loop)"
            case .noDescriptor: "no file descriptor is left for the link"
            }
        }

        /// The reason without what a stranger can choose, so that its reports are limited.
        fileprivate var kind: Kind {
            switch self {
            case .fault(.otherSecret): .secret
            case .fault(.unknownVersion): .version
            case .fault: .bytes
            case .closed: .closed
            case .late: .late
            case .displaced: .displaced
            case .noLoop: .loop
            case .noDescriptor: .descriptor
            }
        }

        fileprivate enum Kind {
            case secret, version, bytes, closed, late, displaced, loop, descriptor
        }
    }

    /// The actions that follow. Called on the loop of the handshakes.
    package struct Outcome: Sendable {
        /// The link is the loop's of that number. Its proof is unsent.
        let admit: @Sendable (consuming DetachedSocket, IncomingLink, LinkHandshake.Peer) -> Void
        /// Reports a refusal. Not called for each one: the number is that of those of its kind
        /// since the last report.
        let report: @Sendable (PeerAddress, Refusal, _ omitted: Int) -> Void

        package init(
            admit:
                @escaping @Sendable (
                    consuming DetachedSocket, IncomingLink, LinkHandshake.Peer
                ) -> Void,
            report: @escaping @Sendable (PeerAddress, Refusal, _ omitted: Int) -> Void
        ) {
            self.admit = admit
            self.report = report
        }
    }

    private struct PendingPeer {
        var link: IncomingLink
        let address: PeerAddress
        /// In the order of arrival.
        let number: UInt64
    }

    private let table: ConnectionTable
    private let identity: Identity
    private let outcome: Outcome
    private var pendingPeers: [ConnectionID: PendingPeer] = [:]
    private var lastNumber: UInt64 = 0
    private var reports: LogLimit<Refusal.Kind>

    package init(_ identity: Identity, _ table: ConnectionTable, _ outcome: Outcome) {
        self.identity = identity
        self.table = table
        self.outcome = outcome
        reports = LogLimit(interval: identity.reportInterval)
    }

    // MARK: LoopHandler

    package func opened(_ id: ConnectionID, peer: PeerAddress) {
        if pendingPeers.count >= identity.pendingLimit { displaceOldest() }
        let link = IncomingLink(
            at: identity.node, secrets: identity.secrets,
            nonce: LinkHandshake.newNonce(),
            payloadLimitBytes: identity.payloadLimitBytes)
        lastNumber += 1
        pendingPeers[id] = PendingPeer(link: link, address: peer, number: lastNumber)
        table.setDeadline(id, table.now + identity.handshakeLimit)
    }

    package func received(_ id: ConnectionID, _ bytes: RawSpan) {
        guard var pending = pendingPeers.removeValue(forKey: id) else { return }
        var input: [UInt8] = []
        unsafe bytes.withUnsafeBytes { unsafe input.append(contentsOf: $0) }
        var admitted: LinkHandshake.Peer?
        do throws(LinkFault) {
            try pending.link.receive(input.span) { event in
                if case .opened(let peer) = event { admitted = peer }
            }
        } catch {
            return refuse(id, pending.address, .fault(error))
        }
        if let admitted { return admit(id, pending, admitted) }
        pendingPeers[id] = pending
        send(id)
    }

    package func peerFinished(_ id: ConnectionID) {
        guard let pending = pendingPeers.removeValue(forKey: id) else { return }
        refuse(id, pending.address, .closed)
    }

    package func writable(_ id: ConnectionID) { send(id) }

    package func closed(_ id: ConnectionID, _ why: CloseReason) { pendingPeers[id] = nil }

    package func deadlineReached(_ id: ConnectionID) {
        guard let pending = pendingPeers.removeValue(forKey: id) else { return }
        refuse(id, pending.address, .late)
    }

    package func timerReached(_ token: UInt64) {}

    package func roundEnded() {}

    // MARK: Ends

    private func send(_ id: ConnectionID) {
        guard let unsent = pendingPeers[id]?.link.output.unsent, !unsent.isEmpty else { return }
        let count = table.send(id, unsent.span)
        pendingPeers[id]?.link.sent(count)
    }

    private func admit(_ id: ConnectionID, _ pending: PendingPeer, _ peer: LinkHandshake.Peer) {
        guard peer.loop < identity.loops else {
            return refuse(id, pending.address, .noLoop(peer.loop))
        }
        guard let socket = table.detach(id) else {
            return refuse(id, pending.address, .noDescriptor)
        }
        outcome.admit(socket, pending.link, peer)
    }

    private func displaceOldest() {
        guard let (id, pending) = pendingPeers.min(by: { $0.value.number < $1.value.number }) else {
            return
        }
        pendingPeers[id] = nil
        refuse(id, pending.address, .displaced)
    }

    private func refuse(_ id: ConnectionID, _ address: PeerAddress, _ why: Refusal) {
        table.close(id, .reset)
        guard let omitted = reports.admit(why.kind, at: table.now) else { return }
        outcome.report(address, why, omitted)
    }
}
