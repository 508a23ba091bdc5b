/// `GET /livez`: the process responds. It names occupied loops, which are no reason for a restart,
/// but no reactor or session: anyone may ask. The log does.
enum Liveness: ServiceEndpoint {
    static var isProbe: Bool { true }

    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let service = connection.loop.service
        let occupied = service.watch.occupied(for: service.configuration.slowTurn)
        return .json(
            200, Status(status: "alive", occupied: occupied.map(Occupied.init)),
            fields: [connection.loop.heads.durability])
    }

    private struct Status: Encodable {
        let status: String
        let occupied: [Occupied]
    }

    private struct Occupied: Encodable {
        let loop: Int
        let seconds: Double

        init(_ occupied: LoopWatch.Occupied) {
            loop = occupied.loop
            seconds = Double(occupied.time.milliseconds) / 1_000
        }
    }
}
