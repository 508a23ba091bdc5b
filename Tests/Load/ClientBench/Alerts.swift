import Reactors

/// The sample reactor `alerts`, as a client has it.
struct Alerts: Reactor {
    enum Action: TaggedCodable {
        case alert(message: String?)
    }
    struct State: Codable {
        @Pulse var alertMessage: String?
    }
    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        if case .alert(let message) = mutation { state.alertMessage = message }
    }
}
