internal import Sessions
internal import Wire

// A whole request: finds its endpoint and calls it, here or on the loop of its session.
extension HTTPConnection {
    /// - Returns: the loop that owns the session which the request names, if that is another one.
    func serve(_ request: inout Request) -> Int? {
        let match = loop.service.router.match(
            request.head.method, request.head.bytes, request.head.path)
        request.route = nil
        if case .route(let route, let segment) = match {
            request.route = route
            request.segment = segment
        }
        state = .waiting(
            RequestContext(request, isDraining: loop.service.isDraining, since: loop.now), nil)
        switch match {
        case .route(let route, _):
            do throws(Problem) {
                return try dispatch(&request, route.endpoint)
            } catch {
                respond(.problem(error))
            }
        case .methods(let methods):
            respond(.methods(methods, request, hasOrigin: loop.configuration.allowedOrigin != nil))
        case .nothing
        where request.head.method == .options
            && request.head.matches(request.head.path, "*"):
            respond(.noContent())
        case .nothing:
            respond(.problem(Problem(404, "unknown_path", "there is nothing at this path")))
        }
        return nil
    }

    private func dispatch(
        _ request: inout Request, _ endpoint: Endpoint
    ) throws(Problem) -> Int? {
        switch endpoint {
        case .service(let endpoint):
            if let response = try endpoint.respond(to: request, on: self) { respond(response) }
        case .session(let endpoint):
            let session = try request.readSessionID()
            let owner = session.owner(of: loop.peers.count)
            guard owner == loop.index else { return owner }
            try dispatch(&request, endpoint, session)
        }
        return nil
    }

    /// Serves a request for a session of this loop, now or when the session has been read from the
    /// journal.
    func dispatch(
        _ request: inout Request, _ endpoint: any SessionEndpoint.Type, _ session: SessionID
    ) throws(Problem) {
        let found = loop.sessions.find(session)
        if case .notInMemory = found { return try park(&request, endpoint, session) }
        let target = SessionTarget(id: session, found: found)
        if let response = try endpoint.respond(to: request, for: target, on: self) {
            respond(response)
        }
    }

    private func park(
        _ request: inout Request, _ endpoint: any SessionEndpoint.Type, _ session: SessionID
    ) throws(Problem) {
        guard makeBuffers().park(&request, charging: loop.service.bodies) else {
            return try refuseForMemory(request, endpoint)
        }
        let parkedBy = id
        loop.sessions.wake(session) { [self] found in
            guard id == parkedBy, let request = buffers?.removeParked(loop) else { return }
            respondLater { () throws(Problem) in
                try endpoint.respond(
                    to: request, for: SessionTarget(id: session, found: found), on: self)
            }
        }
    }

    /// All bodies together take too much memory to keep this request. A stream gets no 5xx.
    func refuseForMemory(
        _ request: Request, _ endpoint: any SessionEndpoint.Type
    ) throws(Problem) {
        guard endpoint.wantsStream(request) else { throw .tooManyBodies }
        respond(.endedStream(.tooManyBodies))
    }

    /// Records what few requests ask for, for the response that comes later.
    func setOptions(_ set: (RequestOptions) -> Void) {
        guard case .waiting(let request, let options) = state else { return }
        let present = options ?? RequestOptions()
        set(present)
        if options == nil { state = .waiting(request, present) }
    }
}
