/// An asynchronous step that has begun: the host starts a task for it.
@usableFromInline
package struct EffectRun<R: Reactor>: Sendable {
    /// The step's id in the session.
    package let id: RunID

    /// The name that the reactor gave it, if any.
    package let effectID: EffectID?

    package let action: ActionTag

    /// The name of the step within its action: the last part of ``Sink/key``. ``EffectStrand``
    /// makes it.
    package let step: String

    /// The code to run. However it ends, the host calls `ended(_:failure:observer:)` once.
    package let work: @Sendable (Sink<R.Mutation, R.Activity>) async throws -> Void
}
