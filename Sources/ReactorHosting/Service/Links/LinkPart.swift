internal import Clustering

/// How a request takes part in the traffic between nodes.
enum LinkPart {
    /// The request came from another node, and that node sends the response to the client.
    case incoming(ForwardOrigin)
    /// It goes to another node, or it went there and is served here after all.
    case forwarded(ForwardedRequest, any SessionEndpoint.Type)
    /// It is served here. It goes to another node if the commit shows that this node does not own
    /// the session.
    case local(LocalRequest)

    var isLocal: Bool { if case .local = self { true } else { false } }

    /// The request has ended without a response.
    func abandon(on loop: LoopResources) {
        switch self {
        case .incoming, .local: break
        case .forwarded(let forward, _): loop.links?.outgoing.abandon(forward)
        }
    }
}
