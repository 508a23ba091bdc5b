internal import Cluster
internal import Clustering
internal import Feeds
internal import Sessions
internal import Sockets

enum ForwardStage {
    /// At this node: between two attempts, or served here.
    case here
    /// It waits for a link.
    case waiting(OutgoingLinks.FarEnd)
    case sent(OutgoingLinks.FarEnd, UInt32)
    /// It waits for the next tick (``ClusterWay/pause(_:)``).
    case paused
}

/// A client's request or a part's action, on its way to the node that decides on its session.
/// Meanwhile the request itself is parked at its connection.
final class ForwardedRequest {
    let connection: ConnectionID
    let session: SessionID
    let endpoint: any SessionEndpoint.Type
    /// The action that the request carries; nil for a client's request.
    let part: PartAction?
    var forwarding: Forwarding
    var place = ForwardStage.here
    /// The node that was asked last; nil also if the owner is no member that is known here.
    var asked: Node?
    /// How the last attempt ended.
    var ending = Forwarding.Ending.moved(nil)
    /// How often the owner of the session was looked up.
    var looks = 0

    init(
        of connection: ConnectionID, for session: SessionID, _ endpoint: any SessionEndpoint.Type,
        _ forwarding: Forwarding, part: PartAction? = nil
    ) {
        self.connection = connection
        self.session = session
        self.endpoint = endpoint
        self.forwarding = forwarding
        self.part = part
    }

    var onlyReads: Bool { forwarding.onlyReads }
}

/// The part of a request in the traffic between nodes.
enum LinkPart {
    /// It came from another node, and is answered there.
    case incoming(ForwardOrigin)
    /// It goes to another node, or went and is served here after all.
    case forwarded(ForwardedRequest)
    /// It is served here. It goes to another node if the commit shows that this node does not own
    /// the session.
    case local(LocalRequest)

    var isLocal: Bool { if case .local = self { true } else { false } }

    /// The request has ended without a response.
    func abandon(on loop: LoopResources) {
        switch self {
        case .incoming, .local: break
        case .forwarded(let forward): loop.links?.outgoing.abandon(forward)
        }
    }
}

/// The link and the stream on which a request of another node is answered.
struct ForwardOrigin: Hashable, Sendable {
    var link: ConnectionID
    var stream: UInt32

    init(_ link: ConnectionID, _ stream: UInt32) {
        self.link = link
        self.stream = stream
    }
}
