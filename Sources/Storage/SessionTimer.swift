/// A timer of a session: at a time it sends an action to its own session.
package struct SessionTimer: Sendable, Equatable {
    /// Unique within the session. As ``ExactText``, because a database compares bytes.
    package var name: ExactText
    /// The number of the action that has set it.
    package var number: UInt64
    /// Milliseconds since 1970 (UTC).
    package var due: Int64
    /// The action as one line of JSON.
    package var content: [UInt8]

    /// Its actions have this `Idempotency-Key` in the action log and in events.
    package var key: String { "timer:\(name.text):\(number)" }

    package init(name: ExactText, number: UInt64, due: Int64, content: [UInt8]) {
        self.name = name
        self.number = number
        self.due = due
        self.content = content
    }
}

/// In the order in which they are due. Of two that are due at the same time, the one of the earlier
/// action is first, and of one action the one with the lesser name.
extension SessionTimer: Comparable {
    package static func < (one: SessionTimer, other: SessionTimer) -> Bool {
        guard (one.due, one.number) == (other.due, other.number) else {
            return (one.due, one.number) < (other.due, other.number)
        }
        return one.name.text.utf8.lexicographicallyPrecedes(other.name.text.utf8)
    }
}

/// A timer that is set in a commit, in place of one of the same name; or removed.
package struct TimerChange: Sendable, Equatable {
    package var session: String
    package var generation: String
    package var name: ExactText
    /// Nil: it is removed.
    package var timer: SessionTimer?

    package init(of key: SessionKey, _ name: ExactText, _ timer: SessionTimer?) {
        (session, generation) = (key.session, key.generation)
        self.name = name
        self.timer = timer
    }
}

/// The place of a timer in the order in which timers are due.
package struct TimerPosition: Sendable, Equatable {
    package static let start = TimerPosition(due: .min, row: 0)

    package var due: Int64
    /// Of the session. Two timers of a session at the same place count as one.
    package var row: Int64

    package init(due: Int64, row: Int64) {
        self.due = due
        self.row = row
    }
}

/// A page of sessions with timers, in the order in which these are due.
package struct FoundTimers: Sendable {
    /// The most timers that are examined for a page.
    package static let limit = 256

    package var sessions: [(session: WorkingSession, due: Int64)] = []
    /// Where the next page begins; nil: there is none.
    package var next: TimerPosition?

    package init() {}
}
