/// `GET /v1/reactors`: the hosted reactors, with pulses, activities, examples and schemas.
enum ListReactors: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let grants = request.access?.grants
        return Response(
            status: 200, fields: [("Content-Type", "application/json")],
            body: connection.loop.service.reactorList.page {
                grants?.permits(reactor: $0) ?? true
            })
    }
}
