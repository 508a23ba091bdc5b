public import Reactors

/// A room: messages are state, typing is an activity, which is sent and not stored.
public struct Chat: Reactor {
    /// `{"type":"say","author":"ada","text":"Hi"}`, `{"type":"typing","author":"ada"}`
    public enum Action: TaggedCodable, Sendable {
        /// Says something. An empty text is rejected.
        case say(author: String, text: String)
        /// Reports that a participant is typing.
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
        /// A participant is typing.
        case typing(author: String)
    }

    /// One message.
    public struct Message: Codable, Sendable, Equatable {
        /// The message's number, from 1.
        public var number: Int
        /// The author of the message.
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
        /// The number of messages so far.
        public var count = 0
    }

    /// An empty room.
    public let initialState = State()

    /// Makes a reactor for a session.
    public init() {}

    /// Rejects an empty message.
    public func transform(action: Action) -> Action? {
        if case .say(_, let text) = action, text.allSatisfy(\.isWhitespace) { return nil }
        return action
    }

    /// Numbers a message by the state to which it is added.
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
