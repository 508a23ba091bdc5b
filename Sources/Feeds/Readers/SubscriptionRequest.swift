/// A request to subscribe to a session's stream.
package struct SubscriptionRequest {
    package enum Start: Sendable {
        /// The stream begins with the present values.
        case snapshot
        /// The stream has later events only.
        case now
        /// The stream begins with the oldest kept event.
        case start
        /// The stream continues after this position, as the client sent it.
        case after(String)

        /// Whether a stream without a snapshot begins with an id. Without it the client could not
        /// continue if its connection ended before the first event.
        var needsID: Bool {
            switch self {
            case .now, .snapshot: true
            case .start, .after: false
            }
        }

        /// Whether such a stream begins with an id if it has no event yet.
        var needsIDIfEmpty: Bool { isStart }

        var isStart: Bool { if case .start = self { true } else { false } }
    }

    /// The connection's token in the service; also the subscriber's id.
    package var token: UInt64
    package var selection: Selection
    package var start: Start
    /// For the action log: the number of notes after the newest record at the time of the request.
    package var notes: UInt32 = 0
    /// Whether the journal has confirmed, since the request, that no other node has continued the
    /// session.
    package var isConfirmed = false
    /// Nil: the reader has no name, and gets no `presence` events.
    package var presence: ReaderPresence?

    package init(
        token: UInt64, selection: Selection, start: Start, presence: ReaderPresence? = nil
    ) {
        self.presence = presence
        self.token = token
        self.selection = selection
        self.start = start
    }
}

/// Why a stream cannot continue at a position; the `reason` of a `reset` event.
package enum ResetReason: String, Error, Sendable, CaseIterable {
    /// Events after the position are no longer kept.
    case trimmed
    /// The position belongs to an earlier session of the same id, or to another session.
    case generation
    /// The session has not reached the position.
    case ahead
    /// The text is not a position.
    case malformed

    /// Whether the position may be one that another owner of the session has reached.
    var mayBeOther: Bool {
        switch self {
        case .generation, .ahead: true
        case .trimmed, .malformed: false
        }
    }
}

/// `If-Match`: a condition for the session's position (RFC 9110 §13.1.1).
package enum PositionCondition: Sendable, Equatable {
    /// `*`: any position; the session must exist.
    case any
    /// One of these positions, as the client sent them, without quotes.
    case oneOf([String])

    package func holds(at position: Position) -> Bool {
        switch self {
        case .any: true
        case .oneOf(let texts): texts.contains(position.text)
        }
    }

    /// Whether it names a position that the session has not had up to `position`.
    package func namesOther(than position: Position) -> Bool {
        guard case .oneOf(let texts) = self else { return false }
        return texts.compactMap { Position($0) }.contains {
            $0.generation != position.generation || $0.number > position.number
        }
    }
}
