/// A timer of a session. When it is due, the session receives its action.
package struct SessionTimer: Sendable, Equatable {
    /// Unique within the session. An ``ExactText``, because databases compare bytes.
    package var name: ExactText
    /// The number of the action that has set the timer.
    package var number: UInt64
    /// Milliseconds since 1970 (UTC).
    package var due: Int64
    /// The action as one line of JSON.
    package var content: [UInt8]
    /// How often the session was loaded when the timer was late. If the timer still exists, its
    /// action may have ended these processes.
    package var begun: Int

    /// The `Idempotency-Key` that the timer's action has in the action log and in events: visible
    /// ASCII, as keys of clients are. Other bytes of the name, and `%`, are percent-encoded.
    ///
    /// - Parameter action: The number of the timer's action. Why not ``number``: an effect may wait
    ///   until the timer has fired and then set it again. Both firings would have the same key.
    package func key(of action: UInt64) -> String {
        var key = "timer:"
        for byte in name.text.utf8 {
            let isPlain = (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "%")
            key += isPlain ? String(UnicodeScalar(byte)) : Self.percentEncoded(byte)
        }
        return key + ":\(action)"
    }

    /// A sentence that says why no server can have written this timer; nil if one can.
    var fault: String? {
        let bytes = name.text.utf8
        if bytes.isEmpty || bytes.count > Self.nameLimit
            || !bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f })
        {
            return "its name must have 1 to \(Self.nameLimit) bytes without control characters"
        }
        if number == 0 { return "no action has the number 0" }
        if !(0...Self.dueLimit).contains(due) {
            return "it is due at \(due), but must be due between 0 and \(Self.dueLimit)"
        }
        return nil
    }

    /// The maximum number of bytes of a name.
    package static let nameLimit = 64
    /// The maximum number of timers of a session.
    package static let countLimit = 64
    /// The greatest number of milliseconds that a date of JavaScript can have (ECMA-262 §21.4.1).
    package static let dueLimit: Int64 = 8_640_000_000_000_000

    static let tooMany = "it has more than \(countLimit) timers"

    private static func percentEncoded(_ byte: UInt8) -> String {
        (byte < 0x10 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
    }

    package init(name: ExactText, number: UInt64, due: Int64, content: [UInt8], begun: Int = 0) {
        self.name = name
        self.number = number
        self.due = due
        self.content = content
        self.begun = begun
    }
}

/// The order in which timers are due. Of two that are due at the same time, the one that an earlier
/// action has set is first. Of two that one action has set, the one with the lesser name is first.
extension SessionTimer: Comparable {
    package static func < (one: SessionTimer, other: SessionTimer) -> Bool {
        let (first, second) = ((one.due, one.number), (other.due, other.number))
        guard first == second else { return first < second }
        return one.name.text.utf8.lexicographicallyPrecedes(other.name.text.utf8)
    }
}

extension SessionTimer {
    /// The name of the expiry row (ADR-0084): empty. The name of a timer has at least one byte.
    package static let expiryName = ExactText("")

    /// The expiry row: the session does not expire before this time.
    package static func expiry(at due: Int64) -> SessionTimer {
        SessionTimer(name: expiryName, number: 0, due: due, content: [])
    }
}

/// The kind of rows in the table of timers that a search finds.
package enum TimerKind: Sendable {
    /// Timers, which have actions.
    case actions
    /// Expiry rows.
    case expiries
}

/// The change of a timer in a commit. A timer that is set replaces one of the same name.
package struct TimerChange: Sendable, Equatable {
    package var session: String
    package var generation: String
    package var name: ExactText
    /// Nil if the timer is removed.
    package var timer: SessionTimer?

    package init(of key: SessionKey, _ name: ExactText, _ timer: SessionTimer?) {
        (session, generation) = (key.session, key.generation)
        self.name = name
        self.timer = timer
    }
}

/// The position of a timer in the order in which timers are due.
package struct TimerPosition: Sendable, Equatable {
    package static let start = TimerPosition(due: .min, row: 0)

    package var due: Int64
    /// The row of the session. Two timers of a session at the same position count as one.
    package var row: Int64

    package init(due: Int64, row: Int64) {
        self.due = due
        self.row = row
    }
}

/// A page of sessions with timers, in the order in which the timers are due.
package struct FoundTimers: Sendable {
    /// The maximum number of timers that are examined for a page.
    package static let limit = 256

    package var sessions: [(session: WorkingSession, due: Int64)] = []
    /// Where the next page begins; nil if there is none.
    package var next: TimerPosition?

    package init() {}
}
