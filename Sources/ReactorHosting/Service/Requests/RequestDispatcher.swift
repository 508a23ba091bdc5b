internal import Clustering
internal import Feeds
internal import Sessions
internal import Sockets
internal import Wire

/// Finds a request's endpoint and calls it, here or on the loop of its session.
enum RequestDispatcher {
    /// - Returns: The loop that owns the request's session, if it is another one.
    static func serve(_ request: inout Request, on connection: HTTPConnection) -> Int? {
        let loop = connection.loop
        // A request is counted once, with its head.
        let isCounted = connection.hasAdmittedHead
        if isCounted { connection.hasAdmittedHead = false }
        if let target = connection.repeatedTarget {
            if target.applies(to: request.head, on: loop) {
                serve(&request, of: target, isCounted: isCounted, on: connection)
                return nil
            }
            // From now on, the connection has the identity of this request's client. So if the
            // earlier head is repeated later, its client has to be found again.
            connection.repeatedTarget = nil
        }
        let match = findRoute(of: &request, on: connection)
        connection.beginWaiting(request, origin: loop.settings.origins.index(of: request.head))
        if let tracer = loop.service.tracer { connection.beginTrace(of: request, by: tracer) }
        do throws(Problem) {
            if let endpoint = try admit(&request, match, isCounted: isCounted, on: connection) {
                return try serve(&request, endpoint, connection)
            }
        } catch {
            connection.respond(.problem(error))
        }
        return nil
    }

    private static func findRoute(
        of request: inout Request, on connection: HTTPConnection
    ) -> Router.Match {
        let loop = connection.loop
        let match = loop.service.match(request.head, at: connection.listener)
        request.route = nil
        if case .route(let route, let segment) = match {
            request.route = route
            request.segment = segment
        }
        connection.identity.record(
            request.head, withLine: loop.settings.hasAccessLog, behind: loop.service.clientAddress)
        return match
    }

    /// Checks what the head of a request decides: host, rate, route, client and parameters.
    ///
    /// - Parameter isCounted: Whether the request was already counted for the rate of its client.
    /// - Returns: The endpoint; nil if the request is answered, or waits for the authenticator.
    private static func admit(
        _ request: inout Request, _ match: Router.Match, isCounted: Bool,
        on connection: HTTPConnection
    ) throws(Problem) -> Endpoint? {
        let loop = connection.loop
        guard loop.settings.hosts.permits(request.head) else {
            throw AllowedHosts.problem(request.head)
        }
        if !isCounted, let rate = loop.settings.requestRate,
            let refusal = refusal(request, rate, connection)
        {
            connection.respond(refusal)
            return nil
        }
        switch match {
        case .route(let route, _):
            if connection.listener == .operations, loop.service.isDraining,
                !route.isServedWhileDraining
            {
                throw .draining
            }
            if let gate = loop.gate, try !gate.admit(&request, on: connection) { return nil }
            try request.refuseUnknownParameters()
            return route.endpoint
        case .methods(let methods):
            connection.respond(.methods(methods, request, loop.settings.origins))
        case .nothing
        where request.head.method == .options
            && request.head.matches(request.head.path, "*"):
            connection.respond(.noContent())
        case .nothing: throw Problem(404, "unknown_path", "no resource has this path")
        }
        return nil
    }

    // MARK: Heads before their bodies

    /// Admits the head of a request whose body has not arrived: a refused one costs no memory for
    /// its body, and its client need not send it (ADR-0064). Returns whether the body may follow
    /// now. If not, the request was refused, or waits for the authenticator.
    static func admitHead(of request: inout Request, on connection: HTTPConnection) -> Bool {
        let loop = connection.loop
        loop.counters.requests += 1
        let match = findRoute(of: &request, on: connection)
        connection.beginWaiting(
            request, origin: loop.settings.origins.index(of: request.head), isWhole: false)
        do throws(Problem) {
            if try admit(&request, match, isCounted: false, on: connection) != nil {
                if request.route?.isServedBySession ?? false { _ = try request.readSessionID() }
                connection.state = .reading
                connection.hasAdmittedHead = true
                return true
            }
        } catch {
            if let tracer = loop.service.tracer { connection.beginTrace(of: request, by: tracer) }
            connection.respond(.problem(error))
        }
        connection.requestBegan = nil
        return false
    }

