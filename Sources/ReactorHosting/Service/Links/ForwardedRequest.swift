internal import Cluster
internal import Sessions
internal import Sockets
internal import Wire

/// A request of a client of this node, on its way to the node that decides on its session. The request
/// itself is parked at its connection meanwhile.
final class ForwardedRequest {
    enum Place {
        /// At this node: between two tries, or served here.
        case here
        /// It waits for a link.
        case waiting(OutgoingLinks.FarEnd)
        case sent(OutgoingLinks.FarEnd, UInt32)
        /// It is asked again with the next tick (``ClusterWay/pause(_:)``).
        case paused
    }

    let connection: ConnectionID
    let session: SessionID
    let endpoint: any SessionEndpoint.Type
    var forwarding: Forwarding
    var place = Place.here
    /// The node that was asked last.
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
