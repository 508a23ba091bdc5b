// `Date` is the only type of Foundation in this module. It is here because people name the time at
// which something ends by a date.
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension ReactorEffect {
    /// Sets a timer: after a delay, the session receives an action.
    ///
    /// ```swift
    /// case .open: .concat(.just(.open), .schedule("close", after: .seconds(60), .close))
    /// case .extend: .schedule("close", after: .seconds(60), .close)
    /// case .sell: .concat(.just(.sell), .cancel("close"))
    /// ```
    ///
    /// The commit of the action that sets a timer also stores it. If the server has a journal, the
    /// timer outlives the process, and the session can sleep until then without using memory. The
    /// session receives the timer's action exactly once, never early, and without a subject. The
    /// action passes `transform(action:)` and `mutate` like any other. If it is refused or fails,
    /// the action log says so, and the timer is gone. A later timer of the same name replaces this
    /// one; ``cancel(_:)`` removes it. When a session ends, so do its timers. A fork has none.
    ///
    /// The name has 1 to 64 bytes without control characters. A session has at most 64 timers. The
    /// JSON of their actions is together at most as large as a request may be (`--body-limit`).
    /// Beyond these limits, the effect ends with ``EffectLimitReached``, as with ``error(_:)``.
    ///
    /// - Parameters:
    ///   - name: The name of the timer, unique within the session.
    ///   - delay: The time from now until the timer is due, rounded up to milliseconds. At once if
    ///     it is not positive.
    ///   - action: The action that the session receives.
    public static func schedule(
        _ name: EffectID, after delay: Duration, _ action: Action
    ) -> ReactorEffect {
        ReactorEffect(part: .schedule(name, .after(delay), action))
    }

    /// Sets a timer: at a date, the session receives an action. Otherwise like
    /// ``schedule(_:after:_:)``.
    ///
    /// - Parameters:
    ///   - name: The name of the timer, unique within the session.
    ///   - date: The time at which the timer is due, by the server's clock, or with PostgreSQL by
    ///     that of the database. At once if it is past.
    ///   - action: The action that the session receives.
    public static func schedule(
        _ name: EffectID, at date: Date, _ action: Action
    ) -> ReactorEffect {
        // Rounded up, so that the timer is never early. A date is exact to less than a microsecond.
        // Without subtracting one, a date of whole milliseconds could become the next millisecond.
        let exact = (date.timeIntervalSince1970 * 1_000 - 0.001).rounded(.up)
        let milliseconds = exact.isNaN ? 0 : Int64(min(max(exact, 0), Double(TimerTime.limit)))
        return ReactorEffect(part: .schedule(name, .at(milliseconds: milliseconds), action))
    }
}

/// When a timer is due.
@usableFromInline
package enum TimerTime: Sendable, Hashable {
    case after(Duration)
    /// Milliseconds since 1970 (UTC).
    case at(milliseconds: Int64)

    /// The greatest number of milliseconds that a date of JavaScript can have (ECMA-262 §21.4.1).
    package static let limit: Int64 = 8_640_000_000_000_000

    /// The milliseconds of a delay, rounded up.
    package static func milliseconds(_ delay: Duration) -> Int64 {
        guard delay > .zero else { return 0 }
        guard delay < .milliseconds(limit) else { return limit }
        let (seconds, attoseconds) = delay.components
        return seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

/// The bounds of a session's timers.
package enum TimerBounds {
    /// The maximum number of timers of a session.
    package static let count = 64
    /// The maximum number of bytes of a name.
    package static let nameBytes = 64

    /// Whether a timer may have the name. Control characters are excluded because streams have the
    /// name in a line.
    package static func admits(_ name: EffectID) -> Bool {
        let bytes = name.name.utf8
        return !bytes.isEmpty && bytes.count <= nameBytes
            && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }
}
