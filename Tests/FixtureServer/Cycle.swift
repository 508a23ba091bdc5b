import Reactors

/// The Cycler seed's counter: beyond ten, an increment is also told as an activity (cases 125 to
/// 129).
struct Cycle: Reactor {
    enum Action: TaggedCodable, Sendable {
        case increment
        /// Tells an activity that was not announced, and changes nothing.
        case wave(hands: Int)
    }

    enum Mutation: TaggedCodable, Sendable {
        case incremented
    }

    enum Activity: TaggedCodable, Sendable {
        case didReachBigNumber
        case waved(hands: Int)
    }

    struct State: Codable, Sendable {
        var count = 0
    }

    let initialState = State()

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .increment:
            state.count < 10
                ? .just(.incremented)
                : .concat(.just(.incremented), .emit(.didReachBigNumber))
        case .wave(let hands): .emit(.waved(hands: hands))
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        state.count += 1
    }
}
