internal import Storage

/// The counters of one loop; `/metrics` adds those of all loops.
struct Counters: Sendable {
    var connectionsOpened: UInt64 = 0
    var connectionsClosed: UInt64 = 0
    var requests: UInt64 = 0
    /// Responses by hundreds: 1xx is never counted.
    var answers: InlineArray<6, UInt64> = .init(repeating: 0)
    var malformed: UInt64 = 0
    var streamsOpened: UInt64 = 0
    var streamWrites: UInt64 = 0
    var streamBytes: UInt64 = 0
    var stalled: UInt64 = 0
    var failures: UInt64 = 0
    var dropped: UInt64 = 0

    // Gauges, set when they are read.
    var sessions = 0
    var subscribers = 0
    var connections = 0

    mutating func count(status: Int) {
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

    /// Writes all of them for `/metrics`.
    func write(to text: inout PrometheusWriter) {
        text.gauge("sessions", "Sessions in memory.", sessions)
        text.gauge("subscribers", "Open event streams.", subscribers)
        text.gauge("connections", "Open connections.", connections)
        text.counter("connections_opened", "Accepted connections.", connectionsOpened)
        text.counter("requests", "Complete requests.", requests)
        text.counters(
            "responses", "Responses by status class.", "class",
            (2...5).map { ("\($0)xx", answers[$0]) })
        text.counter(
            "malformed", "Connections refused because their bytes are not HTTP.", malformed)
        text.counter("streams_opened", "Opened event streams.", streamsOpened)
        text.counter("stream_writes", "Writes of events to subscribers.", streamWrites)
        text.counter("stream_bytes", "Bytes of events written.", streamBytes)
        text.counter("stalled", "Connections closed because the reader accepted no byte.", stalled)
        text.counter("failures", "Failures of reactors' code.", failures)
        text.counter("dropped", "Values dropped because their effect had ended.", dropped)
    }
}

extension JournalMetrics {
    /// Writes all of them for `/metrics`.
    func write(to text: inout PrometheusWriter) {
        text.histogram(
            "journal_commit_seconds", "Writing and flushing a commit.",
            zip(Self.bounds, commits).map { ($0, $1) }, beyond: commits.last ?? 0, sum: seconds)
        text.counter("journal_batches", "Loop iterations that were committed.", batches)
        text.counter("journal_failures", "Batches that were not committed.", failures)
        text.gauge("journal_waiting", "Batches that wait for a commit to end.", waiting)
        text.gauge("journal_failing", "1 while nothing can be committed.", isFailing ? 1 : 0)
    }
}
