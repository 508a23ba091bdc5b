// `Date` is the only type of Foundation in this module: people name the hour at which something
// ends by a date.
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension ReactorEffect {
    /// Sets a timer: the session receives an action of its own after a time.
    ///
    /// ```swift
    /// case .open: .concat(.just(.open), .schedule("close", after: .seconds(60), .close))
    /// case .extend: .schedule("close", after: .seconds(60), .close)
    /// case .sell: .concat(.just(.sell), .cancel("close"))
    /// ```
    ///
    /// A timer is part of the commit of its action. It outlives the process, if the server has a
    /// journal, and a session that sleeps until then costs no memory. The action comes exactly
    /// once, never early, and passes `transform(action:)` and `mutate` like any other, without a
    /// subject. If it is refused or fails, the action log says so, and the timer is gone. A timer
    /// of the same name replaces this one; ``cancel(_:)`` removes it. The end of the session
    /// removes all of its timers, and a fork has none of them.
    ///
    /// The name is 1 to 64 bytes without control characters. A session has at most 64 timers, and
    /// the JSON of the action is at most as large as a request may be (`--body-limit`). Beyond it
    /// the effect ends with ``EffectLimitReached``, as with ``error(_:)``.
    ///
    /// - Parameters:
    ///   - name: Names the timer within the session.
    ///   - delay: Counted from the commit, in whole milliseconds; at once if it is not positive.
    ///   - action: The action.
    public static func schedule(
        _ name: EffectID, after delay: Duration, _ action: Action
    ) -> ReactorEffect {
        ReactorEffect(part: .schedule(name, .after(delay), action))
    }

    /// Sets a timer: the session receives an action of its own at a date. Otherwise the same as
    /// ``schedule(_:after:_:)``.
    ///
    /// - Parameters:
    ///   - name: Names the timer within the session.
    ///   - date: By the server's clock, in a cluster by that of the database. At once if it is
    ///     over.
    ///   - action: The action.
    public static func schedule(
        _ name: EffectID, at date: Date, _ action: Action
    ) -> ReactorEffect {
        // Rounded up: never early. A date is exact to less than a microsecond; without that one,
        // a date of whole milliseconds could become the next one.
        let exact = (date.timeIntervalSince1970 * 1_000 - 0.001).rounded(.up)
        let milliseconds = exact.isNaN ? 0 : Int64(min(max(exact, 0), Double(TimerTime.limit)))
        return ReactorEffect(part: .schedule(name, .at(milliseconds: milliseconds), action))
    }
}

/// When a timer is due.
@usableFromInline
package enum TimerTime: Sendable, Hashable {
    case after(Duration)
    /// Since 1970 (UTC).
    case at(milliseconds: Int64)

    /// The greatest number of milliseconds: what JavaScript's dates can express (ECMA-262 §21.4.1).
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
    /// Timers of a session.
    package static let count = 64
    /// Bytes of a name.
    package static let nameBytes = 64

    /// Whether a timer may have the name. It is part of a line of a stream.
    package static func admits(_ name: EffectID) -> Bool {
        let bytes = name.name.utf8
        return !bytes.isEmpty && bytes.count <= nameBytes
            && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }
}
