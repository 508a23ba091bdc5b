internal import Feeds
internal import Sessions

/// A request that is served here, kept until its response.
struct LocalRequest {
    /// Larger bodies are not kept, since they are outside the budget of bodies: ten thousand
    /// clients that wait have 40 MB of them at most. Such a request gets 503 `moved`, and
    /// was not applied.
    static let bodyLimitBytes = 4_096

    let request: Request
    let endpoint: any SessionEndpoint.Type
    let session: SessionID
}

extension HTTPConnection {
    /// Keeps a request of a client while it is served, if it can be sent to another node.
    func keep(
        _ request: Request, of endpoint: any SessionEndpoint.Type, for session: SessionID
    ) {
        guard loop.links != nil, endpoint.isForwarded, linkPart == nil,
            !endpoint.onlyReads(request), request.body.count <= LocalRequest.bodyLimitBytes
        else { return }
        let local = LocalRequest(request: request, endpoint: endpoint, session: session)
        setOptions { $0.link = .local(local) }
    }
}