    private static func continueBody(
        of request: inout Request, on connection: HTTPConnection
    ) {
        connection.state = .reading
        connection.hasAdmittedHead = true
        if request.head.expectsContinue, request.body.isEmpty {
            connection.output.encoded.append(contentsOf: ResponseEncoder.continueResponse)
        }
        RequestTurn.keepPartial(&request, on: connection)
    }

    private static func serve(
        _ request: inout Request, of target: RepeatedTarget, isCounted: Bool,
        on connection: HTTPConnection
    ) {
        request.adopt(target)
        if let access = target.access { connection.identity.access = access }
        connection.beginWaiting(request, origin: target.origin)
        if let tracer = connection.loop.service.tracer {
            connection.identity.record(
                request.head, withLine: false, behind: connection.loop.service.clientAddress)
            if let access = target.access { connection.identity.access = access }
            connection.beginTrace(of: request, by: tracer)
        }
        if !isCounted, let rate = connection.loop.settings.requestRate,
            let refusal = refusal(request, rate, connection)
        {
            return connection.respond(refusal)
        }
        do throws(Problem) {
            try serve(&request, target.endpoint, for: target.session, on: connection)
        } catch {
            connection.respond(.problem(error))
        }
    }

    /// The refusal of a request whose client has sent too many. EventSource does not return after a
    /// status of 429: a stream reports it as an event.
    private static func refusal(
        _ request: Request, _ limit: RequestRates.Limit, _ connection: HTTPConnection
    ) -> Response? {
        // A crowd behind the operator's own address must not keep the operator from looking at it.
        guard connection.listener == .main else { return nil }
        let (loop, endpoint) = (connection.loop, request.route?.endpoint)
        if case .service(let endpoint)? = endpoint, endpoint.isProbe { return nil }
        guard let network = connection.identity.client.network,
            let wait = loop.service.rates.admit(network, at: loop.now, limit)
        else { return nil }
        let problem = limit.problem(waiting: wait)
        guard let endpoint, endpoint.wantsStream(request) else { return .problem(problem) }
        return .endedStream(problem)
    }

    private static func serve(
        _ request: inout Request, _ endpoint: Endpoint, _ connection: HTTPConnection
    ) throws(Problem) -> Int? {
        switch endpoint {
        case .service(let endpoint):
            if let response = try endpoint.respond(to: request, on: connection) {
                connection.respond(response)
            }
        case .session(let endpoint):
            let session = try request.readSessionID()
            // Checked at this node, because another node may serve the request.
            if request.route?.namesTopic ?? false {
                try connection.loop.service.requireAdministration()
            }
            let owner = session.owner(of: connection.loop.peers.count)
            guard owner == connection.loop.index else { return owner }
            connection.rememberTarget(of: request)
            try serve(&request, endpoint, for: session, on: connection)
        }
        return nil
    }

    /// Serves a request for a session of this loop, now or when the session has been read.
    static func serve(
        _ request: inout Request, _ endpoint: any SessionEndpoint.Type, for session: SessionID,
        on connection: HTTPConnection
    ) throws(Problem) {
        let sessions = connection.loop.sessions
        if sessions.sharesJournal, endpoint.onlyReads(request) {
            let freshness = Freshness(cacheControl: request.head.text(of: .cacheControl))
            return try park(&request, endpoint, session, connection, .copy(freshness))
        }
        let found = sessions.find(session)
        if case .notInMemory = found, endpoint.loadsSession {
            if endpoint.wantsStream(request) {
                return try park(&request, endpoint, session, connection, .stream)
            }
            if let way = connection.loop.links?.way, endpoint.isForwarded,
                connection.linkPart == nil, let member = way.destination(of: session)
            {
                return RequestForwarder.begin(
                    &request, endpoint, for: session, to: member, on: connection)
            }
            return try park(&request, endpoint, session, connection, .owned)
        }
        connection.keep(request, of: endpoint, for: session)
        let target = SessionTarget(id: session, found: found, access: request.access)
        if let response = try endpoint.respond(to: request, for: target, on: connection) {
            connection.respond(response)
        }
    }

