import Reactors

/// Fails in every place where a reactor may (cases 77, 78, 89).
struct Failing: Reactor {

    struct Fault: Error {}

    enum Action: TaggedCodable, Sendable {
        case add(number: Int)
        /// Adds, then fails.
        case addThenFail(number: Int)
        /// Fails in a task, after it has added.
        case addThenFailLater(number: Int)
        /// Adds, and ends with a task that does nothing.
        case addThenEnd(number: Int)
        /// Fails before `mutate` gets it.
        case poison
        /// Adds, and is refused.
        case refuse(number: Int)
        /// Adds, and ends the session.
        case close(number: Int)
        /// Fails in a task, and is begun again in an hour.
        case retry(number: Int)
    }

    struct State: Codable, Sendable {
        @Pulse var sum = 0
    }

    let initialState = State()

    func recovery(of action: Action) -> Recovery {
        if case .retry = action { .runAgain(after: .seconds(3_600)) } else { .abandon }
    }

    func transform(action: Action) throws -> Action? {
        if case .poison = action { throw Fault() }
        return action
    }

    func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .add, .poison: .just(action)
        case .addThenFail(let number):
            .concat(.just(.add(number: number)), .error(Fault()), .just(.add(number: 1_000)))
        case .addThenFailLater(let number):
            .run(id: "later") { send in
                await send(.add(number: number))
                throw Fault()
            }
        case .refuse(let number):
            .concat(
                .just(.add(number: number)), .refuse("not_now", "Not now: \(number) is too much."))
        case .close(let number):
            .concat(.just(.add(number: number)), .end, .just(.add(number: 1_000)))
        case .retry(let number):
            .concat(.just(.add(number: number)), .run { _ in throw Fault() })
        case .addThenEnd(let number):
            .concat(.just(.add(number: number)), .empty(), .run { _ in })
        }
    }

    func reduce(state: inout State, mutation: Action) {
        if case .add(let number) = mutation { state.sum += number }
    }
}
