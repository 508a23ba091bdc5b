import Foundation
import Cyclers
import Reactors

/// The Cycler seed's counter, and some ways of writing a state (cases 107 to 130).
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
        /// Writes, then throws in the same commit.
        case fail(a: Int)
        /// Commits, then throws outside of a commit.
        case commitThenFail(a: Int)
        /// Waits until it is released, then increments and emits an activity.
        case hold(name: String)
        case release(name: String)
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
        case .hold(let name): await hold(name)
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
        default: break
        }
    }

    private func hold(_ name: String) async {
        let (gate, opener) = AsyncStream<Void>.makeStream()
        gates[name] = opener
        await dispatch("hold", name) { context in
            var iterator = gate.makeAsyncIterator()
            if await iterator.next(isolation: #isolation) == nil {
                // Reports the cancellation of an ended session's action to the test, through
                // standard error.
                FileHandle.standardError.write(Data("cancelled \(name)\n".utf8))
            }
            increment(context)
            context.emit(.waved(hands: 2))
        }
    }
}
