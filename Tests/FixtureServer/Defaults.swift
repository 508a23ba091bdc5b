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
