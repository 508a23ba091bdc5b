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

/// A state that cannot be encoded once it has reached 5.
struct BrittleState: Codable, Sendable {
    var sum = 0

    init(sum: Int = 0) { self.sum = sum }

    func encode(to encoder: any Encoder) throws {
        guard sum < 5 else {
            throw EncodingError.invalidValue(
                sum, .init(codingPath: encoder.codingPath, debugDescription: "too large"))
        }
        try ["sum": sum].encode(to: encoder)
    }
}

/// The reactor `growing` as a program has it that cannot save the state.
struct BrittleGrowth: Reactor {
    enum Action: Codable, Sendable { case add(centimetres: Int) }
    let initialState = BrittleState()
    static let stateVersion = 2

    static func migrate(state saved: SavedValue) throws -> BrittleState {
        BrittleState(sum: try saved.decode(OldGrowth.State.self).sum)
    }

    static func migrate(mutation saved: SavedValue) throws -> Action {
        try NewGrowth.migrate(mutation: saved).asBrittle
    }

    func reduce(state: inout BrittleState, mutation: Action) {
        if case .add(let centimetres) = mutation { state.sum += centimetres / 100 }
    }
}

extension NewGrowth.Action {
    fileprivate var asBrittle: BrittleGrowth.Action {
        switch self {
        case .add(let centimetres): .add(centimetres: centimetres)
        }
    }
}
