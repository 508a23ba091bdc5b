import Reactors

/// Effects of every kind, each held until an action releases it, so that the order of events needs
/// no clock (cases 53 to 94).
final class Errands: Reactor {
    enum Action: TaggedCodable, Sendable {
        /// Records its beginning, waits at the gate of its name, records its end.
        case run(name: String)
        /// Waits at the gate; the latest wins.
        case search(text: String)
        /// Waits at the gate `page`; the first wins.
        case nextPage
        case open(gate: String)
        case start
        case tick
        case stop
        /// Makes two mutations, and sends itself another action.
        case relay(first: String, then: String)
        case note(text: String)
        /// Sets loading, waits at the gate `increase`, adds one, clears loading, assigns a pulse.
        case increase
        case present(route: String?)
    }

    enum Mutation: TaggedCodable, Sendable {
        case noted(text: String)
        case found(text: String)
        case appended
        case ticked
        case loading(isOn: Bool)
        case increased
        case alerted(text: String)
        case routed(route: String?)
    }

    struct State: Codable, Sendable {
        @Pulse var note: String?
        @Pulse var alert: String?
        var notes: [String] = []
        var found: [String] = []
        var pages = 0
        var ticks = 0
        var isLoading = false
        var value = 0
        var route: String? = "home"
    }

    let initialState = State()
    private var gates: [String: AsyncStream<Void>.Continuation] = [:]
    private var timer: AsyncStream<Void>.Continuation?
    private let relayed = AsyncStream.makeStream(of: Action.self)

    var sources: [Source] { [.actions(relayed.stream, name: "relay")] }

    /// Forbidden notes are dropped, old ones rewritten.
    func transform(mutation: Mutation) -> Mutation? {
        switch mutation {
        case .noted("forbidden"): nil
        case .noted("old"): .noted(text: "new")
        default: mutation
        }
    }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .run(let name):
            .concat(
                .just(.noted(text: "\(name)-begin")), wait(name), .just(.noted(text: "\(name)-end"))
            )
        case .search(let text): wait(text, "search", .latest, then: .found(text: text))
        case .nextPage: wait("page", "page", .first, then: .appended)
        case .open(let gate): open(gate)
        case .start: run()
        case .tick: tick()
        case .stop: .cancel("timer")
        case .relay(let first, let next): relay(first, next)
        case .note(let text): .just(.noted(text: text))
        case .increase:
            .concat(
                .just(.loading(isOn: true)), wait("increase"),
                .of(.increased, .loading(isOn: false), .alerted(text: "increased!")))
        case .present(let route): .just(.routed(route: route))
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .noted(let text):
            state.note = text
            state.notes.append(text)
        case .found(let text): state.found.append(text)
        case .appended: state.pages += 1
        case .ticked: state.ticks += 1
        case .loading(let isOn): state.isLoading = isOn
        case .increased: state.value += 1
        case .alerted(let text): state.alert = text
        case .routed(let route): state.route = route
        }
    }

    private func wait(
        _ gate: String, _ id: EffectID? = nil, _ policy: EffectPolicy = .merge,
        then mutation: Mutation? = nil
    ) -> Effect<Mutation> {
        let (stream, opener) = AsyncStream<Void>.makeStream()
        // A second step that is skipped must not replace the first one's gate.
        if policy == .first, gates[gate] != nil { return held(stream, id, policy, mutation) }
        gates[gate] = opener
        return held(stream, id, policy, mutation)
    }

    private func held(
        _ stream: AsyncStream<Void>, _ id: EffectID?, _ policy: EffectPolicy, _ mutation: Mutation?
    ) -> Effect<Mutation> {
        guard let id else { return .run { _ in for await _ in stream { break } } }
        return .run(id: id, policy: policy) { send in
            for await _ in stream { break }
            if let mutation { await send(mutation) }
        }
    }

    private func open(_ gate: String) -> Effect<Mutation> {
        gates.removeValue(forKey: gate)?.yield()
        return .empty()
    }

    private func run() -> Effect<Mutation> {
        let (ticks, inlet) = AsyncStream<Void>.makeStream()
        timer = inlet
        return .concat(
            .just(.noted(text: "started")),
            .run(id: "timer", policy: .latest) { send in
                for await _ in ticks { await send(.ticked) }
            })
    }

    private func tick() -> Effect<Mutation> {
        timer?.yield()
        return .empty()
    }

    private func relay(_ first: String, _ next: String) -> Effect<Mutation> {
        relayed.continuation.yield(.run(name: next))
        return .of(.noted(text: "\(first)-enter"), .noted(text: "\(first)-exit"))
    }
}
