internal import Sockets
internal import Storage

/// `GET /metrics`: the counters of all loops and the journal's, for Prometheus.
enum ReadMetrics: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        LoopQuery.ask(for: connection) {
            $0.presentCounters
        } then: { parts, loop in
            let page = page(parts, loop.service.journal.figures, loop.service.gate)
            return Response(
                status: 200, fields: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
                body: .bytes(Array(page.utf8)))
        }
        return nil
    }

    /// - Parameter parts: One for each loop.
    static func page(
        _ parts: [Counters], _ journal: JournalMetrics?, _ gate: ConnectionGate
    ) -> String {
        var text = PrometheusWriter()
        var sum = Counters()
        for part in parts { sum.add(part) }
        sum.write(to: &text)
        text.counters(
            "connections_refused", "Connections that were reset when they were accepted.",
            "reason", ConnectionGate.Refusal.allCases.map { ("\($0)", gate.count($0)) })
        journal?.write(to: &text)
        return text.text
    }
}
