internal import Storage

/// The counters of one loop; `/metrics` adds those of all loops.
struct Counters: Sendable {
    var connectionsOpened: UInt64 = 0
    var connectionsClosed: UInt64 = 0
    var requests: UInt64 = 0
    var responses = ResponseCounts()
    /// By the code of the problem.
    var refusals = NamedCounts()
    var malformed: UInt64 = 0
    var streamsOpened: UInt64 = 0
    var streamWrites: UInt64 = 0
    var streamBytes: UInt64 = 0
    var stalled: UInt64 = 0
    /// By reactor.
    var failures = NamedCounts()
    /// By reactor.
    var slowTurns = NamedCounts()
    var dropped: UInt64 = 0
    /// The passes of the loop in which there was work.
    var passes = TimeHistogram()

    /// Set when they are read.
    var present = PresentCounts()

    mutating func add(_ other: Counters) {
        connectionsOpened += other.connectionsOpened
        connectionsClosed += other.connectionsClosed
        requests += other.requests
        responses.add(other.responses)
        refusals.add(other.refusals)
        malformed += other.malformed
        streamsOpened += other.streamsOpened
        streamWrites += other.streamWrites
        streamBytes += other.streamBytes
        stalled += other.stalled
        failures.add(other.failures)
        slowTurns.add(other.slowTurns)
        dropped += other.dropped
        passes.add(other.passes)
        present.add(other.present)
    }

    /// Writes all of them for `/metrics`.
    func write(to text: inout PrometheusWriter) {
        present.writeGauges(to: &text)
        text.counter("connections_opened", "Accepted connections.", connectionsOpened)
        text.counter("connections_closed", "Ended connections.", connectionsClosed)
        text.counter("requests", "Complete requests.", requests)
        responses.write(to: &text)
        text.counters(
            "refusals", "Responses and streams with a problem, by its code.", "code",
            refusals.sorted)
        text.counter(
            "malformed", "Connections refused because their bytes are not HTTP.", malformed)
        text.counter("streams_opened", "Event streams that were opened.", streamsOpened)
        text.counter("stream_writes", "Writes of events to subscribers.", streamWrites)
        text.counter("stream_bytes", "Bytes of events written.", streamBytes)
        text.counter("stalled", "Connections closed because the reader accepted no bytes.", stalled)
        text.counters(
            "failures", "Failures of reactor code, by reactor.", "reactor", failures.sorted)
        text.counters(
            "slow_turns", "Calls of a reactor's code that took longer than 100 ms.",
            "reactor", slowTurns.sorted)
        text.counter("dropped", "Values dropped because their effect had ended.", dropped)
        text.histogram(
            "loop_pass_seconds", "Duration of loop passes: the longest wait for a loop.", passes)
        present.writeHistograms(to: &text)
    }
}

extension JournalMetrics {
    /// Writes all of them for `/metrics`.
    func write(to text: inout PrometheusWriter) {
        text.histogram("journal_commit_seconds", "Time to write and flush a commit.", commits)
        text.histogram("journal_commit_batches", "Batches in a commit.", sizes)
        text.counter("journal_batches", "Loop iterations that were committed.", batches)
        text.counter("journal_failures", "Batches that were not committed.", failures)
        text.counter(
            "journal_history_losses", "Times that acknowledged history may have been lost.",
            historyLosses)
        text.gauge("journal_waiting", "Batches that wait for a commit to end.", waiting)
        text.gauge("journal_failing", "1 while nothing can be committed.", isFailing ? 1 : 0)
        guard let logBytes else { return }
        text.gauge("journal_log_bytes", "Size of the file's write-ahead log.", logBytes)
    }
}
