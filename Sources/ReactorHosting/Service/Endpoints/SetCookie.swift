internal import Sockets
internal import Wire

/// `PUT /v1/cookie`: has the browser keep the token of the request in a cookie that no
/// script can read.
enum SetCookie: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        guard let access = request.access else { throw .authenticationOff }
        // A cookie that renews itself would be of no use, and would do without a token in the page.
        guard request.head.range(of: .authorization) != nil else { throw .tokenMissing }
        if request.head.range(of: .origin) != nil {
            try TokenCookie.checkOrigin(of: request, connection.loop.settings.origins)
        }
        let now = connection.loop.table.wallClockMilliseconds
        let seconds = (access.expiresAtMilliseconds - now) / 1_000
        guard let field = TokenCookie.field(setting: access.token, seconds: seconds) else {
            throw .tokenNotForCookie
        }
        return .noContent(fields: [field])
    }
}
