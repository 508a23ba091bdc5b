import Reactors

/// `Append`: each mutation is computed from the present state.
struct AppendReactor: Reactor {
    enum Action: Sendable { case append, appendTwice, nothing }

    struct State: Sendable {
        @Pulse var items: [Int] = []
    }

    typealias Mutation = Int

    var initialState: State { State() }

    func mutate(state: State, action: Action) -> Effect<Int> {
        switch action {
        case .append: .just(state.items.count)
        case .appendTwice:
            .concat(.just(state.items.count), .deferred { .just($0.items.count) })
        case .nothing: .none
        }
    }

    func reduce(state: inout State, mutation: Int) { state.items.append(mutation) }
}

/// `Stages`: every hook appends its name.
struct StagesReactor: Reactor {
    typealias Action = [String]
    typealias Mutation = [String]
    typealias State = [String]

    var initialState: [String] { [] }

    func transform(action: [String]) throws -> [String]? { action + ["transformedAction"] }
    func mutate(action: [String]) -> Effect<[String]> { .just(action + ["mutation"]) }
    func transform(mutation: [String]) throws -> [String]? { mutation + ["transformedMutation"] }
    func reduce(state: [String], mutation: [String]) -> [String] { mutation + ["reduce"] }
    func transform(state: [String]) throws -> [String] { state + ["transformedState"] }
}

/// `Counter`: loading, wait, value + 1, loading off, pulse.
struct CounterReactor: Reactor {
    enum Action: Sendable { case increase }

    enum Mutation: Sendable, Equatable { case setLoading(Bool), increaseValue, setAlert(String) }

    struct State: Sendable, Equatable {
        var value = 0
        var isLoading = false
        @Pulse var alert: String?
        var valueText: String { "value \(value)" }
    }

    var initialState: State { State() }

    func mutate(action: Action) -> Effect<Mutation> {
        .concat(
            .just(.setLoading(true)),
            .run { sink in
                try await sink.clock.sleep(for: .milliseconds(500))
                await sink.send(.increaseValue)
            },
            .just(.setLoading(false)),
            .just(.setAlert("increased!")))
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .setLoading(let isLoading): state.isLoading = isLoading
        case .increaseValue: state.value += 1
        case .setAlert(let alert): state.alert = alert
        }
    }
}

/// `Stopwatch`: ticks every second between start and stop.
struct StopwatchReactor: Reactor {
    enum Action: Sendable { case start, stop, mark }

    enum Mutation: Sendable { case tick, mark }

    struct State: Sendable {
        var ticks = 0
        var marks = 0
    }

    var initialState: State { State() }

    func mutate(action: Action) -> Effect<Mutation> {
        switch action {
        case .start:
            .run(id: "timer", policy: .latest) { sink in
                while true {
                    try await sink.clock.sleep(for: .seconds(1))
                    await sink.send(.tick)
                }
            }
        case .stop: .cancel("timer")
        case .mark: .just(.mark)
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .tick: state.ticks += 1
        case .mark: state.marks += 1
        }
    }
}

/// `AB`: two actions of several mutations each.
struct ABReactor: Reactor {
    enum Action: Sendable { case a, b }

    typealias Mutation = String
    typealias State = [String]

    var initialState: [String] { [] }

    func mutate(action: Action) -> Effect<String> {
        switch action {
        case .a: .of("enterA", "exitA")
        case .b: .concat(.just("enterB"), .just("exitB"))
        }
    }

    func reduce(state: inout [String], mutation: String) { state.append(mutation) }
}

/// Two pulses and a plain field, and the ways to write them.
struct PulsesReactor: Reactor {
    enum Action: Sendable {
        case setA(Int)
        case setBoth(Int, Int)
        case setAThenNil(Int)
        case setB(String)
        case setPlain(Int)
        case append(Int)
        case reset
        case resetAndSetA(Int)
    }

    struct State: Sendable {
        @Pulse var a: Int?
        @Pulse var b = ""
        @Pulse var items: [Int] = []
        var plain = 0
    }

    var initialState: State { State() }

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .setA(let value): state.a = value
        case .setBoth(let first, let second):
            state.a = first
            state.a = second
        case .setAThenNil(let value):
            state.a = value
            state.a = nil
        case .setB(let value): state.b = value
        case .setPlain(let value): state.plain = value
        case .append(let value): state.items.append(value)
        case .reset: state = State()
        case .resetAndSetA(let value):
            state = State()
            state.a = value
        }
    }
}
