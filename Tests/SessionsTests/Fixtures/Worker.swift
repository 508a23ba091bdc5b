import Reactors
import TestStreams

/// Effects of every kind, held at gates by the test.
final class Worker: Reactor {
    enum Action: TaggedCodable, Sendable {
        /// Counts, then starts a step that counts once the gate is open.
        case start(id: String)
        /// Starts a step without a synchronous part.
        case quiet(id: String)
        case latest(value: Int)
        case first
        case cancel(id: String)
        case count
        /// Sends once more after its cancellation.
        case stubborn
        /// Two mutations, then a failure.
        case fail
    }

    enum Mutation: TaggedCodable, Sendable {
        case counted
        case worked(value: Int)
    }

    struct State: Codable, Sendable {
        @Pulse var count = 0
        var worked: [Int] = []
    }

    // Declared although it is the default: in some orders of compilation Swift 6.3.1 does not find
    // the default in time for `Effect` ("failed to produce diagnostic"); seen when this file was
    // compiled late.

    struct Failure: Error {}

    let initialState = State()
    private let gate: Gate
    private let source: AsyncStream<Mutation>?

    init(gate: Gate, source: AsyncStream<Mutation>? = nil) {
        self.gate = gate
        self.source = source
    }

    var sources: [Source] {
        source.map { [.mutations($0)] } ?? []
    }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .start(let id): return .concat(.just(.counted), step(id, .merge, 1))
        case .quiet(let id): return step(id, .merge, 1)
        case .latest(let value): return step("search", .latest, value)
        case .first: return step("page", .first, 1)
        case .cancel(let id): return .cancel(EffectID(id))
        case .count: return .just(.counted)
        case .stubborn: return stubborn()
        case .fail:
            return .concat(.just(.counted), .just(.counted), .error(Failure()), .just(.counted))
        }
    }

    private func step(_ id: String, _ policy: EffectPolicy, _ value: Int) -> Effect<Mutation> {
        let gate = gate
        return .run(id: EffectID(id), policy: policy) { send in
            await gate.pass()
            await send(.worked(value: value))
        }
    }

    private func stubborn() -> Effect<Mutation> {
        let gate = gate
        return .run(id: "stubborn") { send in
            await gate.pass()
            for value in 1...3 { await send(.worked(value: value)) }
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .counted: state.count += 1
        case .worked(let value): state.worked.append(value)
        }
    }
}

extension Post {
    static let count = #"{"type":"count"}"#
    static let first = #"{"type":"first"}"#
    static let fail = #"{"type":"fail"}"#
    static let stubborn = #"{"type":"stubborn"}"#

    static func start(_ id: String) -> String { #"{"type":"start","id":"\#(id)"}"# }
    static func quiet(_ id: String) -> String { #"{"type":"quiet","id":"\#(id)"}"# }
    static func cancel(_ id: String) -> String { #"{"type":"cancel","id":"\#(id)"}"# }
    static func latest(_ value: Int) -> String { #"{"type":"latest","value":\#(value)}"# }
}
