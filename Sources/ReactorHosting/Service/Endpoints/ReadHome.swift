internal import Wire

/// `GET /`.
enum ReadHome: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let home = HomePage(connection.loop.service, for: request.head)
        let wantsPage = AcceptedTypes(request.head).names(.html, notLessThan: .json)
        return try .page(
            wantsPage ? home.html : home.json, for: request, fields: [("Vary", "Accept")])
    }
}
