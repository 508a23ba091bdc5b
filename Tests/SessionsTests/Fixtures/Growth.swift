import Reactors

/// The reactor `growing` as an earlier program has it.
struct OldGrowth: Reactor {
    enum Action: Codable, Sendable { case add(Int) }
    struct State: Codable, Sendable { var sum = 0 }
    let initialState = State()
    func reduce(state: inout State, mutation: Action) {
        if case .add(let number) = mutation { state.sum += number }
    }
}

/// The same with another form of its state and of its mutations.
struct NewGrowth: Reactor {
    enum Action: Codable, Sendable { case add(centimetres: Int) }
    struct State: Codable, Sendable {
        var sum = 0
        var unit = "m"
    }
    let initialState = State()
    static let stateVersion = 2

    static func migrate(state saved: SavedValue) throws -> State {
        State(sum: try saved.decode(OldGrowth.State.self).sum)
    }

    static func migrate(mutation saved: SavedValue) throws -> Action {
        switch try saved.decode(OldGrowth.Action.self) {
        case .add(let metres): .add(centimetres: metres * 100)
        }
    }

    func reduce(state: inout State, mutation: Action) {
        if case .add(let centimetres) = mutation { state.sum += centimetres / 100 }
    }
}
