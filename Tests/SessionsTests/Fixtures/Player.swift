import Cyclers
import Reactors

/// A reactor with every feature: effects of every policy, some of which ignore cancellation,
/// cancellations, failures, actions that are received again, a topic, and a failing
/// `transform(state)`.
struct Player: Reactor {
    enum Action: TaggedCodable, Sendable {
        case mark(number: Int)
        /// A step of `sends` mutations under an id; the policy is one of ``policies``.
        case play(id: String, policy: Int, sends: Int, ends: Ending)
        case cancel(id: String)
        /// Makes `transform(state)` fail from now on, or stop failing.
        case spoil(isOn: Bool)
        case say(text: String)
        case fail
    }

    /// How a step ends.
    enum Ending: String, Codable, Sendable, CaseIterable {
        case well, failing
        /// It stops when it is cancelled.
        case listening
    }

    enum Mutation: TaggedCodable, Sendable {
        case marked(number: Int)
        case played(id: String)
        case spoiled(isOn: Bool)
        case announced(text: String)
    }

    enum Activity: TaggedCodable, Sendable {
        case said(text: String)
    }

    struct State: Codable, Sendable {
        @Pulse var mark = 0
        @Pulse var played: String?
        var announced: [String] = []
        var isSpoiled = false
    }

    struct Fault: Error {}

    static let policies: [EffectPolicy] = [.merge, .latest, .first]
    static let news = Topic<String>("news")

    let initialState = State()
    let desk: Desk

    var sources: [Source] { [.mutations(topic: Self.news) { .announced(text: $0) }] }

    func recovery(of action: Action) -> Recovery {
        if case .play("again", _, _, _) = action { .runAgain } else { .abandon }
    }

    func transform(state: State) throws -> State {
        guard !state.isSpoiled else { throw Fault() }
        return state
    }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .mark(let number): .just(.marked(number: number))
        case .play(let id, let policy, let sends, let ending):
            .concat(
                step(id, Self.policies[policy % 3], sends, ending), .just(.played(id: "after")))
        case .cancel(let id): .cancel(EffectID(id))
        case .spoil(let isOn): .just(.spoiled(isOn: isOn))
        case .say(let text): .emit(.said(text: text))
        case .fail: .concat(.just(.played(id: "before")), .error(Fault()))
        }
    }

    private func step(
        _ id: String, _ policy: EffectPolicy, _ sends: Int, _ ending: Ending
    ) -> Effect<Mutation> {
        let desk = desk
        return .run(id: EffectID(id), policy: policy) { send in
            for number in 0..<sends {
                await desk.pass("\(id) \(number)")
                if ending == .listening { try Task.checkCancellation() }
                await send(.played(id: id))
            }
            if ending == .failing { throw Fault() }
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .marked(let number): state.mark = number
        case .played(let id): state.played = id
        case .spoiled(let isOn): state.isSpoiled = isOn
        case .announced(let text): state.announced.append(text)
        }
    }
}

/// A Cycler that commits, waits and commits again.
final class Clerk: ActionCycler {
    enum Action: TaggedCodable, Sendable {
        case mark(number: Int)
        /// Commits, then waits this often, with a commit after each wait.
        case work(number: Int, waits: Int)
        /// Waits without a commit, then fails.
        case failLater
        /// Yields to other tasks between two commits.
        case yield(number: Int)
        case say(text: String)
    }

    enum Activity: TaggedCodable, Sendable {
        case said(text: String)
    }

    struct State: Codable, Sendable {
        @Pulse var mark = 0
        @Pulse var work = 0
    }

    struct Fault: Error {}

    let state: Storage<State> = .init(.init())
    private let desk: Desk

    init(desk: Desk) { self.desk = desk }

    func recovery(of action: Action) -> Recovery {
        if case .work(1, _) = action { .runAgain } else { .abandon }
    }

    func receive(_ action: Action) async throws {
        switch action {
        case .mark(let number): commit { $0.update(number, \.mark) }
        case .work(let number, let waits):
            commit { $0.update($0.value.work + number, \.work) }
            for _ in 0..<waits {
                await desk.pass("work \(number)")
                commit { $0.update($0.value.work + number, \.work) }
            }
        case .failLater:
            await desk.pass("fail")
            throw Fault()
        case .yield(let number):
            commit { $0.update(number, \.work) }
            await Task.yield()
            commit { $0.update(number + 1, \.work) }
            emit(.said(text: "yielded"))
        case .say(let text): emit(.said(text: text))
        }
    }
}
