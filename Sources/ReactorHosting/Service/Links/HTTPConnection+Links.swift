internal import Cluster
internal import Clustering
internal import Feeds
internal import Sessions
internal import Sockets
internal import Wire

// Requests from other nodes, and requests to them. A request from another node has a connection
// without a socket. The response becomes an answer on the link. A part's action that goes to
// another node has such a connection, too: the response completes the action.
extension HTTPConnection {
    /// The part of the present request in the traffic between nodes.
    var linkPart: LinkPart? {
        guard case .waiting(_, let options?) = state else { return nil }
        return options.link
    }

    /// Starts to serve a request that came over a link.
    func beginIncoming(_ id: ConnectionID, _ request: LinkRequest, from origin: ForwardOrigin) {
        begin(id, .incoming(origin))
        if request.waitMilliseconds == 0 { setOptions { $0.isHurried = true } }
        respondLater { () throws(Problem) in
            try RequestDispatcher.serve(incoming: request, on: self)
            return nil
        }
    }

    /// Starts to serve a request without a socket.
    func begin(_ id: ConnectionID, _ link: LinkPart) {
        beginSocketless(id)
        setOptions { $0.link = link }
    }

    func beginSocketless(_ id: ConnectionID) {
        begin(id, peer: .local, from: .main)
        loop.openCount += 1
        state = .waiting(RequestContext(malformedSince: loop.now), nil)
    }

    /// Passes the response to the node that the client has reached.
    func answerIncoming(_ response: Response, at origin: ForwardOrigin) {
        guard case .waiting(_, let options?) = state else { return }
        // Nothing was applied, and the other node still has the request.
        if response.code == Problem.movedCode { return answerIncoming(movedTo: nil) }
        // This node is cut off from the journal and has not begun the request: another node may
        // serve it.
        if response.status == 503, !isHeard { return answerIncoming(movedTo: nil) }
        options.endSpan(status: response.status, response.code)
        if options.onlyReads {
            loop.links?.incoming.answerRead(origin, LinkAnswer(response), response.charge)
        } else {
            loop.links?.incoming.answer(origin, LinkAnswer(response))
        }
        loop.links?.way.counts.countIncoming(isServed: true)
        releaseIncoming(origin)
    }

    /// Whether this node may decide on sessions.
    private var isHeard: Bool { loop.links?.way.members.isHeard ?? true }

    func answerIncoming(movedTo node: Node?) {
        guard case .waiting(_, let options?) = state, case .incoming(let origin)? = options.link
        else {
            return
        }
        options.endSpan(status: 503, Problem.movedCode)
        loop.links?.incoming.answer(origin, movedTo: node)
        loop.links?.way.counts.countIncoming(isServed: false)
        releaseIncoming(origin)
    }

    /// Nobody waits for the answer. A request that has begun takes effect.
    func abandonIncoming(_ origin: ForwardOrigin) {
        cancelWork()
        releaseIncoming(origin)
    }

    private func releaseIncoming(_ origin: ForwardOrigin) {
        loop.socketless.free(id, of: origin)
        release()
    }
}

extension RequestDispatcher {
    /// Serves a request that came over a link. Its client was verified by the node that
    /// it has reached.
    static func serve(
        incoming link: LinkRequest, on connection: HTTPConnection
    ) throws(Problem) {
        let loop = connection.loop
        var request = Request()
        do throws(RequestRefusal) {
            request.head = try link.readHead(limits: loop.settings.requestLimits)
        } catch {
            throw Problem(error)
        }
        request.body = link.body
        guard case .route(let route, let segment) = loop.service.matchForwarded(request.head),
            case .session(let endpoint) = route.endpoint, !endpoint.wantsStream(request)
        else { throw .notForwarded }
        request.route = route
        request.segment = segment
        request.access = link.access.flatMap { Access($0, at: loop.table.wallClockMilliseconds) }
        // The nodes differ in --auth, or this one is newer. (A part may act with or
        // without a client, and a program needs no authenticator.)
        guard
            (loop.gate == nil) == (request.access == nil) || endpoint is PostPart.Type
                || request.access?.isProgram ?? false
        else { throw .notForwarded }
        connection.beginIncomingRequest(request)
        if endpoint.onlyReads(request) { connection.setOptions { $0.onlyReads = true } }
        let session = try request.readSessionID()
        guard session.owner(of: loop.peers.count) == loop.index else {
            return connection.answerIncoming(movedTo: nil)
        }
        try serve(&request, endpoint, for: session, on: connection)
    }
}

extension HTTPConnection {
    /// The request was read, and its response is due.
    fileprivate func beginIncomingRequest(_ request: Request) {
        guard case .waiting(_, let options) = state else { return }
        state = .waiting(RequestContext(request, on: self, origin: 0), options)
        identity.record(request.head, withLine: false)
        identity.access = request.access
        if let tracer = loop.service.tracer { beginTrace(of: request, by: tracer) }
    }
}

extension Problem {
    fileprivate static let notForwarded = Problem(
        503, "owner_unreachable",
        "nothing was applied: the node that decides on the session does not accept the request; the "
            + "nodes differ in their version or their --auth",
        fields: [("Retry-After", "1")])
}
