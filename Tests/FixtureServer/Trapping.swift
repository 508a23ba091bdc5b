import Reactors

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Ends its process, or never returns (case 151).
struct Trapping: Reactor {
    enum Action: TaggedCodable, Sendable {
        case add
        case trapInMutate
        case trapInReduce
        /// Calls itself until the stack overflows.
        case recurse
        case hang
        /// Adds, then traps in a task.
        case trapLater
    }

    struct State: Codable, Sendable { var count = 0 }

    let initialState = State()

    func mutate(action: Action) -> Effect<Action> {
        switch action {
        case .trapInMutate: preconditionFailure("as it was asked to")
        case .recurse: return .just(Self.depth(of: 1) > 0 ? .add : .hang)
        case .hang: while true { pause() }
        case .trapLater:
            return .concat(
                .just(.add), .run { _ in preconditionFailure("as it was asked to, later") })
        case .add, .trapInReduce: return .just(action)
        }
    }

    func reduce(state: inout State, mutation: Action) {
        if case .trapInReduce = mutation { preconditionFailure("as it was asked to") }
        state.count += 1
    }

    func recovery(of action: Action) -> Recovery { .runAgain }

    private static func depth(of level: Int) -> Int {
        // Never that deep; the compiler does not know.
        guard level < Int.max / 2 else { return 0 }
        return depth(of: level + 1) + level % 7 + 1
    }
}
