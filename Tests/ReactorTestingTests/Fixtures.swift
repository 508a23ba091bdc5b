import ReactorTesting
import Reactors
import Synchronization

/// `Counter`: loading, wait, value + 1, loading off, pulse; beyond 1 an activity. It also has
/// faults for a driver to find.
struct CounterReactor: Reactor {
    enum Action: Sendable, Equatable { case increase, refused, decline, fail, tick, stop, tickNot }

    enum Mutation: Sendable, Equatable { case setLoading(Bool), increaseValue, setAlert(String) }

    enum Activity: Sendable, Equatable { case big(Int) }

    struct State: Sendable, Equatable {
        var value = 0
        var isLoading = false
        @Pulse var alert: String?
    }

    var feed = AsyncThrowingStream<Mutation, any Error> { $0.finish() }

    var initialState: State { State() }

    var sources: [Source] { [.mutations(feed, name: "feed")] }

    func transform(action: Action) throws -> Action? { action == .refused ? nil : action }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .increase:
            .concat(
                .just(.setLoading(true)),
                .run { sink in
                    try await sink.clock.sleep(for: .milliseconds(500))
                    await sink.send(.increaseValue)
                },
                .just(.setLoading(false)),
                .just(.setAlert("increased!")),
                .deferred { $0.value > 1 ? .emit(.big($0.value)) : .none })
        case .fail: .error(Mishap())
        case .tick:
            .run(id: "timer") { sink in
                while true {
                    try await sink.clock.sleep(for: .seconds(1))
                    await sink.send(.increaseValue)
                }
            }
        case .stop: .cancel("timer")
        case .tickNot:
            .merge(.concat(.run(id: "timer") { _ in }, .just(.increaseValue)), .cancel("timer"))
        case .refused: .none
        case .decline:
            .concat(.just(.increaseValue), .emit(.big(9)), .refuse("declined", "Not now."))
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        switch mutation {
        case .setLoading(let isLoading): state.isLoading = isLoading
        case .increaseValue: state.value += 1
        case .setAlert(let alert): state.alert = alert
        }
    }
}

struct Mishap: Error, Equatable {}

/// Keeps what a driver reports.
final class Reports: Sendable {
    private let failures = Mutex<[DriverFailure]>([])

    var messages: [String] { failures.withLock { $0.map(\.message) } }
    var places: [CallPlace] { failures.withLock { $0.map(\.place) } }

    func add(_ failure: DriverFailure) { failures.withLock { $0.append(failure) } }
}
