/// The results of one value of a topic at the nodes that it was sent to, and the result of
/// all together.
package struct TopicShares: Sendable {
    package enum Share: Sendable, Equatable {
        /// The number of sessions that have committed it. A node that remembers it for later ones
        /// may have none.
        case delivered(sessions: Int, isRemembered: Bool)
        /// The node has no session that listens.
        case unheard
        /// Not a value of the topic's type there.
        case refused
        /// The node has already delivered a value with a later place.
        case late
        /// The node has not answered.
        case unanswered
    }

    package enum Outcome: Sendable, Equatable {
        case published(sessions: Int)
        /// No node has a session that listens.
        case unheard
        /// No session has it.
        case refused
        /// No session has it, because nodes have delivered a later value.
        case late
        /// Some sessions may have it and others not.
        case partly(sessions: Int, missing: Int)
    }

    private var sessions = 0
    private var isDelivered = false
    private var refused = 0
    private var late = 0
    private var unanswered = 0

    package init() {}

    package mutating func add(_ share: Share) {
        switch share {
        case .delivered(let count, let isRemembered):
            sessions = sessions.addingReportingOverflow(max(count, 0)).partialValue
            if count > 0 || isRemembered { isDelivered = true }
        case .unheard: break
        case .refused: refused += 1
        case .late: late += 1
        case .unanswered: unanswered += 1
        }
    }

    package var outcome: Outcome {
        let missing = refused + late + unanswered
        if missing == 0 { return isDelivered ? .published(sessions: sessions) : .unheard }
        if isDelivered || unanswered > 0 { return .partly(sessions: sessions, missing: missing) }
        return refused > 0 ? .refused : .late
    }
}
