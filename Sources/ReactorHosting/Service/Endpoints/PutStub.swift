internal import Cluster
internal import Clustering
internal import Sessions

/// `PUT /v1/sessions/{id}/stub` (`--admin on`): sets the state that the session shows.
enum PutStub: SessionEndpoint {
    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let isPermitted = connection.loop.service.configuration.administration == .on
        if isPermitted, let members = connection.loop.links?.way.members, !members.isAlone,
            !StubChange.onlyDisables(request.body)
        {
            throw .notOnOneNode
        }
        let session = try target.session()
        try connection.loop.service.requireAdministration()
        try request.requireJSON()
        do throws(StubRefusal) {
            try session.putStub(request.body, for: connection.token)
        } catch {
            throw Problem(error)
        }
        return nil
    }
}
