internal import Reactors

/// Sends actions to a reactor in this process, in each available way.
///
/// Counts processor time of the whole process: the time that one core needs, regardless of other
/// load.
struct InProcessRun {
    let actions: Int
    let rounds: Int

    // The length at which a copy of the list shows in the measurement: 160 KB.
    private static let longList = 20_000

    func report() async -> Report {
        var report = Report(
            title: "in-process: \(actions) actions a round, best of \(rounds), by processor time")
        let core = best { self.core() }
        report.add("core", Double(actions) / core.seconds, .perSecond)
        let isolated = await best { await self.isolated() }
        report.add("host, from inside its actor", Double(actions) / isolated.seconds, .perSecond)
        let awaited = await best { await self.awaited() }
        report.add("host, each action awaited", Double(actions) / awaited.seconds, .perSecond)
        let read = await best { await self.read() }
        report.add("the same, its log being read", Double(actions) / read.seconds, .perSecond)
        let append = best { self.append() }
        report.add("append to \(Self.longList) in @Pulse", append.nanosecondsEach, .nanoseconds)
        for time in [core, isolated, awaited, read, append] where !time.isRight {
            report.problems.append("a state is not what its actions make of it")
        }
        return report
    }

    // MARK: Ways to send

    private func core() -> Time {
        let core = ReactorCore(reactor: Counting())
        let observer = Deaf<Counting>()
        let start = Clock.ownCPU()
        for number in 1...UInt64(actions) { send(.add(1), number, to: core, observer) }
        return Time(since: start, for: actions, isRight: core.state.value == actions)
    }

    private func isolated() async -> Time {
        let host = ReactorHost(Counting())
        return await sendAll(host, actions)
    }

    private func awaited() async -> Time {
        let host = ReactorHost(Counting())
        let start = Clock.ownCPU()
        for _ in 0..<actions { await host.send(.add(1)) }
        let isRight = await host.currentState.value == actions
        return Time(since: start, for: actions, isRight: isRight)
    }

    private func read() async -> Time {
        let host = ReactorHost(Counting())
        await host.add(Uninterested())
        let start = Clock.ownCPU()
        for _ in 0..<actions { await host.send(.add(1)) }
        let isRight = await host.currentState.value == actions
        return Time(since: start, for: actions, isRight: isRight)
    }

    private func append() -> Time {
        let core = ReactorCore(reactor: Listing(length: Self.longList))
        let observer = Deaf<Listing>()
        let count = Self.longList / 2
        let start = Clock.ownCPU()
        for number in 1...UInt64(count) { send(.append(1), number, to: core, observer) }
        return Time(
            since: start, for: count,
            isRight: core.state.items.count == Self.longList + count
                && core.state.$items.valueUpdatedCount == UInt(count))
    }

    // MARK: Rounds

    private func best(_ round: () -> Time) -> Time {
        (0..<rounds).map { _ in round() }.reduce(.none, Time.better)
    }

    private func best(_ round: () async -> Time) async -> Time {
        var best = Time.none
        for _ in 0..<rounds { best = .better(best, await round()) }
        return best
    }
}

/// The duration of a round, and whether its result is right.
private struct Time {
    var nanoseconds: UInt64
    var count: Int
    var isRight: Bool

    static let none = Time(nanoseconds: .max, count: 1, isRight: true)

    init(since start: UInt64, for count: Int, isRight: Bool) {
        self.init(nanoseconds: Clock.ownCPU() - start, count: count, isRight: isRight)
    }

    private init(nanoseconds: UInt64, count: Int, isRight: Bool) {
        self.nanoseconds = nanoseconds
        self.count = count
        self.isRight = isRight
    }

    var seconds: Double { Double(nanoseconds) / 1e9 }
    var nanosecondsEach: Double { Double(nanoseconds) / Double(count) }

    static func better(_ one: Time, _ other: Time) -> Time {
        var best = one.nanoseconds <= other.nanoseconds ? one : other
        best.isRight = one.isRight && other.isRight
        return best
    }
}

// Not inlined: otherwise the optimiser reduces a million actions to one addition.
@inline(never)
private func send<R: Reactor>(
    _ action: R.Action, _ number: UInt64, to core: ReactorCore<R>, _ observer: Deaf<R>
) {
    _ = core.receive(action, tag: ActionTag(number), observer: observer)
}

// Inside the actor a call is synchronous, as for a caller with many actions at once.
private func sendAll(_ host: isolated ReactorHost<Counting>, _ actions: Int) -> Time {
    let start = Clock.ownCPU()
    for _ in 0..<actions { host.send(.add(1)) }
    return Time(since: start, for: actions, isRight: host.currentState.value == actions)
}

private struct Counting: Reactor {
    enum Action: Sendable { case add(Int) }

    struct State: Sendable {
        var value = 0
    }

    let initialState = State()

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .add(let number): state.value += number
        }
    }
}

private struct Listing: Reactor {
    enum Action: Sendable { case append(Int) }

    struct State: Sendable {
        @Pulse var items: [Int]
    }

    let initialState: State

    init(length: Int) { initialState = State(items: Array(repeating: 0, count: length)) }

    func reduce(state: inout State, mutation: Action) {
        switch mutation {
        case .append(let item): state.items.append(item)
        }
    }
}

private struct Uninterested: ActionLogger {
    func log(_ entry: ActionLogEntry<Counting>) async {}
}

/// Ignores every call.
private final class Deaf<R: Reactor>: ReactorCoreObserver {
    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>) {}
    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>) {}
    func failed(_ failure: ReactorFailure) {}
    func start(_ run: EffectRun<R>) {}
    func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag) {}
    func settled(_ action: ActionTag) {}
}
