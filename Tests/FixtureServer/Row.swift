import Cyclers
import Reactors

/// A part of a `Cycle`, to which it forwards its increments (case 133).
final class Row: ActionCycler, ModularCycler {
    enum Action: TaggedCodable, Sendable {
        case mark
        case forward
        case forwardFailure
    }

    struct State: Codable, Sendable {
        var isMarked = false
    }

    let state: Storage<State> = .init(.init())
    let parent = CyclerParent<Cycle>()

    func receive(_ action: Action) async throws {
        switch action {
        case .mark: commit { $0.update(true, \.isMarked) }
        case .forward: try await forward(.increment)
        case .forwardFailure: try await forward(.fail(a: 1))
        }
    }
}

/// A part of a `Row`, which is a part itself: `table--row--cell`.
final class Cell: ActionCycler, ModularCycler {
    enum Action: TaggedCodable, Sendable {
        case forward
    }

    struct State: Codable, Sendable {
        var isMarked = false
    }

    let state: Storage<State> = .init(.init())
    let parent = CyclerParent<Row>()

    func receive(_ action: Action) async throws {
        switch action {
        case .forward: try await forward(.forward)
        }
    }
}
