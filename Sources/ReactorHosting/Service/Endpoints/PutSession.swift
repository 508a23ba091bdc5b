internal import Sessions

/// `PUT /v1/sessions/{id}`: creates the session, or confirms that it exists with the same reactor.
enum PutSession: SessionEndpoint {
    static let isForwarded = true

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let loop = connection.loop
        let (registration, origin) = try request.sessionToCreate(in: loop.service)
        guard !target.isHidden else {
            // The id is in use, which the client has to know; whose it is, is not for it, nor the
            // reactor's name.
            if target.needsOwner {
                throw Problem(
                    409, "other_owner",
                    "the id \(target.id.text) is in use by another client, or was")
            }
            throw Problem(409, "other_reactor", "the session \(target.id.text) has another reactor")
        }
        guard origin == nil else {
            throw Problem(
                422, "not_a_session", "PUT does not accept \"from\"; use POST /v1/sessions")
        }
        if case .nothing = target.found {
            guard loop.sessions.hasRoomForSession else { throw .noRoomForSession }
            try loop.create(target.id, registration, by: request.access, for: connection.id.token)
            return nil
        }
        let session = try target.session()
        guard session.registration.name == registration.name else {
            throw .otherReactor(target.id.text, session.registration.name)
        }
        session.acknowledgeExisting(for: connection.id.token)
        return nil
    }
}
