import Foundation
import Reactors

/// Values that JSON cannot represent, or represents in a special way (cases 145, 146, 156, 157).
struct Values: Reactor {
    enum Action: TaggedCodable, Sendable {
        /// Nests the tree deeper.
        case nest(levels: Int)
        /// The same in a task.
        case nestLater(levels: Int)
        /// The quotient is 1 divided by it.
        case divide(by: Double)
        case remember(at: Date)
        case alert(message: String)
    }

    /// Two containers for each level.
    struct Tree: Codable, Sendable {
        var trees: [Tree] = []
    }

    struct State: Codable, Sendable {
        var tree = Tree()
        var quotient = 1.0
        var at: Date?
        @Pulse var alertMessage: String?

        enum CodingKeys: String, CodingKey {
            case tree, quotient, at
            case alertMessage = "alert_message"
        }
    }

    let initialState = State()

    func mutate(action: Action) -> Effect<Action> {
        guard case .nestLater(let levels) = action else { return .just(action) }
        return .run(id: "nest") { send in await send(.nest(levels: levels)) }
    }

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .nest(let levels):
            for _ in 0..<levels { state.tree = Tree(trees: [state.tree]) }
        case .nestLater: break
        case .divide(let by): state.quotient = 1 / by
        case .remember(let at): state.at = at
        case .alert(let message): state.alertMessage = message
        }
    }
}
