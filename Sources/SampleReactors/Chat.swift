public import Reactors

/// A room: messages are state, who is typing is an activity, which is sent and not stored.
public struct Chat: Reactor {
    /// `{"type":"say","author":"ada","text":"Hi"}`, `{"type":"typing","author":"ada"}`
    public enum Action: TaggedCodable, Sendable {
        /// Says something. An empty text is turned down.
        case say(author: String, text: String)
        /// Reports that somebody is typing.
        case typing(author: String)
    }

    /// A change.
    public enum Mutation: TaggedCodable, Sendable {
        /// Adds a message.
        case append(Message)

        enum AppendCodingKeys: String, CodingKey { case _0 = "message" }
    }

    /// An event that is not stored in the state.
    public enum Activity: TaggedCodable, Sendable {
        /// Somebody is typing.
        case typing(author: String)
    }

    /// One thing that was said.
    public struct Message: Codable, Sendable, Equatable {
        /// Counts from 1.
        public var number: Int
        /// Who said it.
        public var author: String
        /// The text.
        public var text: String
    }

    /// The state: the last hundred messages, and the newest as an event.
    public struct State: Codable, Sendable {
        /// The newest message.
        @Pulse public var newest: Message?
        /// The last hundred, oldest first.
        public var messages: [Message] = []
        /// How many there have been.
        public var count = 0
    }

    /// An empty room.
    public let initialState = State()

    /// Makes one for a session.
    public init() {}

    /// Turns down what says nothing.
    public func transform(action: Action) -> Action? {
        if case .say(_, let text) = action, text.allSatisfy(\.isWhitespace) { return nil }
        return action
    }

    /// A message is numbered by the state it is added to.
    public func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .say(let author, let text):
            .just(.append(Message(number: state.count + 1, author: author, text: text)))
        case .typing(let author): .emit(.typing(author: author))
        }
    }

    /// Changes the state in place.
    public func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .append(let message):
            state.newest = message
            state.count += 1
            state.messages.append(message)
            if state.messages.count > 100 { state.messages.removeFirst() }
        }
    }
}
