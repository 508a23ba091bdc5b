import ReactorTesting
import Reactors
import TestStreams
import Testing

@Suite(
    "A host applies an action as a whole before it returns, and notifies readers in order",
    .timeLimit(.minutes(60)))
struct ReactorHostTests {
    @Test func `cases 47 and 48: the state is current when the answer and when the event is there`()
        async throws
    {
        let host = ReactorHost(PulsesReactor())
        var states = Reading(await host.state(\.plain))
        let answer = await host.send(.setPlain(5))
        #expect(answer == SendResult(accepted: true, version: 1))
        #expect(await host.currentState.plain == 5)
        #expect(try await states.next(2) == [0, 5])
    }

    @Test func `case 49: a new reader of states gets the latest one, then later ones`() async throws
    {
        let host = ReactorHost(PulsesReactor())
        await host.send(.setPlain(1))
        await host.send(.setPlain(2))
        var states = Reading(await host.state())
        await host.send(.setPlain(3))
        #expect(try await states.next(2).map(\.plain) == [2, 3])
    }

    @Test func `case 50: one state per mutation, an equal one too`() async throws {
        let host = ReactorHost(PulsesReactor())
        var states = Reading(await host.state())
        await host.send(.setPlain(0))
        await host.send(.setPlain(0))
        await host.send(.setPlain(1))
        #expect(try await states.next(4).map(\.plain) == [0, 0, 0, 1])
        #expect(await host.version == 3)
    }

    @Test func `case 51: a part is sent when it changes, computed ones too`() async throws {
        let clock = ManualClock()
        let host = ReactorHost(CounterReactor(), clock: clock)
        var texts = Reading(await host.state(\.valueText))
        for count in [1, 1] {
            await host.send(.increase)
            await clock.waitForSleepers(count)
            clock.advance(by: .milliseconds(500))
            await host.settled()
        }
        #expect(await host.version == 8)
        #expect(try await texts.next(3) == ["value 0", "value 1", "value 2"])
    }

