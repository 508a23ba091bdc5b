import Reactors

/// Every hook changes something, and each can be made to fail.
struct Decorated: Reactor {
    enum Action: TaggedCodable, Sendable {
        case add(number: Int)
        case poison(number: Int)
    }

    struct State: Codable, Sendable {
        @Pulse var sum = 0
        var shown = 0
    }

    struct Poisoned: Error {}

    let initialState: State

    init(sum: Int = 0) {
        var state = State()
        state.shown = sum
        initialState = state
    }

    func transform(action: Action) throws -> Action? {
        if case .poison(1) = action { throw Poisoned() }
        return action
    }

    /// Drops zero; changes a hundred to one.
    func transform(mutation: Action) throws -> Action? {
        switch mutation {
        case .poison(2): throw Poisoned()
        case .add(0): nil
        case .add(100): .add(number: 1)
        default: mutation
        }
    }

    /// `shown` is incremented in what readers see; at minus one the transform fails.
    func transform(state: State) throws -> State {
        guard state.sum != -1, state.shown != -1 else { throw Poisoned() }
        var state = state
        state.shown += 1
        return state
    }

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .add(let number), .poison(let number): state.sum = number
        }
    }
}

extension Post {
    static func add(_ number: Int) -> String { #"{"type":"add","number":\#(number)}"# }
    static func poison(_ number: Int) -> String { #"{"type":"poison","number":\#(number)}"# }
}
