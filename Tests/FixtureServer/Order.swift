import Foundation
import Reactors

/// A reactor with tags. With `FIXTURE_RETAG`, a deployment whose `tags(of:)` has changed.
struct Order: Reactor {
    enum Action: TaggedCodable, Sendable {
        case set(status: String)
        /// Changes no tag.
        case note
    }

    struct State: Codable, Sendable {
        var status = "open"
        var notes = 0
    }

    let initialState = State()

    private static let hasChanged = ProcessInfo.processInfo.environment["FIXTURE_RETAG"] != nil

    static func tags(of state: State) -> Tags {
        hasChanged
            ? ["status": state.status, "noted": state.notes > 0 ? "yes" : "no"]
            : ["status": state.status]
    }

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .set(let status): state.status = status
        case .note: state.notes += 1
        }
    }
}
