import Reactors

/// Its hook copies the text, changes it, or keeps it.
struct Rewriter: Reactor {
    enum Action: TaggedCodable, Sendable {
        case renew(text: String)
        case shout(text: String)
        case leave(text: String)
    }

    struct State: Codable, Sendable {}

    let initialState = State()

    func transform(action: Action) -> Action? {
        switch action {
        case .renew(let text): .renew(text: String(text.reversed().reversed()))
        case .shout(let text): .shout(text: text.uppercased())
        case .leave: action
        }
    }

    func mutate(action: Action) -> Effect<Action> { .none }
}
