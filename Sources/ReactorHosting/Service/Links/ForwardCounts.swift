/// Requests of this node's clients that went to other nodes, and requests of other nodes' clients.
struct ForwardCounts: Sendable {
    enum Outcome: String, CaseIterable {
        /// Another node has answered.
        case answered
        /// This node has served the request after all.
        case here
        case unreachable
        case outcomeUnknown = "outcome_unknown"
    }

    private var outcomes: [Outcome: UInt64] = [:]
    /// Requests of other nodes: those that were served, and those whose answer only named the owner
    /// of the session.
    var served: UInt64 = 0
    var moved: UInt64 = 0

    mutating func count(_ outcome: Outcome) { outcomes[outcome, default: 0] += 1 }

    mutating func add(_ other: ForwardCounts) {
        for (outcome, count) in other.outcomes { outcomes[outcome, default: 0] += count }
        served += other.served
        moved += other.moved
    }

    func write(to text: inout PrometheusWriter) {
        text.counters(
            "forwarded", "Requests for sessions of other nodes, by outcome.", "outcome",
            Outcome.allCases.map { ($0.rawValue, outcomes[$0, default: 0]) })
        text.counters(
            "guests", "Requests that came from other nodes, by result.", "result",
            [("answered", served), ("moved", moved)])
    }
}
