internal import Cluster
internal import Clustering
internal import Feeds
internal import Sessions
internal import Sockets
internal import Wire

/// Sends requests to the nodes that decide on their sessions, and serves them here if no other node
/// does.
///
/// Design: a request waits at its connection, parked like one whose session is being loaded.
/// ``Forwarding`` decides how often it is tried, and which failure its client gets. A part's action
/// is the request of a connection without a socket (``PostPart``).
enum RequestForwarder {
    /// Beyond this number, looking up the owner of a session waits for the next tick of the links.
    private static let lookLimit = 2

    /// Parks a request for a session that this node does not have, and forwards it.
    static func begin(
        _ request: inout Request, _ endpoint: any SessionEndpoint.Type, for session: SessionID,
        to member: Member, on connection: HTTPConnection
    ) {
        let loop = connection.loop
        guard connection.park(&request) else {
            return connection.respond(RequestDispatcher.refusal(.tooManyBodies, of: request))
        }
        let forward = makeForward(endpoint, session, on: connection)
        if let way = loop.links?.way, way.suspicion.isFreshlySilent(member.node, at: .now) {
            (forward.asked, forward.ending) = (member.node, .notSent)
            return lookUp(forward, on: connection)
        }
        send(forward, to: member.node, on: connection)
    }

    /// Handles a parked request whose session another node owns.
    ///
    /// - Returns: False if the request stays here: there are no links, or it is not forwarded.
    static func redirect(
        _ endpoint: any SessionEndpoint.Type, for session: SessionID, to member: Member,
        on connection: HTTPConnection
    ) -> Bool {
        let loop = connection.loop
        guard loop.links != nil, endpoint.isForwarded, let parked = connection.buffers?.parked,
            !endpoint.wantsStream(parked)
        else { return false }
        switch connection.linkPart {
        case .incoming?:
            _ = connection.buffers?.removeParked(loop)
            connection.answerIncoming(movedTo: member.node)
        case .forwarded(let forward, _)?: redirect(forward, to: member, on: connection)
        case .local?, nil:
            redirect(makeForward(endpoint, session, on: connection), to: member, on: connection)
        }
        return true
    }

    /// Forwards a request that was not applied here, because another node owns its session by now.
    ///
    /// - Returns: False if there is no room to keep it.
    static func sendOn(_ local: LocalRequest, on connection: HTTPConnection) -> Bool {
        var request = local.request
        guard
            connection.park(&request)
        else { return false }
        let forward = makeForward(local.endpoint, local.session, on: connection)
        forward.forwarding.beginTry()
        // In a later job: the session's steps are still being undone.
        let (loop, id) = (connection.loop, connection.id)
        loop.peers.enqueue(on: loop.index) { loop in
            guard let connection = loop.connection(id),
                case .forwarded(let forward, _)? = connection.linkPart
            else { return }
            tryEnded(forward, .moved(nil), on: connection)
        }
        return true
    }

    private static func makeForward(
        _ endpoint: any SessionEndpoint.Type, _ session: SessionID, on connection: HTTPConnection
    ) -> ForwardedRequest {
        // A repetition is harmless only if the answer was stored, and only posts have stored
        // answers.
        let parked = connection.buffers?.parked
        let isRepeatable =
            parked?.head.method == .post && parked?.head.range(of: .idempotencyKey) != nil
        let forward = ForwardedRequest(
            of: connection.id, for: session,
            Forwarding(
                at: connection.loop.now.nanoseconds, isRepeatable: isRepeatable,
                onlyReads: parked.map { endpoint.onlyReads($0) } ?? false))
        connection.setOptions { $0.link = .forwarded(forward, endpoint) }
        return forward
    }

    // MARK: Tries

    private static func send(
        _ forward: ForwardedRequest, to node: Node, on connection: HTTPConnection
    ) {
        forward.asked = node
        forward.forwarding.beginTry()
        guard let links = connection.loop.links, let member = links.way.members[node],
            links.outgoing.send(forward, to: member)
        else {
            // A client can repeat its request. Nobody repeats a part's action, so this tries it
            // again.
            guard forward.part != nil else {
                return fail(forward, forward.forwarding.failure, on: connection)
            }
            return tryEnded(forward, .notSent, on: connection)
        }
    }

    /// Continues a request whose attempt ended without an answer.
    static func tryEnded(
        _ forward: ForwardedRequest, _ ending: Forwarding.Ending, on connection: HTTPConnection
    ) {
        guard let way = connection.loop.links?.way else { return }
        let now = connection.loop.now.nanoseconds
        // For a part's action, a node that refused it may be asked again: no client repeats it.
        let asked = forward.part == nil ? forward.asked : nil
        let next = forward.forwarding.next(after: ending, by: asked, at: now, way.members)
        forward.ending = ending
        switch next {
        case .send(let node):
            way.remember(node, of: forward.session)
            send(forward, to: node, on: connection)
        case .lookUp where forward.looks < lookLimit: lookUp(forward, on: connection)
        case .lookUp, .sendLater: pause(forward, on: connection)
        case .fail(let failure): fail(forward, failure, on: connection)
        }
    }

    private static func pause(_ forward: ForwardedRequest, on connection: HTTPConnection) {
        guard connection.loop.links?.outgoing.pause(forward) ?? false else {
            return fail(forward, forward.forwarding.failure, on: connection)
        }
    }

    /// Sends the request again to the node that still served an earlier attempt. If there is none,
    /// looks up the owner again.
    static func pauseEnded(_ forward: ForwardedRequest, on connection: HTTPConnection) {
        guard case .running(let node) = forward.ending else {
            return lookUp(forward, on: connection)
        }
        send(forward, to: node, on: connection)
    }

