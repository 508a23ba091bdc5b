package import Sessions

/// The traffic of one loop with other nodes. Sums of several loops are added.
package struct LinkCounts: Sendable {
    /// How a request of this node's clients for a session of another node ended.
    package enum Forwarded: String, CaseIterable, Sendable {
        /// Another node has answered.
        case answered
        /// This node has served the request after all.
        case here
        case unreachable
        case outcomeUnknown = "outcome_unknown"
    }

    /// How an action of a part ended if the part's parent is at another node.
    package enum Part: String, CaseIterable, Sendable {
        case applied
        /// The parent refused the action, or there is no parent.
        case refused
        /// Nothing was applied: no node accepted the action.
        case unavailable
        case outcomeUnknown = "outcome_unknown"
    }

    package var sentBytes: UInt64 = 0
    package private(set) var forwarded: [Forwarded: UInt64] = [:]
    package private(set) var parts: [Part: UInt64] = [:]
    /// Requests of other nodes that were served here.
    package private(set) var served: UInt64 = 0
    /// Requests of other nodes whose answer only named the owner of the session.
    package private(set) var moved: UInt64 = 0
    /// Hints that were sent to nodes that follow sessions of this node.
    package var sentHints: UInt64 = 0
    /// Hints about sessions that this node follows.
    package var receivedHints: UInt64 = 0

    package init() {}

    package mutating func count(_ outcome: Forwarded) { forwarded[outcome, default: 0] += 1 }

    package mutating func count(_ outcome: PartOutcome) {
        let outcome: Part =
            switch outcome {
            case .applied: .applied
            case .failed: .refused
            case .unavailable, .moved: .unavailable
            case .unknown: .outcomeUnknown
            }
        parts[outcome, default: 0] += 1
    }

    /// - Parameter isServed: Whether the request was served here. False: the answer only named
    ///   the owner.
    package mutating func countIncoming(isServed: Bool) {
        if isServed { served += 1 } else { moved += 1 }
    }

    package mutating func add(_ other: LinkCounts) {
        sentBytes += other.sentBytes
        forwarded.merge(other.forwarded, uniquingKeysWith: +)
        parts.merge(other.parts, uniquingKeysWith: +)
        served += other.served
        moved += other.moved
        sentHints += other.sentHints
        receivedHints += other.receivedHints
    }
}
