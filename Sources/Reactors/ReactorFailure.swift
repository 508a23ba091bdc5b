/// An error thrown by user code in a session. The session continues; earlier mutations stay.
public struct ReactorFailure: Error, Sendable {
    /// The parts of a session in which user code can fail.
    public enum Place: String, Hashable, Sendable {
        /// `transform(action:)`: the action was rejected.
        case transformAction
        /// `transform(mutation:)`: this mutation was dropped.
        case transformMutation
        /// `transform(state:)`: the state is shown undecorated.
        case transformState
        /// An effect: `.error`, a `.deferred` or `.run` that threw, a limit.
        case effect
        /// An external stream ended with an error, or its action was refused.
        case source
    }

    /// The part that failed.
    public let place: Place

    /// The thrown error.
    public let error: any Error

    /// The name of the asynchronous step that threw, if it has one.
    public let effectID: EffectID?

    /// The name of the source that failed, or whose action was refused.
    public let source: String?

    /// The action that caused it; ``ActionTag/none`` for a source or for reading a state.
    package let action: ActionTag

    /// The asynchronous step that threw; `nil` for the synchronous part of an effect.
    package let run: RunID?

    /// Whether the answer to `received`, the action that is being received, can include this
    /// failure: a hook rejected the action, or its effect failed before the first wait.
    package func isOfSynchronousPart(of received: ActionTag) -> Bool {
        guard action == received, action != .none else { return false }
        return place == .transformAction || (place == .effect && run == nil)
    }

    @usableFromInline
    package init(
        place: Place, error: any Error, action: ActionTag, run: RunID? = nil,
        effectID: EffectID? = nil, source: String? = nil
    ) {
        self.place = place
        self.error = error
        self.action = action
        self.run = run
        self.effectID = effectID
        self.source = source
    }
}
