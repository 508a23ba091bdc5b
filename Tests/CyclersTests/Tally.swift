import Cyclers
import Reactors
import TestStreams

/// A cycler for tests: two numbers, a name, a list.
final class Tally: ActionCycler {
    enum Action: Sendable, Equatable {
        case add(Int)
        case addLater(Int)
        case addBeforeAndAfter(Int, Int)
        case fail(after: Int)
        case failLater
        case emit(String)
    }

    struct State: Equatable, Sendable {
        var a = 0
        var b = 0
        var name: String?
        var steps: [String] = []

        var sumText: String { "\(a + b)" }
    }

    typealias Activity = String

    struct Refused: Error, Equatable {}

    let state: Storage<State> = .init(.init())
    let gate = Gate()

    func receive(_ action: Action) async throws {
        switch action {
        case .add(let number): add(number)
        case .addLater(let number):
            await gate.pass()
            add(number)
        case .addBeforeAndAfter(let before, let after):
            try await dispatch("before and after") { context in
                context.commit("before") { $0.update($0.value.a + before, \.a) }
                await gate.pass()
                try Task.checkCancellation()
                context.commit("after") { $0.update($0.value.a + after, \.a) }
                context.emit("after")
            }
        case .fail(let number):
            add(number)
            try commit("failing") { state in
                state.update(-1, \.a)
                throw Refused()
            }
        case .failLater:
            await gate.pass()
            throw Refused()
        case .emit(let activity): emit(activity)
        }
    }

    func add(_ number: Int) {
        commit("add") { $0.update($0.value.a + number, \.a) }
    }

    func step(_ name: String) {
        commit(name) { $0.update($0.value.steps + [name], \.steps) }
    }
}
