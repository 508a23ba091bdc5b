internal import Feeds
internal import Sockets
internal import Storage

/// `GET /metrics`: the counters of all loops and the journal's, for Prometheus. A loop that is
/// occupied is waited for a second: its counters are those of its last scrape.
enum ReadMetrics: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let service = connection.loop.service
        let limit = waitLimit(service)
        let occupied = service.watch.occupied(for: limit).map(\.loop)
        LoopQuery.ask(for: connection, without: Set(occupied), within: limit) { loop in
            (
                index: loop.index,
                counters: loop.service.lastCounters.store(loop.presentCounters, of: loop.index)
            )
        } then: { parts, loop in
            let service = loop.service
            let missing = Set(0..<loop.peers.count).subtracting(parts.map(\.index))
            let page = page(
                parts.map(\.counters) + service.lastCounters.of(Array(missing)),
                service.journal.figures, service.watch.times(), service.work.used,
                service.refusedConnections)
            return Response(
                status: 200, fields: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
                body: .bytes(Array((page + (service.metrics?.page ?? "")).utf8)))
        }
        return nil
    }

    /// The scrape does not wait for a loop whose pass takes longer than this. The limit is less
    /// than the time-out of a scrape, and more than the pass of a busy loop.
    private static func waitLimit(_ service: Service) -> Duration {
        min(service.watch.limit, .seconds(1))
    }

    /// - Parameter answerBytes: The bytes that count against the budget for answers.
    static func page(
        _ parts: [Counters], _ journal: JournalMetrics?, _ times: [(loop: Int, time: Duration)],
        _ answerBytes: Int, _ refused: (ConnectionGate.Refusal) -> UInt64
    ) -> String {
        var text = PrometheusWriter()
        var sum = Counters()
        for part in parts { sum.add(part) }
        sum.write(to: &text)
        text.counters(
            "connections_refused", "Connections that were reset when they were accepted.",
            "reason", ConnectionGate.Refusal.allCases.map { ("\($0)", refused($0)) })
        text.gauge(
            "answer_budget_bytes",
            "Bytes in use of the budget for large answers, rebuilt states and kept states.",
            answerBytes)
        text.gauges(
            "loop_busy_seconds", "Duration of each loop's current pass; 0 while it waits.", "loop",
            times.map { ("\($0.loop)", $0.time / .seconds(1)) })
        text.counter(
            "log_lines_dropped", "Log lines dropped because the log reader was too slow.",
            LogOutput.standardError.droppedTotal)
        journal?.write(to: &text)
        return text.text
    }
}
