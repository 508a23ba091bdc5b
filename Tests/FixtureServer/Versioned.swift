import Foundation
import Reactors

/// A reactor with the version of its state that `FIXTURE_VERSION` names; it is hosted only with that
/// variable.
struct Versioned: Reactor {
    enum Action: TaggedCodable, Sendable { case mark(text: String) }

    struct State: Codable, Sendable { var marks: [String] = [] }

    struct TooNew: Error {}

    static let present = ProcessInfo.processInfo.environment["FIXTURE_VERSION"].flatMap { Int($0) }
    static let stateVersion = present ?? 1

    let initialState = State()

    static func migrate(state saved: SavedValue) throws -> State {
        guard saved.stateVersion < stateVersion else { throw TooNew() }
        return try saved.decode(State.self)
    }

    static func migrate(mutation saved: SavedValue) throws -> Action {
        guard saved.stateVersion < stateVersion else { throw TooNew() }
        return try saved.decode(Action.self)
    }

    func mutate(action: Action) -> Effect<Action> { .just(action) }

    func reduce(state: inout State, mutation: Action) {
        if case .mark(let text) = mutation { state.marks.append(text) }
    }
}
