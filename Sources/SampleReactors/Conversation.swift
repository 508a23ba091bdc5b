public import Reactors

/// A conversation with a model. Its answer arrives token by token, at every reader, and continues
/// after the process has ended.
public struct Conversation: Reactor {
    /// `{"type":"ask","text":"Why?"}`, `{"type":"stop"}`, `{"type":"retry","question":1}`
    public enum Action: TaggedCodable, Sendable {
        /// Asks a question of 1 to 4000 bytes. Refused while an answer is under way.
        case ask(text: String)
        /// Continues the unfinished answer. A timer sends this action. It does nothing if there is
        /// no such answer, or if the answer is running.
        case answer
        /// Stops the answer that is under way.
        case stop
        /// Removes the messages after a question, and begins another answer.
        case retry(question: Int)
    }

    /// A change.
    public enum Mutation: TaggedCodable, Equatable, Sendable {
        /// A question was asked.
        case ask(text: String)
        /// The messages after a question were removed.
        case retry(question: Int)
        /// The answer has one more token.
        case append(token: String)
        /// The model has failed. It is asked again after a pause.
        case fail(problem: String)
        /// The answer is complete, or was stopped.
        case end(phase: Phase)
    }

    /// The phase of the newest answer.
    public enum Phase: String, Codable, Sendable {
        /// `failed`: the answer waits until the model is asked again.
        case idle, answering, failed, stopped, complete
        var isUnderWay: Bool { self == .answering || self == .failed }
    }

    /// A question or an answer.
    public struct Message: Codable, Equatable, Sendable {
        /// The message's number, from 1. The number of a removed message is not used again.
        public var number: Int
        /// `user` or `assistant`.
        public var role: String
        /// The text so far.
        public var text = ""
    }

    /// One token of an answer.
    public struct Token: Codable, Equatable, Sendable {
        /// The number of the answer.
        public var message: Int
        /// The token's place in the answer, from 0.
        public var index: Int
        /// The text.
        public var text: String
    }

    /// The state: the last hundred messages, of which the last may be an answer under way.
    public struct State: Codable, Equatable, Sendable {
        /// The newest token: an event for each.
        @Pulse public var token: Token?
        /// The phase of the newest answer: an event for each that begins or ends.
        @Pulse public var phase = Phase.idle
        /// Questions and answers take turns.
        public var messages: [Message] = []
        /// The number of tokens in the newest answer.
        public var tokens = 0
        /// The number of messages so far.
        public var count = 0
        /// Why the model has failed.
        public var problem: String?
    }

    /// No messages.
    public let initialState = State()
    private let model: Model

    /// Makes a reactor for a session.
    public init(model: Model) { self.model = model }

    /// Only `answer` calls the model. It reads all its input from the state, so it may run twice.
    public func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .ask where state.phase.isUnderWay:
            return .refuse("answering", "Stop the answer before you ask again.")
        case .ask(let text) where !(1...4_000).contains(text.utf8.count):
            return .refuse("bad_length", "A question has 1 to 4000 bytes.")
        case .ask(let text): return begin(with: .ask(text: text))
        case .retry(let number)
        where !state.messages.contains { $0.number == number && $0.role == "user" }:
            return .refuse("unknown_question", "No question has the number \(number).")
        case .retry(let number): return begin(with: .retry(question: number))
        case .stop where state.phase.isUnderWay:
            return .concat(.cancel("answer"), .just(.end(phase: .stopped)))
        case .answer where state.phase.isUnderWay: return answer(state)
        case .stop, .answer: return .empty()
        }
    }

    /// The timer is part of the commit: from then on there will be an answer.
    private func begin(with mutation: Mutation) -> Effect<Mutation> {
        .concat(.cancel("answer"), .just(mutation), .schedule("answer", after: .zero, .answer))
    }

    private func answer(_ state: State) -> Effect<Mutation> {
        .run(id: "answer", policy: .first) { [model] send in
            let prompt = Prompt(state, key: "\(send.key).\(state.tokens)")
            do {
                // Each token is committed before the next one is taken.
                try await model.stream(prompt) { await send(.append(token: $0)) }
            } catch {
                await send(.fail(problem: "\(error)"))
                throw error
            }
            await send(.end(phase: .complete))
        }
    }

    /// After a failure or the end of the process, the answer continues with its next token.
    public func recovery(of action: Action, after interruption: Interruption) -> Recovery {
        guard case .answer = action, interruption.attempts < 8 else { return .abandon }
        return .runAgain(
            after: interruption.error == nil ? .zero : .seconds(1 << interruption.attempts))
    }

    /// Changes the state in place.
    public func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .ask(let text):
            state.add("user", text)
            state.add("assistant")
        case .retry(let number):
            state.messages.removeAll { $0.number > number }
            state.add("assistant")
        case .append(let text): state.append(text)
        case .fail(let problem): (state.phase, state.problem) = (.failed, problem)
        case .end(let phase): (state.phase, state.problem) = (phase, nil)
        }
    }
}

extension Conversation.State {
    fileprivate mutating func add(_ role: String, _ text: String = "") {
        count += 1
        if messages.count == 100 { messages.removeFirst(2) }
        messages.append(Conversation.Message(number: count, role: role, text: text))
        guard role == "assistant" else { return }
        (tokens, phase, problem) = (0, .answering, nil)
    }

    fileprivate mutating func append(_ text: String) {
        guard let last = messages.indices.last else { return }
        messages[last].text += text
        token = Conversation.Token(message: messages[last].number, index: tokens, text: text)
        tokens += 1
        if phase != .answering { (phase, problem) = (.answering, nil) }
    }
}
