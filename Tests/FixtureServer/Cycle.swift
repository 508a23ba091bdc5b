import Foundation
import Cyclers
import Reactors

/// The Cycler seed's counter, and every way of writing a state (cases 107 to 130).
final class Cycle: ActionCycler {
    enum Action: TaggedCodable, Sendable {
        case increment
        /// Emits an activity that was not announced, and changes nothing.
        case wave(hands: Int)
        /// Writes both in one commit.
        case setBoth(a: Int, b: Int)
        /// Writes both in one batch of one commit.
        case setBatch(a: Int, b: Int)
        /// Writes even an equal value.
        case set(a: Int)
        case setIfChanged(a: Int)
        case setName(name: String?)
        case replace(a: Int, b: Int)
        /// Writes, then throws in the same commit.
        case fail(a: Int)
        /// Commits, then throws outside of a commit.
        case commitThenFail(a: Int)
        /// Reads what it has written, in the same commit.
        case double(a: Int)
        /// Waits until it is released, then increments and emits an activity.
        case hold(name: String)
        case release(name: String)
        /// Waits until it is released, then fails.
        case holdThenFail(name: String)
        case shout(text: String)
    }

    enum Activity: TaggedCodable, Sendable {
        case didReachBigNumber
        case waved(hands: Int)
    }

    struct State: Codable, Sendable {
        var count = 0
        var a = 0
        var b = 0
        var name: String?
        @Pulse var text: String?
    }

    struct Fault: Error {}

    let state: Storage<State> = .init(.init())
    private var gates: [String: AsyncStream<Void>.Continuation] = [:]

    var sources: [Source] { [.actions(topic: Topic<String>("shouts")) { .shout(text: $0) }] }

    func receive(_ action: Action) async throws {
        switch action {
        case .increment: dispatch("increment", "adds one") { increment($0) }
        case .wave(let hands): emit(.waved(hands: hands))
        case .hold(let name): try await hold(name, fails: false)
        case .holdThenFail(let name): try await hold(name, fails: true)
        case .release(let name): gates.removeValue(forKey: name)?.yield()
        default: try write(action)
        }
    }

    private func increment(_ context: CyclerContext<Cycle>) {
        context.commit("count") { state in
            state.updateIfChanged(state.value.count + 1, \.count)
        }
        if context.currentState.count > 10 { context.emit(.didReachBigNumber) }
    }

    private func write(_ action: Action) throws {
        switch action {
        case .set(let a): commit("set") { $0.update(a, \.a) }
        case .setIfChanged(let a): commit { $0.updateIfChanged(a, \.a) }
        case .setName(let name): commit { $0.updateIfChanged(name, \.name) }
        case .setBoth(let a, let b):
            commit { state in
                state.update(a, \.a)
                state.update(b, \.b)
            }
        case .setBatch(let a, let b):
            commit { state in
                state.batchUpdate { state in
                    state.update(a, \.a)
                    state.update(b, \.b)
                }
            }
        case .replace(let a, let b):
            var new = State()
            (new.a, new.b) = (a, b)
            commit { $0.replace(new) }
        case .shout(let text): commit { $0.update(text, \.text) }
        default: try writeInSteps(action)
        }
    }

    private func writeInSteps(_ action: Action) throws {
        switch action {
        case .fail(let a):
            try dispatch("failing") { context in
                try context.commit("doomed") { state in
                    state.update(a, \.a)
                    throw Fault()
                }
            }
        case .commitThenFail(let a):
            commit { $0.update(a, \.a) }
            throw Fault()
        case .double(let a):
            commit { storage in
                storage.update(a, \.a)
                storage.update(storage.value.a + state.value.a, \.b)
            }
        default: break
        }
    }

    private func hold(_ name: String, fails: Bool) async throws {
        let (gate, opener) = AsyncStream<Void>.makeStream()
        gates[name] = opener
        try await dispatch("hold", name) { context in
            var iterator = gate.makeAsyncIterator()
            if await iterator.next(isolation: #isolation) == nil {
                // Reports the cancellation of an ended session's action to the test, through
                // standard error.
                FileHandle.standardError.write(Data("cancelled \(name)\n".utf8))
            }
            if fails { throw Fault() }
            increment(context)
            context.emit(.waved(hands: 2))
        }
    }
}
