internal import Wire

/// The console, the demonstration page and the JavaScript client: files that are
/// served as they are.
///
/// They contain nothing of a session, so they need no token; the requests that they make do.
enum ReadPage: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let service = connection.loop.service
        guard let page = Page.embedded[request.head.text(request.head.path)],
            !(request.route?.isOfConsole ?? true) || service.console.admits(request.head)
        else { throw Problem(404, "unknown_path", "no resource has this path") }
        return try .page(page, for: request)
    }
}
