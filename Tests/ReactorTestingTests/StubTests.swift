import ReactorTesting
import Reactors
import Testing

@Suite("A stub stands in for its session's reactor", .timeLimit(.minutes(60)))
struct StubTests {
    private let clock = ManualClock()
    private let host: ReactorHost<CounterReactor>
    private let stub: Stub<CounterReactor>

    init() {
        host = ReactorHost(CounterReactor(), clock: clock)
        stub = Stub(host)
    }

    @Test func `case 102: actions are recorded exactly, and have no effect`() async {
        await stub.enable()
        #expect(await host.send(.tick) == SendResult(accepted: true, version: 0))
        await host.send(.tick)
        await host.send(.stop)
        #expect(await stub.actions == [.tick, .tick, .stop])
        await host.settled()
        #expect(clock.sleeperCount == 0)
        #expect(await host.currentState == CounterReactor.State())
    }

    @Test
    func `case 103: an injected state is visible at once to the present state and to readers`()
        async throws
    {
        await stub.enable()
        var states = await host.state().makeAsyncIterator()
        _ = try await states.next()
        for value in [0, 1, -10, 30] {
            try await stub.inject { $0.value = value }
            #expect(await host.currentState.value == value)
            #expect(try await states.next()?.value == value)
        }
        #expect(await host.version == 4)
    }

    @Test func `case 104: injected pulses are sent like the reactor's own`() async throws {
        var alerts = await host.pulse(\.$alert).makeAsyncIterator()
        #expect(try await alerts.next() == .some(nil))
        await stub.enable()
        for alert in ["Hello", "Hello"] { try await stub.inject { $0.alert = alert } }
        try await stub.inject { $0.value = 1 }
        try await stub.inject { $0.alert = "tokijh" }
        var seen: [String?] = []
        for _ in 0..<3 { seen.append(try await alerts.next() ?? "ended") }
        #expect(seen == ["Hello", "Hello", "tokijh"])
    }

    @Test func `case 106: the real state waits while the stub is on, and continues after it`()
        async throws
    {
        await host.send(.increase)
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(500))
        await host.settled()
        await stub.enable()
        #expect(await stub.isEnabled)
        #expect(await host.currentState.value == 1)
        await host.send(.increase)
        try await stub.inject { $0.value = 100 }
        await stub.disable()
        #expect(await host.currentState.value == 1)
        #expect(await stub.actions == [.increase])
        await host.send(.increase)
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(500))
        await host.settled()
        #expect(await host.currentState.value == 2)
    }

    @Test func `injecting without a stub is an error`() async {
        await #expect(throws: StubNotEnabled.self) { try await stub.inject { $0.value = 1 } }
        await stub.enable()
        await host.end()
        await #expect(throws: StubNotEnabled.self) { try await stub.inject { $0.value = 1 } }
    }

    @Test func `enabling twice keeps the recording; enabling again begins another`() async {
        await stub.enable()
        await host.send(.stop)
        await stub.enable()
        #expect(await stub.actions == [.stop])
        await stub.disable()
        await stub.disable()
        await stub.enable()
        #expect(await stub.actions.isEmpty)
    }
}
