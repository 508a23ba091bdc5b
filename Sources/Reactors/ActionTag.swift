/// Names an action within its session, so that all that follows from it can be distinguished.
///
/// The host of the session chooses the numbers; the machine only returns them.
@usableFromInline
package struct ActionTag: Hashable, Sendable {
    /// The number, 0 for ``none``.
    @usableFromInline
    package let number: UInt64

    /// Makes a tag. Requires a number above 0, and one not yet used in this session.
    @inlinable
    package init(_ number: UInt64) { self.number = number }

    /// Not caused by an action: a mutation from a source, a look at the state.
    @inlinable
    package static var none: ActionTag { ActionTag(0) }
}

/// Names one asynchronous step of a session; never used twice in it.
@usableFromInline
package struct RunID: Hashable, Sendable {
    let number: UInt64
}

/// The outcome of an action.
@usableFromInline
package enum Disposition: Hashable, Sendable {
    /// Its synchronous part is applied and reached `version`. When it `isSettled`, no step of it is
    /// running; otherwise the observer gets `settled` once.
    case accepted(version: UInt64, isSettled: Bool)

    /// `transform(action:)` refused it, or failed; nothing happened.
    case rejected

    /// The session has ended; nothing happened.
    case ended
}
