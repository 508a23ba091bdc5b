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
        /// Makes a state that has no JSON.
        case ruin
        /// Refused after a mutation, the begin of a step and a cancellation.
        case decline(number: Int)
        /// Ends the session after a mutation, the begin of a step and a cancellation.
        case close(number: Int)
    }

    /// How a step ends.
    enum Ending: String, Codable, Sendable, CaseIterable {
        case well, failing
        /// It sends a mutation that makes a state without JSON.
        case ruining
        /// It stops when it is cancelled.
        case listening
    }

    enum Mutation: TaggedCodable, Sendable {
        case marked(number: Int)
        case played(id: String)
        case spoiled(isOn: Bool)
        case announced(text: String)
        case ruined
    }

    enum Activity: TaggedCodable, Sendable {
        case said(text: String)
    }

    struct State: Codable, Sendable {
        @Pulse var mark = 0
        @Pulse var played: String?
        var announced: [String] = []
        var isSpoiled = false
        var ratio = 1.0
    }

    struct Fault: Error {}

    static let policies: [EffectPolicy] = [.merge, .latest, .first]
    static let news = Topic<String>("news")

    let initialState = State()
    let heldEffects: HeldEffects

    var sources: [Source] { [.mutations(topic: Self.news) { .announced(text: $0) }] }

    /// Two attempts at the most if it fails; any number if the process ends.
    func recovery(of action: Action, after interruption: Interruption) -> Recovery {
        guard case .play("again", _, _, _) = action else { return .abandon }
        guard interruption.error != nil else { return .runAgain }
        return interruption.attempts < 2 ? .runAgain(after: .seconds(1_000)) : .abandon
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
        case .ruin: .concat(.just(.played(id: "ruin")), .just(.ruined))
        case .decline(let number):
            .merge(
                .just(.marked(number: number)),
                .run(id: "a", policy: .latest) { await $0.send(.played(id: "declined")) },
                .cancel("b"), .refuse("declined", "\(number) is declined."))
        case .close(let number):
            .merge(
                .just(.marked(number: number)),
                .run(id: "a", policy: .latest) { await $0.send(.played(id: "closed")) },
                .cancel("b"), .end, .just(.played(id: "closed")))
        }
    }

    private func step(
        _ id: String, _ policy: EffectPolicy, _ sends: Int, _ ending: Ending
    ) -> Effect<Mutation> {
        let heldEffects = heldEffects
        return .run(id: EffectID(id), policy: policy) { send in
            for number in 0..<sends {
                await heldEffects.pass("\(id) \(number)")
                if ending == .listening { try Task.checkCancellation() }
                await send(.played(id: id))
            }
            if ending == .failing { throw Fault() }
            if ending == .ruining { await send(.ruined) }
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .marked(let number): state.mark = number
        case .played(let id): state.played = id
        case .spoiled(let isOn): state.isSpoiled = isOn
        case .announced(let text): state.announced.append(text)
        case .ruined: state.ratio = .infinity
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
        /// Commits a state that has no JSON, at once or after a commit and a wait.
        case ruin(waits: Bool)
        /// Refused after a commit.
        case decline
    }

    enum Activity: TaggedCodable, Sendable {
        case said(text: String)
    }

    struct State: Codable, Sendable {
        @Pulse var mark = 0
        @Pulse var work = 0
        var ratio = 1.0
    }

    struct Fault: Error {}

    /// No other commit makes this work.
    static let declined = 7_777_777

    let state: Storage<State> = .init(.init())
    private let heldEffects: HeldEffects

    init(heldEffects: HeldEffects) { self.heldEffects = heldEffects }

    func recovery(of action: Action) -> Recovery {
        if case .work(1, _) = action { .runAgain } else { .abandon }
    }

    func receive(_ action: Action) async throws {
        switch action {
        case .mark(let number): commit { $0.update(number, \.mark) }
        case .work(let number, let waits):
            commit { $0.update($0.value.work + number, \.work) }
            for _ in 0..<waits {
                await heldEffects.pass("work \(number)")
                commit { $0.update($0.value.work + number, \.work) }
            }
        case .failLater:
            await heldEffects.pass("fail")
            throw Fault()
        case .yield(let number):
            commit { $0.update(number, \.work) }
            await Task.yield()
            commit { $0.update(number + 1, \.work) }
            emit(.said(text: "yielded"))
        case .say(let text): emit(.said(text: text))
        case .ruin(let waits):
            commit { $0.update($0.value.work + 1, \.work) }
            if waits { await heldEffects.pass("ruin") }
            commit { $0.update(.infinity, \.ratio) }
        case .decline:
            emit(.said(text: "declined"))
            commit { $0.update(Self.declined, \.work) }
            throw Refusal("declined", "It is declined.")
        }
    }
}

/// A part of a Clerk: it has work done there, between two commits of its own.
final class Branch: ActionCycler, ModularCycler {
    enum Action: TaggedCodable, Sendable {
        case mark(number: Int)
        case delegate(number: Int)
    }

    struct State: Codable, Sendable {
        @Pulse var mark = 0
        var delegated = 0
    }

    let state: Storage<State> = .init(.init())
    let parent = CyclerParent<Clerk>()

    func receive(_ action: Action) async throws {
        switch action {
        case .mark(let number): commit { $0.update(number, \.mark) }
        case .delegate(let number):
            commit { $0.update($0.value.delegated + 1, \.delegated) }
            try await forward(.work(number: number, waits: 0))
            commit { $0.update($0.value.delegated + 1, \.delegated) }
        }
    }
}