    @Test func `case 53: loading, value, loading off, pulse`() async throws {
        let clock = ManualClock()
        let host = ReactorHost(CounterReactor(), clock: clock)
        var states = Reading(await host.state())
        var alerts = Reading(await host.pulse(\.$alert))
        #expect(await host.send(.increase) == SendResult(accepted: true, version: 1))
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(499))
        #expect(await host.version == 1)
        clock.advance(by: .milliseconds(1))
        let seen = try await states.next(5)
        #expect(seen.map(\.value) == [0, 0, 1, 1, 1])
        #expect(seen.map(\.isLoading) == [false, true, true, false, false])
        #expect(try await alerts.next(2) == [nil, "increased!"])
    }

    @Test func `case 59: an action sent on seeing another's first mutation comes after its turn`()
        async throws
    {
        let host = ReactorHost(ABReactor())
        let states = await host.state()
        let observer = Task {
            for try await state in states {
                if state == ["enterA"] { await host.send(.b) }
                if state.last == "exitB" { return state }
            }
            return []
        }
        await host.send(.a)
        #expect(try await observer.value == ["enterA", "exitA", "enterB", "exitB"])
    }

    @Test func `case 60: an action that mutate itself sends comes after the turn it is sent in`()
        async throws
    {
        // `mutate` and `reduce` cannot send; a host that is smuggled in must wait.
        final class Sender: Reactor {
            enum Action: Sendable { case a, b }
            typealias Mutation = String
            let initialState: [String] = []
            let send: @Sendable () -> Void
            init(send: @escaping @Sendable () -> Void) { self.send = send }
            func mutate(action: Action) -> Effect<String> {
                guard case .a = action else { return .of("enterB", "exitB") }
                send()
                return .of("enterA", "exitA")
            }
            func reduce(state: inout [String], mutation: String) { state.append(mutation) }
        }
        let (requests, request) = AsyncStream<Void>.makeStream()
        let host = ReactorHost(Sender { request.yield() })
        let sender = Task { for await _ in requests { await host.send(.b) } }
        var states = Reading(await host.state())
        await host.send(.a)
        #expect(try await states.next(5).last == ["enterA", "exitA", "enterB", "exitB"])
        request.finish()
        await sender.value
    }

    @Test func `case 60: calling a core during its own turn stops the program`() async {
        await #expect(processExitsWith: .failure) {
            final class Caller: ReactorCoreObserver {
                typealias R = PulsesReactor
                func mutated(
                    _ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>
                ) {
                    _ = core.receive(.setPlain(2), tag: ActionTag(2), observer: self)
                }
                func emitted(_ activity: Never, by action: ActionTag, core: ReactorCore<R>) {}
                func failed(_ failure: ReactorFailure) {}
                func start(_ run: EffectRun<R>) {}
                func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag) {}
                func settled(_ action: ActionTag) {}
            }
            let core = ReactorCore(reactor: PulsesReactor())
            _ = core.receive(.setPlain(1), tag: ActionTag(1), observer: Caller())
        }
    }

    @Test func `case 61: presenting on a dismissal ends with the presented route`() async throws {
        struct Router: Reactor {
            enum Action: Sendable { case present(String), dismiss }
            let initialState: String? = "first"
            func reduce(state: inout String?, mutation: Action) {
                switch mutation {
                case .present(let route): state = route
                case .dismiss: state = nil
                }
            }
        }
        let host = ReactorHost(Router())
        let routes = await host.state()
        let observer = Task {
            for try await route in routes where route == nil {
                await host.send(.present("next"))
                return
            }
        }
        await host.send(.dismiss)
        try await observer.value
        #expect(await host.currentState == "next")
    }

    @Test func `case 65: 2000 concurrent increments are 2000 versions`() async throws {
        struct Adder: Reactor {
            enum Action: Sendable { case add, addLater }
            typealias Mutation = Int
            let initialState = 0
            func mutate(action: Action) -> Effect<Int> {
                switch action {
                case .add: .just(1)
                case .addLater: .run { await $0.send(1) }
                }
            }
            func reduce(state: inout Int, mutation: Int) { state += mutation }
        }
        let host = ReactorHost(Adder())
        await withTaskGroup { group in
            for number in 0..<500 {
                let priority: TaskPriority = number % 2 == 0 ? .high : .low
                group.addTask(priority: priority) {
                    for _ in 0..<2 { await host.send(.add) }
                    for _ in 0..<2 { await host.send(.addLater) }
                }
            }
        }
        await host.settled()
        #expect(await host.currentState == 2000)
        #expect(await host.version == 2000)
    }

    @Test func `case 73: a reader that joins during a burst misses and repeats nothing`()
        async throws
    {
        struct Adder: Reactor {
            typealias Action = Int
            let initialState = 0
            func reduce(state: inout Int, mutation: Int) { state += mutation }
        }
        let host = ReactorHost(Adder())
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 { group.addTask { for _ in 0..<250 { await host.send(1) } } }
            for _ in 0..<20 {
                group.addTask {
                    var last: Int?
                    for try await state in await host.state(buffer: 1001) {
                        if let last { #expect(state == last + 1) }
                        last = state
                        if state == 1000 { break }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `case 75: a reader added on a version begins with it, once`() async throws {
        let host = ReactorHost(PulsesReactor())
        var first = Reading(await host.state(\.plain))
        await host.send(.setPlain(1))
        #expect(try await first.next(2) == [0, 1])
        var second = Reading(await host.state())
        await host.send(.setPlain(2))
        #expect(try await second.next(2).map(\.plain) == [1, 2])
    }

    @Test func `cases 128 and 129: activities reach all present readers and no later ones`()
        async throws
    {
        let host = ReactorHost(ScriptReactor())
        var first = Reading(await host.activities())
        var second = Reading(await host.activities())
        await host.perform(.emit("big"))
        await host.perform(.run { await $0.emit("big") })
        await host.settled()
        var late = Reading(await host.activities())
        await host.perform(.emit("sentinel"))
        #expect(try await first.next(3) == ["big", "big", "sentinel"])
        #expect(try await second.next(3) == ["big", "big", "sentinel"])
        #expect(try await late.next(1) == ["sentinel"])
        #expect(await host.version == 0)
    }

    @Test func `case 92: a rejected action is reported as such`() async {
        struct Closed: Reactor {
            typealias Action = Int
            let initialState = 0
            func transform(action: Int) throws -> Int? { nil }
        }
        #expect(
            await ReactorHost(Closed()).send(1) == SendResult(accepted: false, version: 0))
    }
}

extension ReactorHost<ScriptReactor> {
    @discardableResult
    func perform(
        _ effect: @escaping @Sendable @autoclosure () -> ScriptEffect
    ) -> SendResult {
        send(ScriptReactor.Action(effect: effect))
    }
}
