/// What a loop counts; `/metrics` adds the loops up.
struct Counters: Sendable {
    var connectionsOpened: UInt64 = 0
    var connectionsClosed: UInt64 = 0
    var requests: UInt64 = 0
    /// Answers by hundreds: 1xx is never counted.
    var answers: InlineArray<6, UInt64> = .init(repeating: 0)
    var malformed: UInt64 = 0
    var streamsOpened: UInt64 = 0
    var streamWrites: UInt64 = 0
    var streamBytes: UInt64 = 0
    var stalled: UInt64 = 0
    var failures: UInt64 = 0
    var dropped: UInt64 = 0

    // Gauges, filled in when they are asked for.
    var sessions = 0
    var subscribers = 0
    var connections = 0

    mutating func note(status: Int) {
        answers[min(max(status / 100, 0), 5)] += 1
    }

    mutating func add(_ other: Counters) {
        connectionsOpened += other.connectionsOpened
        connectionsClosed += other.connectionsClosed
        requests += other.requests
        for index in 0..<6 { answers[index] += other.answers[index] }
        malformed += other.malformed
        streamsOpened += other.streamsOpened
        streamWrites += other.streamWrites
        streamBytes += other.streamBytes
        stalled += other.stalled
        failures += other.failures
        dropped += other.dropped
        sessions += other.sessions
        subscribers += other.subscribers
        connections += other.connections
    }

    /// Prometheus text exposition format, version 0.0.4.
    var exposition: String {
        var text = ""
        func row(_ name: String, _ kind: String, _ help: String, _ value: some BinaryInteger) {
            text += "# HELP reactor_\(name) \(help)\n# TYPE reactor_\(name) \(kind)\n"
            text += "reactor_\(name) \(value)\n"
        }
        row("sessions", "gauge", "Sessions in memory.", sessions)
        row("subscribers", "gauge", "Open event streams.", subscribers)
        row("connections", "gauge", "Open connections.", connections)
        row("connections_opened_total", "counter", "Connections taken in.", connectionsOpened)
        row("requests_total", "counter", "Whole requests.", requests)
        text += "# HELP reactor_responses_total Answers by status class.\n"
        text += "# TYPE reactor_responses_total counter\n"
        for hundreds in 2...5 {
            text += "reactor_responses_total{class=\"\(hundreds)xx\"} \(answers[hundreds])\n"
        }
        row("malformed_total", "counter", "Refused as not being HTTP.", malformed)
        row("streams_opened_total", "counter", "Event streams begun.", streamsOpened)
        row("stream_writes_total", "counter", "Writes of events to subscribers.", streamWrites)
        row("stream_bytes_total", "counter", "Bytes of events written.", streamBytes)
        row("stalled_total", "counter", "Closed for taking no byte.", stalled)
        row("failures_total", "counter", "Failures of reactors' own code.", failures)
        row("dropped_total", "counter", "Sends of ended effects.", dropped)
        return text
    }
}
