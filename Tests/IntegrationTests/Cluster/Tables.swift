import Cyclers
import Reactors

/// A session with parts.
final class Table: ActionCycler {
    enum Action: TaggedCodable, Sendable {
        case add(number: Int)
        case fail
    }

    struct State: Codable, Sendable {
        var numbers: [Int] = []
        var subjects: [String] = []
    }

    struct Fault: Error {}

    let state: Storage<State> = .init(.init())

    func receive(_ action: Action) async throws {}

    func receive(_ action: Action, subject: String?) async throws {
        switch action {
        case .add(let number):
            commit {
                $0.update($0.value.numbers + [number], \.numbers)
                $0.update($0.value.subjects + [subject ?? "-"], \.subjects)
            }
        case .fail: throw Fault()
        }
    }
}

/// A part of a ``Table``.
final class Seat: ActionCycler, ModularCycler {
    enum Action: TaggedCodable, Sendable {
        case add(number: Int)
        case addAs(number: Int, subject: String)
        case fail
    }

    struct State: Codable, Sendable {
        var done = 0
    }

    let state: Storage<State> = .init(.init())
    let parent = CyclerParent<Table>()

    func receive(_ action: Action) async throws {
        switch action {
        case .add(let number): try await forward(.add(number: number))
        case .addAs(let number, let subject):
            try await forward(.add(number: number), subject: subject)
        case .fail: try await forward(.fail)
        }
        commit { $0.update($0.value.done + 1, \.done) }
    }
}
