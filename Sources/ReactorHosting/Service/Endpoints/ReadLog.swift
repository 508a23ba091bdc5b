internal import Feeds
internal import Sessions
internal import Wire

/// `GET /v1/sessions/{id}/log`: a page of the action log as JSON or, for a request that accepts an
/// event stream by its name, a stream.
enum ReadLog: StreamEndpoint {
    static func wantsStream(_ request: Request) -> Bool {
        AcceptedTypes(request.head).names(.eventStream, notLessThan: .json)
    }

    static let isForwarded = true

    static func onlyReads(_ request: Request) -> Bool { !wantsStream(request) }

    static func selection(_ items: QueryItems, pulses: UInt64) throws(Problem) -> Selection {
        // A stream has no pages, but a malformed limit is refused.
        _ = try items.pageLimit()
        return .log
    }

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        guard !wantsStream(request) else { return try subscribe(request, target, connection) }
        let session = try target.readable()
        try request.requireAccepted(.json, .eventStream)
        let query = try StreamQuery(Self.self, request, session.registration)
        connection.setOptions { $0.waitingIn = session }
        session.readLog(
            LogPageRequest(
                token: connection.token, after: query.items.first("after"),
                limit: try query.items.pageLimit()))
        return nil
    }
}
