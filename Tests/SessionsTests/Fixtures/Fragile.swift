import Cyclers
import Reactors
import TestStreams

/// Its state, its mutations and its activities can be made impossible to encode.
final class Fragile: Reactor {
    enum Action: TaggedCodable, Sendable {
        case mark(number: Int)
        /// The mutation has a number that is not finite.
        case divide
        /// The mutation can be encoded, the state that it makes cannot.
        case spoil
        /// Nests one more object.
        case nest
        /// The activity has a number that is not finite.
        case announce
        /// Marks once the gate is open; cancels a step that waits already.
        case wait(number: Int)
        case cancel
        /// Marks twice, and spoils the state in between, once the gate is open.
        case spoilLater
        /// The same, after a step.
        case spoilAfter
        /// The same, without a wait.
        case spoilBetween
    }

    enum Mutation: TaggedCodable, Sendable {
        case mark(number: Int)
        case divide(quotient: Double)
        case spoil
        case nest
    }

    enum Activity: TaggedCodable, Sendable {
        case announced(quotient: Double)
    }

    struct State: Codable, Sendable {
        var marks: [Int] = []
        @Pulse var quotient = 0.5
        var tree: [Tree] = []
    }

    struct Tree: Codable, Sendable {
        var trees: [Tree]
    }

    let initialState = State()
    private let gate: Gate
    private let actions: [Action]

    var sources: [Source] {
        let actions = actions
        return actions.isEmpty
            ? []
            : [
                .actions(
                    AsyncStream { stream in
                        for action in actions { stream.yield(action) }
                        stream.finish()
                    })
            ]
    }

    /// - Parameter actions: of its source.
    init(gate: Gate = Gate(), actions: [Action] = []) {
        self.gate = gate
        self.actions = actions
    }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        let gate = gate
        switch action {
        case .mark(let number): return .just(.mark(number: number))
        case .divide: return .just(.divide(quotient: .infinity))
        case .spoil: return .just(.spoil)
        case .nest: return .just(.nest)
        case .announce: return .emit(.announced(quotient: -.infinity))
        case .wait(let number):
            return .concat(
                .run(id: "wait", policy: .latest) { send in
                    await gate.pass()
                    await send(.mark(number: number))
                },
                .just(.mark(number: -number)))
        case .cancel: return .cancel("wait")
        case .spoilLater:
            return .run { send in
                await gate.pass()
                await send(.mark(number: 1))
                await send(.spoil)
                await send.emit(.announced(quotient: .nan))
                await send(.mark(number: 2))
            }
        case .spoilAfter:
            return .concat(
                .run { _ in await gate.pass() }, .just(.mark(number: 1)), .just(.spoil),
                .just(.mark(number: 2)))
        case .spoilBetween: return .of(.mark(number: 1), .spoil, .mark(number: 2))
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .mark(let number): state.marks.append(number)
        case .divide(let quotient): state.quotient = quotient
        case .spoil: state.quotient = .nan
        case .nest: state.tree = [Tree(trees: state.tree)]
        }
    }
}

extension Post {
    static func plain(_ type: String) -> String { #"{"type":"\#(type)"}"# }
    static func mark(_ number: Int) -> String { #"{"type":"mark","number":\#(number)}"# }
    static func wait(_ number: Int) -> String { #"{"type":"wait","number":\#(number)}"# }
}

/// The same reactor as a Cycler.
final class FragileCycler: ActionCycler {
    enum Action: TaggedCodable, Sendable {
        case mark(number: Int)
        case spoil
        case announce
        /// Marks, then marks and spoils the state once the gate is open, and marks again.
        case spoilLater
        /// Spoils the state, and marks once the gate is open.
        case spoilAndWait
    }

    typealias Activity = Fragile.Activity
    typealias State = Fragile.State

    let state: Storage<State> = .init(.init())
    private let gate: Gate

    init(gate: Gate) {
        self.gate = gate
    }

    func receive(_ action: Action) async throws {
        switch action {
        case .mark(let number): mark(number)
        case .spoil:
            mark(7)
            spoil()
        case .announce: emit(.announced(quotient: .nan))
        case .spoilLater:
            mark(1)
            await gate.pass()
            mark(2)
            spoil()
            await gate.pass()
            mark(3)
        case .spoilAndWait:
            spoil()
            await gate.pass()
            mark(4)
        }
    }

    private func mark(_ number: Int) {
        commit { $0.update($0.value.marks + [number], \.marks) }
    }

    private func spoil() {
        commit { $0.update(.nan, \.quotient) }
    }
}
