internal import Feeds
internal import Sessions

/// `GET /v1/sessions/{id}/presence`: the present readers of the session. The session's owner
/// answers, because it knows all of them.
enum ReadPresence: SessionEndpoint {
    static let isForwarded = true

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let session = try target.session()
        session.recordUse()
        let body = session.feed.present.json + [UInt8(ascii: "\n")]
        return .json(200, body, fields: [Response.isNotKept])
    }
}
