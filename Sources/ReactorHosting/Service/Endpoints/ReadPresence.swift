internal import Feeds
internal import Sessions

/// `GET /v1/sessions/{id}/presence`: who reads the session at this moment. The node that decides on
/// the session knows it.
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
