import Reactors

/// The fixture of the stream tests: two pulses, an activity, a part that seldom changes, and
/// actions that put any of them into one record or several.
struct Ledger: Reactor {
    enum Action: TaggedCodable, Sendable {
        case set(a: Int)
        /// Assigns both pulses in one mutation.
        case both(a: Int, b: Int)
        /// Assigns no pulse.
        case touch
        /// Emits an activity: a record and no version.
        case say(text: String)
        /// Makes three mutations, two of which assign pulses.
        case several(a: Int)
        /// Makes no mutation.
        case nothing
        /// Changes the part that `?select=` reads.
        case name(text: String?)
        /// Assigns a pulse of this many bytes.
        case fill(bytes: Int)
        /// Replaces the state without assigning.
        case reset
        /// Rejected by `transform`.
        case refuse
        /// Refused after a mutation and an activity, or by `transform`.
        case decline(a: Int, late: Bool)
        /// Ends the session after a mutation.
        case close(a: Int)
    }

    enum Mutation: TaggedCodable, Sendable {
        case set(a: Int?, b: Int?)
        case touch
        case name(text: String?)
        case reset
    }

    enum Activity: TaggedCodable, Sendable {
        case said(text: String)
    }

    struct State: Codable, Sendable {
        @Pulse var a = 0
        @Pulse var b = 0
        var touched = 0
        var name: String?
        @Pulse var filling = ""
    }

    let initialState = State()

    static func tags(of state: State) -> Tags {
        ["a": "\(state.a % 4)", "touched": state.touched > 0 ? "yes" : nil]
    }

    func transform(action: Action) throws -> Action? {
        switch action {
        case .refuse: return nil
        case .decline(let a, late: false): throw Self.refusal(a)
        default: return action
        }
    }

    static func refusal(_ a: Int) -> Refusal { Refusal("declined", "\(a) is declined.") }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .set(let a): .just(.set(a: a, b: nil))
        case .both(let a, let b): .just(.set(a: a, b: b))
        case .touch: .just(.touch)
        case .say(let text): .emit(.said(text: text))
        case .several(let a): .of(.set(a: a, b: nil), .touch, .set(a: nil, b: a))
        case .nothing, .refuse: .empty()
        case .name(let text): .just(.name(text: text))
        case .fill(let bytes): .just(.name(text: String(repeating: "x", count: bytes)))
        case .reset: .just(.reset)
        case .close(let a): .concat(.just(.set(a: a, b: nil)), .end, .just(.touch))
        case .decline(let a, _):
            .concat(
                .just(.set(a: a, b: a)), .emit(.said(text: "declined")),
                .deferred { _ in throw Self.refusal(a) }, .just(.touch))
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .set(let a, let b):
            if let a { state.a = a }
            if let b { state.b = b }
        case .touch: state.touched += 1
        case .name(let text):
            state.name = text
            if let text, text.hasPrefix("x") { state.filling = text }
        case .reset: state = State()
        }
    }
}
