internal import Storage

/// `GET /readyz`: ready to serve. It waits for nothing.
enum Readiness: ServiceEndpoint {
    static var isProbe: Bool { true }

    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let service = connection.loop.service
        guard !service.isLeaving, !service.isDraining else { throw .draining }
        if let stuck = service.watch.occupied(for: service.watch.limit).first {
            throw .stuck(stuck, service.watch.limit)
        }
        if let failure = service.journal.failure {
            // At the clients' address anybody may ask.
            let isOperator = connection.loop.role == .operations
            let reason = isOperator ? failure.detail : failure.publicDetail
            throw Problem(
                temporary: 503, "journal_unavailable",
                "the \(service.journalName) journal accepts no commits: \(reason)")
        }
        return .json(
            200, Status(status: "ready", journal: service.journalName),
            fields: [connection.loop.heads.durability])
    }

    private struct Status: Encodable {
        let status: String
        let journal: String
    }
}
