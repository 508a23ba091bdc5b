import Reactors

/// Every hook appends its name (cases 44, 45).
struct Stages: Reactor {

    struct Action: Codable, Sendable {
        var names: [String]
    }

    struct Mutation: Codable, Sendable {
        var names: [String]
    }

    struct State: Codable, Sendable {
        var names: [String] = []
    }

    let initialState = State()

    func transform(action: Action) -> Action? {
        Action(names: action.names + ["transformedAction"])
    }

    func mutate(action: Action) -> Effect<Mutation> {
        .just(Mutation(names: action.names + ["mutation"]))
    }

    func transform(mutation: Mutation) -> Mutation? {
        Mutation(names: mutation.names + ["transformedMutation"])
    }

    func reduce(state: inout State, mutation: Mutation) {
        state.names += mutation.names + ["reduce"]
    }

    func transform(state: State) -> State {
        State(names: state.names + ["transformedState"])
    }
}
