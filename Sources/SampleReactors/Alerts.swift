public import Reactors

/// The original example: a message that is shown each time it is set, even to an equal message.
public final class Alerts: Reactor {
    /// `{"type":"alert","message":"Hello"}`, `{"type":"doSomeAction"}`
    public enum Action: TaggedCodable, Sendable {
        /// Shows a message; nil removes it.
        case alert(message: String?)
        /// Does something unrelated to messages.
        case doSomeAction
    }

    /// A change.
    public enum Mutation: TaggedCodable, Sendable {
        /// Sets the message.
        case setAlertMessage(message: String?)
        /// Increments the count.
        case countAction
    }

    /// The state.
    public struct State: Codable, Sendable {
        /// The message to show.
        @Pulse public var alertMessage: String?
        /// The number of `doSomeAction` so far: another field, whose changes show no message.
        public var actions = 0
    }

    /// No message.
    public let initialState = State()

    /// Makes a reactor for a session.
    public init() {}

    /// Maps every action to one mutation.
    public func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .alert(let message): .just(.setAlertMessage(message: message))
        case .doSomeAction: .just(.countAction)
        }
    }

    /// Changes the state in place.
    public func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .setAlertMessage(let message): state.alertMessage = message
        case .countAction: state.actions += 1
        }
    }
}