    private enum Need {
        /// The session itself, which decides.
        case owned
        /// Its state, perhaps as a copy.
        case copy(Freshness)
        /// Its events, perhaps from the journal.
        case stream
    }

    private static func park(
        _ request: inout Request, _ endpoint: any SessionEndpoint.Type, _ session: SessionID,
        _ connection: HTTPConnection, _ need: Need
    ) throws(Problem) {
        let loop = connection.loop
        guard connection.park(&request) else {
            return connection.respond(refusal(.tooManyBodies, of: request))
        }
        let id = connection.id
        let isWanted = { connection.id == id }
        let respond = { (found: SessionLookup, age: Age) in
            if case .elsewhere(let member, _) = found, isWanted(),
                RequestForwarder.redirect(endpoint, for: session, to: member, on: connection)
            {
                return
            }
            guard isWanted(), let request = connection.buffers?.removeParked(loop) else { return }
            connection.respondLater { () throws(Problem) in
                if let seconds = age.seconds { connection.setOptions { $0.age = seconds } }
                connection.keep(request, of: endpoint, for: session)
                return try endpoint.respond(
                    to: request,
                    for: SessionTarget(id: session, found: found, access: request.access),
                    on: connection)
            }
        }
        switch need {
        case .owned: loop.sessions.wake(session, while: isWanted) { respond($0, .none) }
        case .copy(let freshness):
            let client = loop.service.workClient(of: connection.identity)
            loop.sessions.read(session, freshness, for: client, while: isWanted, then: respond)
        case .stream:
            let client = loop.service.workClient(of: connection.identity)
            loop.sessions.findForStream(session, for: client, while: isWanted) {
                respond($0, .none)
            }
        }
    }

    static func resume(
        _ waiting: Request, _ access: Result<Access, Problem>, on connection: HTTPConnection
    ) {
        guard let endpoint = waiting.route?.endpoint else { return connection.close(.lingering) }
        var request = waiting
        let turn = connection.id
        let hasBody = connection.reader.isBetweenRequests
        var owner: Int?
        connection.respondLater { () throws(Problem) in
            switch access {
            case .failure(let problem): return refusal(problem, of: request)
            case .success(let access):
                connection.identity.access = access
                try AccessGate.check(&request, with: access)
                try request.refuseUnknownParameters()
            }
            guard hasBody else {
                continueBody(of: &request, on: connection)
                return nil
            }
            owner = try serve(&request, endpoint, connection)
            return nil
        }
        guard let owner, connection.id == turn else { return }
        let rest = connection.buffers?.pending ?? []
        ConnectionMigration.begin(connection, with: &request, to: owner, rest: rest)
    }

    /// The refusal of a request whose session was not looked up. A stream gets no 5xx: the problem
    /// is temporary, and EventSource would not connect again.
    static func refusal(_ problem: Problem, of request: Request) -> Response {
        guard problem.status >= 500, let endpoint = request.route?.endpoint,
            endpoint.wantsStream(request)
        else { return .problem(problem) }
        return .endedStream(problem)
    }

    /// Whether the bytes start with a complete request for a probe (``ServiceEndpoint/isProbe``) of
    /// at most a kilobyte. It is served under any load, because it measures the load.
    static func isProbe(_ bytes: RawSpan, on connection: HTTPConnection) -> Bool {
        guard connection.reader.isBetweenRequests, connection.buffers == nil else { return false }
        var (reader, request, offset) = (connection.reader, Request(), 0)
        var repeated = RepeatedHead()
        let beginning = bytes.extracting(0..<min(bytes.byteCount, 1_024))
        do throws(RequestRefusal) {
            let progress = try reader.next(
                beginning, at: &offset, head: &request.head, body: &request.body,
                repeated: &repeated)
            guard progress == .complete else { return false }
        } catch {
            // The request is refused when its turn comes.
            return false
        }
        guard
            case .route(let route, _) = connection.loop.service.match(
                request.head, at: connection.listener),
            case .service(let endpoint) = route.endpoint
        else { return false }
        return endpoint.isProbe
    }
}
