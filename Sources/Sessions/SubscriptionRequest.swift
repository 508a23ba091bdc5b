/// Who wants to read what, from where.
package struct SubscriptionRequest {
    package enum Start {
        /// The present values first.
        case snapshot
        /// Only what comes.
        case now
        /// Everything that is kept first.
        case start
        /// Everything after this position, as the client sent it.
        case after(String)

        /// Whether a stream that has no snapshot begins with an id: the client has none it could
        /// continue from, if it is cut off before the first event.
        var needsID: Bool {
            switch self {
            case .now, .snapshot: true
            case .start, .after: false
            }
        }

        /// Whether it does so if it shows no event at once, which would bring an id.
        var needsIDIfEmpty: Bool { isStart }

        var isStart: Bool { if case .start = self { true } else { false } }
    }

    /// The connection's token in the service, in replies and as a subscriber.
    package var token: UInt64
    package var selection: Selection
    package var start: Start
    /// Of the action log: how many notes behind the newest record had been decided.
    var notes: UInt32 = 0

    package init(token: UInt64, selection: Selection, start: Start) {
        self.token = token
        self.selection = selection
        self.start = start
    }
}

/// Why a position can't be continued; the `reason` of a `reset` event.
package enum ResetReason: String, Error, Sendable {
    /// It fell out of what is kept.
    case trimmed
    /// It belongs to another life of the session, or to another session.
    case generation
    /// The session has not got there.
    case ahead
    /// This service never wrote it.
    case malformed
}

/// `If-Match`: what the session's position has to be (RFC 9110 §13.1.1).
package enum PositionCondition: Sendable, Equatable {
    /// `*`: any, as long as there is the session.
    case any
    /// One of these, as they were sent, without quotes.
    case oneOf([String])

    func holds(at position: Position) -> Bool {
        switch self {
        case .any: true
        case .oneOf(let texts): texts.contains(position.text)
        }
    }
}