    /// The node that may lose the session, because it has not answered.
    private static func deposable(_ forward: ForwardedRequest, by way: ClusterWay) -> Node? {
        switch forward.ending {
        case .moved, .unknown: nil
        case .notSent, .lost, .running: way.deposable(forward.asked, of: forward.session)
        }
    }

    /// Claims the session, which may have another owner.
    private static func lookUp(_ forward: ForwardedRequest, on connection: HTTPConnection) {
        let (loop, id) = (connection.loop, connection.id)
        guard let way = loop.links?.way else { return }
        forward.looks += 1
        way.forget(forward.session)
        if forward.onlyReads { return readAgain(forward, on: connection) }
        let present = loop.sessions.find(forward.session)
        guard case .notInMemory = present else {
            return serveHere(forward, present, on: connection)
        }
        let deposed = deposable(forward, by: way)
        let isWanted = isWanted(forward, id, on: connection)
        loop.sessions.wake(forward.session, deposing: deposed, while: isWanted) { found in
            guard isWanted() else { return }
            if case .elsewhere(let member, _) = found {
                return redirect(forward, to: member, on: connection)
            }
            // No session is claimed if the journal has none with this id, or could not say.
            if deposed != nil, case .session = found {
                way.suspicion.took(forward.session.text, at: .now)
            }
            serveHere(forward, found, on: connection)
        }
    }

    /// Looks for another node that can read the session. A read claims nothing.
    private static func readAgain(_ forward: ForwardedRequest, on connection: HTTPConnection) {
        let (id, loop) = (connection.id, connection.loop)
        let client = loop.service.workClient(of: connection.identity)
        let isWanted = isWanted(forward, id, on: connection)
        loop.sessions.read(forward.session, .confirmed, for: client, while: isWanted) { found, _ in
            guard isWanted() else { return }
            if case .elsewhere(let member, _) = found {
                return redirect(forward, to: member, on: connection)
            }
            serveHere(forward, found, on: connection)
        }
    }

    /// Whether the connection still has the request.
    private static func isWanted(
        _ forward: ForwardedRequest, _ id: ConnectionID, on connection: HTTPConnection
    ) -> () -> Bool {
        {
            guard connection.id == id, case .forwarded(let present, _)? = connection.linkPart else {
                return false
            }
            return present === forward
        }
    }

    /// Sends a request to the owner that the journal has named.
    private static func redirect(
        _ forward: ForwardedRequest, to member: Member, on connection: HTTPConnection
    ) {
        guard let way = connection.loop.links?.way else { return }
        let next = forward.forwarding.next(
            after: .moved(member.node), at: connection.loop.now.nanoseconds, way.members)
        switch next {
        case .send(let node):
            way.remember(node, of: forward.session)
            send(forward, to: node, on: connection)
        // The owner has become a member since this node's last beat: the next one shows it.
        case .lookUp, .sendLater:
            (forward.asked, forward.ending) = (nil, .moved(member.node))
            pause(forward, on: connection)
        case .fail(let failure): fail(forward, failure, on: connection)
        }
    }

    // MARK: Ends

    static func answered(
        _ forward: ForwardedRequest, _ answer: LinkAnswer, on connection: HTTPConnection
    ) {
        let loop = connection.loop
        if let asked = forward.asked,
            forward.forwarding.meetsEarlierTry(Int(answer.status), answer.code)
        {
            return tryEnded(forward, .running(asked), on: connection)
        }
        if forward.forwarding.isRepeated(Int(answer.status), answer.code) {
            return tryEnded(forward, .unknown, on: connection)
        }
        if let asked = forward.asked { loop.links?.way.remember(asked, of: forward.session) }
        loop.links?.way.counts.count(.answered)
        _ = connection.buffers?.removeParked(loop)
        connection.respondLater { () throws(Problem) in
            var response = Response(answer)
            let bytes = answer.body.count
            guard bytes > WorkBudget.smallestBytes else { return response }
            response.charge = loop.service.work.charge(
                bytes, for: loop.service.workClient(of: connection.identity))
            // The outcome of any other request must arrive.
            if response.charge == nil, forward.onlyReads { throw .tooMuchMemory }
            return response
        }
    }

    private static func serveHere(
        _ forward: ForwardedRequest, _ found: SessionLookup, on connection: HTTPConnection
    ) {
        let loop = connection.loop
        guard case .forwarded(_, let endpoint)? = connection.linkPart,
            let request = connection.buffers?.removeParked(loop)
        else { return }
        loop.links?.way.counts.count(.here)
        connection.respondLater { () throws(Problem) in
            try endpoint.respond(
                to: request,
                for: SessionTarget(id: forward.session, found: found, access: request.access),
                on: connection)
        }
    }

    private static func fail(
        _ forward: ForwardedRequest, _ failure: Forwarding.Failure, on connection: HTTPConnection
    ) {
        let loop = connection.loop
        loop.links?.way.counts.count(
            failure == .unreachable ? LinkCounts.Forwarded.unreachable : .outcomeUnknown)
        _ = connection.buffers?.removeParked(loop)
        connection.respondLater { () throws(Problem) in
            throw Problem(failure, of: forward.session.text)
        }
    }
}

extension Problem {
    /// The problem of a request that no node has served.
    init(_ failure: Forwarding.Failure, of session: String) {
        switch failure {
        case .unreachable:
            self.init(
                503, "owner_unreachable",
                "nothing was applied: the node that decides on the session \(session) cannot be reached",
                fields: [("Retry-After", "1")])
        case .outcomeUnknown:
            self.init(
                504, "outcome_unknown",
                "the request was applied once or not at all: the connection to the node that decides on "
                    + "the session \(session) has ended; send it again with its Idempotency-Key",
                fields: [("Retry-After", "1")])
        }
    }
}
