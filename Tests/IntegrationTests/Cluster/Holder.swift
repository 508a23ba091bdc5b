import Reactors

/// Effects that do not end by themselves.
final class Holder: Reactor {
    enum Action: TaggedCodable, Sendable {
        case hold
    }

    enum Mutation: TaggedCodable, Sendable {
        case holding
    }

    struct State: Codable, Sendable {
        var holding = 0
    }

    let initialState = State()

    func mutate(action: Action) -> Effect<Mutation> {
        .concat(
            .just(.holding),
            .run { _ in
                let (ends, end) = AsyncStream<Void>.makeStream()
                // Until the task is cancelled.
                for await _ in ends {}
                end.finish()
            })
    }

    func reduce(state: inout State, mutation: Mutation) { state.holding += 1 }
}
