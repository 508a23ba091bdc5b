/// Something that user code in a session threw. The session lives; mutations before it stay.
public struct ReactorFailure: Error, Sendable {
    /// Where in the session user code can fail.
    public enum Place: String, Hashable, Sendable {
        /// `transform(action:)`: the action was rejected.
        case transformAction
        /// `transform(mutation:)`: this mutation was dropped.
        case transformMutation
        /// `transform(state:)`: the state is shown undecorated.
        case transformState
        /// An effect: `.error`, a `.deferred` or `.run` that threw, a limit.
        case effect
        /// A stream from outside ended with an error.
        case source
    }

    /// Where it happened.
    public let place: Place

    /// What was thrown.
    public let error: any Error

    /// The action that led to it; ``ActionTag/none`` for a source or for looking at a state.
    package let action: ActionTag

    @usableFromInline
    package init(place: Place, error: any Error, action: ActionTag) {
        self.place = place
        self.error = error
        self.action = action
    }
}
