import Cyclers
import Reactors
import Synchronization
import TestStreams

/// A Cycler that waits at gates of the test.
final class Cashier: ActionCycler {
    enum Action: TaggedCodable, Sendable {
        case add(number: Int)
        /// Adds, waits, adds again and emits an activity.
        case addLater(number: Int)
        /// Adds, then fails.
        case addThenFail(number: Int)
        /// Waits, then fails.
        case failLater
        /// Adds, waits until that is saved, then acts on the world outside.
        case charge(number: Int)
        /// Waits, then acts on the world outside; it commits nothing.
        case call
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
    private let world: World
    private let stream: AsyncStream<Action>?
    /// Belongs to the instance, not to the state.
    private var adds = 0

    init(gate: Gate = Gate(), world: World = World(), stream: AsyncStream<Action>? = nil) {
        self.gate = gate
        self.world = world
        self.stream = stream
    }

    var sources: [Source] { stream.map { [.actions($0, name: "orders")] } ?? [] }

    func recovery(of action: Action) -> Recovery {
        if case .charge = action { .runAgain } else { .abandon }
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
        case .charge(let number): await charge(number)
        case .call:
            await Task.yield()
            world.add("called")
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

    private func charge(_ number: Int) async {
        await dispatch("charge") { context in
            add(number)
            world.add(await context.saved() ? "charged \(number)" : "lost \(number)")
            context.emit(.said(text: "charged"))
        }
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

/// Records events outside the session.
final class World: Sendable {
    private let log = Mutex<[String]>([])

    func add(_ event: String) { log.withLock { $0.append(event) } }

    var pendingEvents: [String] { log.withLock { $0 } }
}
