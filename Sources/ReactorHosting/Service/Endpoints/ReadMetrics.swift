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
            var text = PrometheusWriter()
            var sum = Counters()
            for part in parts { sum.add(part) }
            sum.write(to: &text)
            text.counters(
                "connections_refused", "Connections that were reset when they were accepted.",
                "reason",
                ConnectionGate.Refusal.allCases.map {
                    ("\($0)", loop.service.gate.count($0))
                })
            loop.service.journal.figures?.write(to: &text)
            return Response(
                status: 200, fields: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
                body: .bytes(Array(text.text.utf8)))
        }
        return nil
    }
}
