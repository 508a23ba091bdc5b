internal import Sessions

/// `GET /v1/sessions/{id}/stub` (`--admin on`).
enum ReadStub: SessionEndpoint {
    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let session = try target.session()
        try connection.loop.service.requireAdministration()
        session.readStub(for: connection.token)
        return nil
    }
}
