import Reactors

/// Writes no `mutate`; its actions are its mutations (case 54).
struct Passing: Reactor {

    enum Action: TaggedCodable, Sendable {
        case add(number: Int)
    }

    struct State: Codable, Sendable {
        var sum = 0
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .add(let number): state.sum += number
        }
    }
}

/// Writes no `mutate`, and its actions are not its mutations (case 54).
struct Idle: Reactor {

    enum Action: TaggedCodable, Sendable {
        case add(number: Int)
    }

    enum Mutation: TaggedCodable, Sendable {
        case added(number: Int)
    }

    struct State: Codable, Sendable {
        var sum = 0
    }

    let initialState = State()
}

/// Writes no `reduce` (case 55).
struct Unreduced: Reactor {

    enum Action: TaggedCodable, Sendable {
        case add(number: Int)
    }

    struct State: Codable, Sendable {
        var sum = 7
    }

    let initialState = State()
}
