internal import Sessions

/// Counts the actions of parts that went to other nodes.
struct PartCounts: Sendable {
    enum Outcome: String, CaseIterable {
        case applied
        /// The parent refused the action, or there is no parent.
        case refused
        /// Nothing was applied: no node accepted the action.
        case unavailable
        case outcomeUnknown = "outcome_unknown"
    }

    private var outcomes: [Outcome: UInt64] = [:]

    mutating func count(_ outcome: PartOutcome) {
        let outcome: Outcome =
            switch outcome {
            case .applied: .applied
            case .failed: .refused
            case .unavailable, .moved: .unavailable
            case .unknown: .outcomeUnknown
            }
        outcomes[outcome, default: 0] += 1
    }

    mutating func add(_ other: PartCounts) {
        for (outcome, count) in other.outcomes { outcomes[outcome, default: 0] += count }
    }

    func write(to text: inout PrometheusWriter) {
        text.counters(
            "part_actions", "Actions of parts whose parents are at other nodes, by outcome.",
            "outcome",
            Outcome.allCases.map { ($0.rawValue, outcomes[$0, default: 0]) })
    }
}
