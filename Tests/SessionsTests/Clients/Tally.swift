import Reactors

/// The fixture of the simulated clients: its state is the list of everything that was applied, so
/// that an action that is missing, doubled or out of order is visible in any state.
struct Tally: Reactor {
    /// Every action has a mark of its own.
    enum Action: TaggedCodable, Sendable, Equatable {
        /// One mutation.
        case add(mark: Int)
        /// Two mutations, with an activity between them.
        case pair(mark: Int)
        /// Another mutation if the list is too long: the result depends on the state.
        case limited(mark: Int, limit: Int)
        /// An activity: a record without a version.
        case say(mark: Int)
        /// No record.
        case nothing(mark: Int)
        /// Rejected by `transform`.
        case refuse(mark: Int)
        /// Refused after a mutation.
        case decline(mark: Int)
    }

    enum Mutation: TaggedCodable, Sendable {
        case append(entry: Int)
    }

    enum Activity: TaggedCodable, Sendable {
        case said(mark: Int)
    }

    struct State: Codable, Sendable, Equatable {
        var entries: [Int] = []
        @Pulse var last = 0
        /// Assigned together with `last` by every third entry: two events of one record.
        @Pulse var third = 0

        static func == (left: State, right: State) -> Bool { left.entries == right.entries }
    }

    let initialState = State()

    func transform(action: Action) -> Action? {
        if case .refuse = action { return nil }
        return action
    }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        if case .say(let mark) = action { return .emit(.said(mark: mark)) }
        if case .decline(let mark) = action {
            return .concat(.just(.append(entry: 4 * mark)), .refuse("declined", "\(mark)"))
        }
        let entries = action.entries(after: state.entries)
        let effects = entries.map { Effect<Mutation>.just(.append(entry: $0)) }
        guard entries.count == 2 else { return .concat(effects) }
        return .concat(effects[0], .emit(.said(mark: action.mark)), effects[1])
    }

    func reduce(state: inout State, mutation: Mutation) {
        guard case .append(let entry) = mutation else { return }
        state.entries.append(entry)
        state.last = entry
        if entry.isMultiple(of: 3) { state.third = entry }
    }
}

extension Tally.Action {
    var mark: Int {
        switch self {
        case .add(let mark), .pair(let mark), .limited(let mark, _), .say(let mark),
            .nothing(let mark), .refuse(let mark), .decline(let mark):
            mark
        }
    }

    /// The entries that the action appends to these.
    func entries(after entries: [Int]) -> [Int] {
        switch self {
        case .add(let mark): [4 * mark]
        case .pair(let mark): [4 * mark + 1, 4 * mark + 2]
        case .limited(let mark, let limit): [entries.count < limit ? 4 * mark : 4 * mark + 3]
        case .say, .nothing, .refuse, .decline: []
        }
    }

    /// All entries that the action can append to some state.
    var possibleEntries: [Int] {
        switch self {
        case .limited(let mark, _): [4 * mark, 4 * mark + 3]
        case .decline(let mark): [4 * mark]
        default: entries(after: [])
        }
    }
}
