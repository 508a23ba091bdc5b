/// Identifies an action within its session, so that its effects can be attributed to it.
///
/// The session's host chooses the numbers; the core only returns them.
@usableFromInline
package struct ActionTag: Hashable, Sendable {
    /// The number, 0 for ``none``.
    @usableFromInline
    package let number: UInt64

    /// Makes a tag. Requires a number above 0 that was not used before in this session.
    @inlinable
    package init(_ number: UInt64) { self.number = number }

    /// Stands for no action: a mutation from a source, a read of the state.
    @inlinable
    package static var none: ActionTag { ActionTag(0) }
}

/// Identifies one asynchronous step of a session; never used twice in it.
@usableFromInline
package struct RunID: Hashable, Sendable {
    package let number: UInt64
}

@usableFromInline
package enum Disposition: Hashable, Sendable {
    /// The synchronous part is applied and reached `version`. If `isSettled`, no step of the action
    /// is running; otherwise the observer's `settled` is called once.
    case accepted(version: UInt64, isSettled: Bool)

    /// `transform(action:)` rejected the action or failed; it had no effect.
    case rejected

    /// The reactor refused the action, for the reason that ``ReactorCore/takeRefusal()`` returns.
    /// The host rolls the request back.
    case refused

    /// The session has ended; the action had no effect.
    case ended
}
