internal import Sessions
internal import Wire

/// `GET /v1/sessions/{id}`: the state, now or as it was at `?version=`.
enum ReadSession: SessionEndpoint {
    static let isForwarded = true

    static func onlyReads(_ request: Request) -> Bool { true }

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let session = try target.readable()
        var version: UInt64?
        if request.head.query != nil, let text = try request.queryItems().first("version") {
            guard let number = UInt64(text) else {
                throw .badParameter("version", text, "send a whole number")
            }
            version = number
        }
        if request.head.range(of: .ifNoneMatch) != nil {
            let known = try EntityTags(request.head, .ifNoneMatch)
            connection.setOptions { $0.knownTags = known }
        }
        if version != nil { connection.setOptions { $0.waitingIn = session } }
        session.read(version: version, for: connection.token)
        return nil
    }
}
