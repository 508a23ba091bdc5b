import ReactorHosting
import Reactors

/// A reactor whose input has members of several kinds.
struct Seat: Reactor {
    struct Input: Codable, Sendable {
        enum Side: String, Codable, CaseIterable { case left, right }

        var row: Int
        var side: Side
        var guest: String?
        var wishes: [String]
    }

    enum Action: TaggedCodable, Sendable { case leave }

    struct State: Codable, Sendable {
        var guest: String?
        var isTaken = true
    }

    let initialState: State

    init(_ input: Input) { initialState = State(guest: input.guest) }

    func reduce(state: inout State, mutation: Action) { state.isTaken = false }
}
