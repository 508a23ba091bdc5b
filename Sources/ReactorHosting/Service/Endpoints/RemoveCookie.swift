/// `DELETE /v1/cookie`: has the browser remove the cookie. It needs no token.
enum RemoveCookie: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        .noContent(fields: [TokenCookie.removal])
    }
}
