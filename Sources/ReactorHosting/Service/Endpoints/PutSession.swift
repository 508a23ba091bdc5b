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
        guard let registration = loop.service.registration(named: wanted.reactor) else {
            if case .nothing = target.found, sendOn(request, wanted, for: target, on: connection) {
                return nil
            }
            // The members that host it are about to end, or are not known there yet.
            throw loop.sessions.isHostedElsewhere(wanted.reactor)
                ? .hostedElsewhere(wanted.reactor) : .unknownReactor(wanted.reactor)
        }
        if case .nothing = target.found {
            guard loop.sessions.hasRoomForSession else { throw .noRoomForSession }
            let input = try registration.accepted(wanted)
            try loop.create(
                target.id, registration, input: input, by: request.access, for: connection.id)
            return nil
        }
        let session = try target.session()
        guard session.registration.name == registration.name else {
            throw .otherReactor(target.id.text, session.registration.name)
        }
        guard session.feed.creation.isMade(with: wanted.inputLine) else {
            throw .otherInput(target.id.text)
        }
        session.acknowledgeExisting(for: connection.token)
        return nil
    }

    /// Sends the request to a member that hosts the reactor. Returns false if there is none, or if
    /// that one has sent the request back.
    private static func sendOn(
        _ request: Request, _ wanted: SessionBody, for target: SessionTarget,
        on connection: HTTPConnection
    ) -> Bool {
        guard
            let member = connection.loop.links?.way.host(of: wanted.reactor, for: target.id)
        else { return false }
        switch connection.linkPart {
        case .incoming?: connection.answerIncoming(movedTo: member.node)
        case .forwarded(let forward, _)? where forward.asked == member.node: return false
        case .forwarded?, .local?, nil:
            var request = request
            RequestForwarder.begin(&request, Self.self, for: target.id, to: member, on: connection)
        }
        return true
    }
}
