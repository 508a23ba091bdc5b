internal import Cluster
internal import Clustering
internal import Feeds
internal import Sessions
internal import Storage

/// `PUT /v1/sessions/{id}`: creates the session, or confirms that it exists with the same reactor
/// and the same input.
enum PutSession: SessionEndpoint {
    static let isForwarded = true

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let loop = connection.loop
        let wanted = try request.sessionToCreate()
        guard !target.isHidden else {
            // The client may know that the id is in use, but neither whose it is nor the reactor.
            if target.needsOwner {
                throw Problem(
                    409, "other_owner",
                    "the id \(target.id.text) belongs or belonged to another client")
            }
            throw Problem(
                409, "other_reactor",
                "the id \(target.id.text) belongs or belonged to a session that the token "
                    + "does not grant"
            )
        }
        guard wanted.from == nil else {
            throw Problem(
                422, "not_a_session", "PUT does not accept \"from\"; use POST /v1/sessions")
        }
        if case .nothing = target.found {
            try create(wanted, request, Self.self, for: target, on: connection)
            return nil
        }
        guard loop.service.registration(named: wanted.reactor) != nil else {
            throw notHosted(wanted.reactor, in: loop)
        }
        let session = try target.session()
        guard session.registration.name == wanted.reactor else {
            throw .otherReactor(target.id.text, session.registration.name)
        }
        guard session.feed.creation.isMade(with: wanted.inputLine) else {
            throw .otherInput(target.id.text)
        }
        session.acknowledgeExisting(for: connection.token)
        return nil
    }

    /// Creates the session, here or at a member that hosts the reactor.
    ///
    /// - Parameter act: Replies to the request, in the commit of the creation. Nil: the session
    ///   replies to its creation.
    static func create(
        _ wanted: SessionBody, _ request: Request, _ endpoint: any SessionEndpoint.Type,
        for target: SessionTarget, on connection: HTTPConnection,
        then act: LoopResources.AfterCreation? = nil
    ) throws(Problem) {
        let loop = connection.loop
        guard let registration = loop.service.registration(named: wanted.reactor) else {
            if sendOn(request, wanted.reactor, endpoint, for: target, on: connection) { return }
            throw notHosted(wanted.reactor, in: loop)
        }
        guard loop.sessions.hasRoomForSession else { throw .noRoomForSession }
        let input = try registration.accepted(wanted)
        try loop.create(
            target.id, registration, input: input, by: request.access, on: connection, then: act)
    }

    /// The members that host the reactor are about to end, or are not known there yet; or there are
    /// none.
    private static func notHosted(_ reactor: String, in loop: LoopResources) -> Problem {
        loop.sessions.isHostedElsewhere(reactor)
            ? .hostedElsewhere(reactor) : .unknownReactor(reactor)
    }

    /// Sends the request to a member that hosts the reactor. Returns false if there is none, or if
    /// that one has sent the request back.
    private static func sendOn(
        _ request: Request, _ reactor: String, _ endpoint: any SessionEndpoint.Type,
        for target: SessionTarget, on connection: HTTPConnection
    ) -> Bool {
        guard let member = connection.loop.links?.way.host(of: reactor, for: target.id) else {
            return false
        }
        switch connection.linkPart {
        case .incoming?: connection.answerIncoming(movedTo: member.node)
        case .forwarded(let forward, _)? where forward.asked == member.node: return false
        case .forwarded?, .local?, nil:
            var request = request
            RequestForwarder.begin(&request, endpoint, for: target.id, to: member, on: connection)
        }
        return true
    }
}
