import Reactors

/// An effect that is held until an action releases it, so that the order of events needs no clock
/// (cases 69 to 75).
final class Errands: Reactor {
    enum Action: TaggedCodable, Sendable {
        /// Waits until `open`; the latest wins.
        case search(text: String)
        case open
        case note(text: String)
        case present(route: String?)
    }

    enum Mutation: TaggedCodable, Sendable {
        case found(text: String)
        case noted(text: String)
        case routed(route: String?)
    }

    struct State: Codable, Sendable {
        var notes: [String] = []
        var found: [String] = []
        var route: String? = "home"
    }

    let initialState = State()
    private var gate: AsyncStream<Void>.Continuation?

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .search(let text): search(text)
        case .open: open()
        case .note(let text): .just(.noted(text: text))
        case .present(let route): .just(.routed(route: route))
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .found(let text): state.found.append(text)
        case .noted(let text): state.notes.append(text)
        case .routed(let route): state.route = route
        }
    }

    private func search(_ text: String) -> Effect<Mutation> {
        let (stream, opener) = AsyncStream<Void>.makeStream()
        gate = opener
        return .run(id: "search", policy: .latest) { send in
            for await _ in stream { break }
            await send(.found(text: text))
        }
    }

    private func open() -> Effect<Mutation> {
        gate?.yield()
        return .empty()
    }
}
