import Cyclers
import ReactorHosting
import Reactors
import Tracing

/// Its effects trace work of their own.
struct Walker: Reactor {
    enum Action: TaggedCodable, Sendable {
        case rest
        /// Two steps of an effect; the second begins when the first one has ended.
        case walk
        case fail
        case wait
        case stop
    }

    struct Fault: Error {}

    struct State: Codable, Sendable {
        @Pulse var steps = 0
    }

    let initialState = State()
    let tracer: any Tracer

    func mutate(state: State, action: Action) -> Effect<Action> {
        switch action {
        case .rest: .just(.rest)
        case .walk: .concat(step("left"), step("right"))
        case .fail: .run(id: "fail") { _ in throw Fault() }
        case .wait: .run(id: "wait") { send in try await send.clock.sleep(for: .seconds(600)) }
        case .stop: .cancel("wait")
        }
    }

    private func step(_ foot: String) -> Effect<Action> {
        .run(id: EffectID(foot)) { send in
            tracer.startAnySpan(foot).end()
            await send(.walk)
        }
    }

    func reduce(state: inout State, mutation: Action) { state.steps += 1 }
}

/// Its actions trace work of their own, before and after they wait.
final class Rower: ActionCycler {
    enum Action: TaggedCodable, Sendable {
        case row
        case sink
    }

    struct Fault: Error {}

    struct State: Codable, Sendable {
        @Pulse var strokes = 0
    }

    let state: Storage<State> = .init(.init())
    private let tracer: any Tracer

    init(tracer: any Tracer) { self.tracer = tracer }

    func receive(_ action: Action) async throws {
        guard case .row = action else { throw Fault() }
        tracer.startAnySpan("catch").end()
        await Task.yield()
        tracer.startAnySpan("drive").end()
        commit { $0.update($0.value.strokes + 1, \.strokes) }
    }
}
