/// `GET /openapi.yaml`.
enum ReadSpecification: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        Response(
            status: 200, fields: [("Content-Type", "application/yaml"), Response.isValidated],
            body: .constant(Page.specification))
    }
}
