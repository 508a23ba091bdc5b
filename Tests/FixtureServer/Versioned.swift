import Foundation
import Reactors

/// A reactor with the version of its state that `FIXTURE_VERSION` names; it is hosted only with
/// that variable.
struct Versioned: Reactor {
    enum Action: TaggedCodable, Sendable {
        case mark(text: String)
        /// Marks by an effect. In a process with `FIXTURE_HOLDS` the effect never ends.
        case work(text: String)
    }

    enum Mutation: TaggedCodable, Sendable { case mark(text: String) }

    struct State: Codable, Sendable { var marks: [String] = [] }

    struct TooNew: Error {}

    static let present = ProcessInfo.processInfo.environment["FIXTURE_VERSION"].flatMap { Int($0) }
    static let stateVersion = present ?? 1

    let initialState = State()

    static func migrate(state saved: SavedValue) throws -> State {
        guard saved.stateVersion < stateVersion else { throw TooNew() }
        return try saved.decode(State.self)
    }

    static func migrate(mutation saved: SavedValue) throws -> Mutation {
        guard saved.stateVersion < stateVersion else { throw TooNew() }
        return try saved.decode(Mutation.self)
    }

    private static let holds = ProcessInfo.processInfo.environment["FIXTURE_HOLDS"] != nil

    func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .mark(let text): .just(.mark(text: text))
        case .work(let text):
            .run { send in
                if Self.holds { await Self.untilCancelled() }
                await send(.mark(text: text))
            }
        }
    }

    private static func untilCancelled() async {
        let (ends, end) = AsyncStream<Void>.makeStream()
        for await _ in ends {}
        end.finish()
    }

    func recovery(of action: Action) -> Recovery { .runAgain }

    func reduce(state: inout State, mutation: Mutation) {
        if case .mark(let text) = mutation { state.marks.append(text) }
    }
}
