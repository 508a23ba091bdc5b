/// `GET /livez`: the process responds.
enum Liveness: ServiceEndpoint {
    static var isProbe: Bool { true }

    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        .json(200, Status(status: "alive"), fields: [connection.loop.heads.durability])
    }

    private struct Status: Encodable {
        let status: String
    }
}
