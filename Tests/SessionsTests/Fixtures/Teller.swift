import Reactors

/// A Cycler that waits at gates of the test.
final class Teller: ActionCycler {
    enum Action: TaggedCodable, Sendable {
        case add(number: Int)
        /// Adds, waits, adds again, tells.
        case addLater(number: Int)
        /// Adds, then fails.
        case addThenFail(number: Int)
        /// Fails when it has waited.
        case failLater
        case twice(number: Int)
        case nothing
        case say(text: String)
        case shout(text: String)
    }

    enum Activity: TaggedCodable, Sendable {
        case said(text: String)
    }

    struct State: Codable, Sendable {
        var sum = 0
        @Pulse var text: String?
    }

    struct Fault: Error {}

    let state: Storage<State> = .init(.init())
    private let gate: Gate
    /// Of this instance, not of the state.
    private var adds = 0

    init(gate: Gate = Gate()) {
        self.gate = gate
    }

    func receive(_ action: Action) async throws {
        switch action {
        case .add(let number): add(number)
        case .addLater(let number): await addLater(number)
        case .addThenFail(let number):
            add(number)
            throw Fault()
        case .failLater:
            await gate.pass()
            throw Fault()
        case .twice(let number):
            add(number)
            add(number)
        case .nothing: break
        case .say(let text): emit(.said(text: text))
        case .shout(let text): commit { $0.update(text, \.text) }
        }
    }

    private func add(_ number: Int) {
        adds += 1
        commit("add") { $0.update($0.value.sum + number, \.sum) }
    }

    private func addLater(_ number: Int) async {
        add(number)
        await dispatch("later") { context in
            await gate.pass()
            context.commit { $0.update($0.value.sum + number, \.sum) }
            context.emit(.said(text: "later"))
        }
    }
}
