import Reactors

/// A pulse that has been assigned the maximal number of times (case 5).
struct Edge: Reactor {

    enum Action: TaggedCodable, Sendable {
        case set(number: Int)
    }

    struct State: Codable, Sendable {
        @Pulse var value: Int

        init() {
            _value = Pulse(value: 0, valueUpdatedCount: .max)
        }
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .set(let number): state.value = number
        }
    }
}
