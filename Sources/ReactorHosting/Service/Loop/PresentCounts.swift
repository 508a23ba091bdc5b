internal import Clustering
internal import Feeds
internal import Sessions
internal import Storage

/// The present numbers of one loop, and the counters of its sessions, at the time of a scrape.
struct PresentCounts: Sendable {
    var connections = 0
    /// Connections with requests that wait for a turn.
    var postponed = 0
    /// Jobs of other threads that wait for the loop.
    var inbox = 0
    var sessions = SessionCounts()
    var cluster = ClusterCounts()
    /// Links to and from other nodes.
    var links = 0
    var traffic = LinkCounts()

    mutating func add(_ other: PresentCounts) {
        connections += other.connections
        postponed += other.postponed
        inbox += other.inbox
        sessions.add(other.sessions)
        cluster.add(other.cluster)
        links += other.links
        traffic.add(other.traffic)
    }

    func writeGauges(to text: inout PrometheusWriter) {
        text.gauge("sessions", "Sessions in memory.", sessions.awake)
        text.gauge(
            "sessions_asleep", "Sessions of which only the subscribers are in memory.",
            sessions.asleep)
        text.gauge("subscribers", "Open event streams.", sessions.readers.all)
        text.gauge(
            "subscribers_stalled", "Subscribers whose connection accepts no bytes now.",
            sessions.readers.stalled)
        text.gauge(
            "subscribers_catching_up", "Subscribers that read the journal.",
            sessions.readers.catchingUp)
        text.gauge(
            "subscribers_behind",
            "Subscribers that are further behind than the events in memory.",
            sessions.readers.behind)
        text.gauge(
            "subscribers_moved", "Subscribers on a loop other than that of their session.",
            sessions.readers.moved)
        text.gauge(
            "subscriber_lag_max_bytes",
            "The most bytes of events in memory that a subscriber has yet to receive.",
            sessions.readers.lagBytes)
        text.gauge("connections", "Open connections.", connections)
        text.gauge(
            "connections_postponed", "Connections whose request waits for a turn.", postponed)
        text.gauge("loop_inbox_jobs", "Jobs of other threads that wait for a loop.", inbox)
        text.gauge(
            "replies_waiting", "Replies that wait for the journal.", sessions.waitingReplies)
        text.gauge(
            "uncommitted_bytes", "Bytes of posted bodies that wait for the journal.",
            sessions.uncommittedBytes)
        text.gauge(
            "reads_waiting", "Reads of the journal by streams that wait for a turn.",
            sessions.waitingReads)
        text.gauge(
            "owned_sessions",
            "Sessions that this node owns; 0 unless several nodes share the journal.",
            cluster.owned)
        text.gauge(
            "followed_sessions",
            "Sessions with subscribers here that are owned by another node or by none.",
            cluster.followed.sessions)
        text.gauge(
            "hinted_sessions",
            "Followed sessions whose owner reports new records over a link.",
            cluster.followed.hinted)
        text.gauge(
            "followed_state_bytes",
            "Bytes of the states of followed sessions that are kept for their streams.",
            cluster.followed.stateBytes)
        text.gauge("links", "Links to other nodes and from them.", links)
        text.gauges(
            "effects_running", "Running steps of effects, by reactor.", "reactor",
            sessions.runningEffects.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    func writeHistograms(to text: inout PrometheusWriter) {
        text.counters(
            "resets", "Streams that could not continue at their position, by reason.", "reason",
            ResetReason.allCases.map { ($0.rawValue, sessions.resets[$0, default: 0]) })
        text.counter(
            "subscribers_lagged",
            "Subscribers on another loop that were too slow for its replica of their stream.",
            sessions.laggedReaders)
        text.counters(
            "claims", "Claims of sessions, by result.", "result",
            [("owned", cluster.claims.owned), ("elsewhere", cluster.claims.elsewhere)])
        text.counter(
            "deposed", "Sessions that left memory because another node owns them.",
            cluster.claims.deposed)
        text.counter(
            "handed_over", "Sessions that were given up because this node is leaving.",
            cluster.claims.handedOver)
        text.counter(
            "sent_home", "Sessions that were given up because another node is their home.",
            cluster.claims.sentHome)
        text.counter(
            "woken_sessions",
            "Sessions that were woken because their effects or sources had stopped with a process.",
            sessions.woken)
        text.counter("fired_timers", "Timers that have fired.", sessions.firedTimers)
        text.counter(
            "confirms", "Queries that ask the journal whether sessions in memory are up to date.",
            cluster.reads.confirms)
        text.counter(
            "unconfirmed_reads",
            "Reads that were answered with Age, because the journal had not confirmed the state.",
            cluster.reads.unconfirmed)
        text.counter(
            "follow_questions",
            "Queries that ask the journal which followed sessions have changed.",
            cluster.followed.questions)
        text.counter(
            "follow_records",
            "Hints that contained the records, which were shown without asking the journal.",
            cluster.followed.received)
        text.counter(
            "unconfirmed_streams",
            "Streams that were closed because the journal did not answer for ten seconds.",
            cluster.followed.unconfirmed)
        writeTraffic(to: &text)
        text.histogram(
            "turn_seconds",
            "Duration of calls of reactor code on the loops, measured with the coarse clock.",
            sessions.turns)
        text.histogram(
            "batch_steps", "Sessions with decisions in a batch that a loop submits.",
            sessions.batches)
    }
    private func writeTraffic(to text: inout PrometheusWriter) {
        text.counters(
            "forwarded", "Requests for sessions of other nodes, by outcome.", "outcome",
            LinkCounts.Forwarded.allCases.map {
                ($0.rawValue, traffic.forwarded[$0, default: 0])
            })
        text.counters(
            "guests", "Requests that came from other nodes, by result.", "result",
            [("answered", traffic.served), ("moved", traffic.moved)])
        text.counters(
            "hints", "Hints that a followed session has new records, by direction.", "direction",
            [("sent", traffic.sentHints), ("received", traffic.receivedHints)])
        text.counters(
            "part_actions", "Actions of parts whose parents are at other nodes, by outcome.",
            "outcome",
            LinkCounts.Part.allCases.map { ($0.rawValue, traffic.parts[$0, default: 0]) })
        text.counter("link_bytes", "Bytes sent to other nodes.", traffic.sentBytes)
    }
}
