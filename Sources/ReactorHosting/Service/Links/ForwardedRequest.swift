internal import Cluster
internal import Feeds
internal import Sessions
internal import Sockets
internal import Wire

/// A request, or an action of a part, on its way to the node that decides on its session.
protocol Forward: AnyObject {
    var session: SessionID { get }
    /// Whether the request changes nothing.
    var onlyReads: Bool { get }
    var place: ForwardStage { get set }

    /// Whether it can be sent on a link, or will never be: what the other node accepts is known.
    func isReady(for link: OutgoingLink) -> Bool
    /// Sends it.
    ///
    /// - Returns: The stream of its answer; nil if nothing was sent.
    func send(on link: OutgoingConnection, _ delegate: (any LinkTableDelegate)?) -> UInt32?

    func answered(_ answer: LinkAnswer, _ delegate: (any LinkTableDelegate)?)
    /// A try has ended without an answer.
    func ended(_ ending: Forwarding.Ending, _ delegate: (any LinkTableDelegate)?)
    /// It has paused, and continues.
    func pauseEnded(_ delegate: (any LinkTableDelegate)?)
    /// The server ends: there will be no answer.
    func closed()
}

enum ForwardStage {
    /// At this node: between two tries, or served here.
    case here
    /// It waits for a link.
    case waiting(OutgoingLinks.FarEnd)
    case sent(OutgoingLinks.FarEnd, UInt32)
    /// It is asked again with the next tick (``ClusterWay/pause(_:)``).
    case paused
}

/// A request of a client of this node, on its way to the node that decides on its session. The request
/// itself is parked at its connection meanwhile.
final class ForwardedRequest {
    let connection: ConnectionID
    let session: SessionID
    let endpoint: any SessionEndpoint.Type
    var forwarding: Forwarding
    var place = ForwardStage.here
    /// The node that was asked last; nil also if the owner is no member that is known here.
    var asked: Node?

    init(
        of connection: ConnectionID, for session: SessionID, _ endpoint: any SessionEndpoint.Type,
        _ forwarding: Forwarding
    ) {
        self.connection = connection
        self.session = session
        self.endpoint = endpoint
        self.forwarding = forwarding
    }
}

extension ForwardedRequest: Forward {
    var onlyReads: Bool { forwarding.onlyReads }

    /// Waits for the other node's first ping, which has the database that it believes.
    func isReady(for link: OutgoingLink) -> Bool { link.isOpen && link.features != nil }

    func send(on link: OutgoingConnection, _ delegate: (any LinkTableDelegate)?) -> UInt32? {
        guard let request = delegate?.request(of: self) else { return nil }
        return link.machine.send(request)
    }

    func answered(_ answer: LinkAnswer, _ delegate: (any LinkTableDelegate)?) {
        delegate?.forwarded(self, answer)
    }

    func ended(_ ending: Forwarding.Ending, _ delegate: (any LinkTableDelegate)?) {
        delegate?.forwarded(self, ending)
    }

    func pauseEnded(_ delegate: (any LinkTableDelegate)?) { delegate?.pauseEnded(self) }

    /// Its connection ends with the server.
    func closed() {}
}

/// The part of a request in the traffic between nodes.
enum LinkPart {
    /// It came from another node, and is answered there.
    case guest(GuestOrigin)
    /// It goes to another node, or went and is served here after all.
    case forwarded(ForwardedRequest)
    /// It is served here, and goes to another node if the commit shows that that one owns the session.
    case local(LocalRequest)

    var isLocal: Bool { if case .local = self { true } else { false } }

    /// The request has ended without a response.
    func abandon(on loop: LoopResources) {
        switch self {
        case .guest, .local: break
        case .forwarded(let forward): loop.links?.outgoing.abandon(forward)
        }
    }
}

/// The link and the stream on which a guest is answered.
struct GuestOrigin: Hashable, Sendable {
    var link: ConnectionID
    var stream: UInt32

    init(_ link: ConnectionID, _ stream: UInt32) {
        self.link = link
        self.stream = stream
    }
}
