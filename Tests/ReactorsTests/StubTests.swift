import ReactorTesting
import Reactors
import TestStreams
import Testing

@Suite("A stubbed session records actions and shows injected states", .timeLimit(.minutes(60)))
struct StubTests {
    private let probe = CoreProbe(CounterReactor())
    private let clock = ManualClock()

    @Test func `case 102: a stub records actions exactly; no code of the reactor runs`() {
        let probe = CoreProbe(StopwatchReactor())
        probe.core.beginStub(observer: probe)
        #expect(probe.send(.start) == .accepted(version: 0, isSettled: true))
        probe.send(.start)
        probe.send(.stop)
        #expect(probe.core.stubbedActions == [.start, .start, .stop])
        #expect(probe.log == ["recorded start", "recorded start", "recorded stop"])
        #expect(probe.started.isEmpty)
    }

    @Test func `case 162: a stubbed session shows its state bare, the first one too`() {
        struct Decorated: Reactor {
            typealias Action = Int
            let initialState = 0
            func transform(state: Int) -> Int { state + 100 }
            func reduce(state: inout Int, mutation: Int) { state += mutation }
        }
        let probe = CoreProbe(Decorated())
        probe.send(1)
        #expect(probe.visible == 101)
        probe.core.beginStub(observer: probe)
        #expect(probe.visible == 1)
        _ = probe.core.inject(observer: probe) { $0 += 1 }
        #expect(probe.visible == 2)
        probe.core.endStub(observer: probe)
        #expect(probe.visible == 101)
    }

    @Test func `case 103: each injected state is one version, visible at once`() {
        probe.core.beginStub(observer: probe)
        for value in [0, 1, -10, 30] {
            #expect(probe.core.inject(observer: probe) { $0.value = value })
            #expect(probe.visible.value == value)
        }
        #expect(probe.core.version == 4)
        #expect(probe.states.map(\.value) == [0, 1, -10, 30])
        #expect(probe.core.state.value == 0)
    }

    @Test func `case 106: the real state waits, and the next action continues from it`() {
        struct Adder: Reactor {
            typealias Action = Int
            let initialState = 0
            func reduce(state: inout Int, mutation: Int) { state += mutation }
        }
        let probe = CoreProbe(Adder())
        probe.send(1)
        probe.core.beginStub(observer: probe)
        #expect(probe.visible == 1)
        probe.send(1)
        #expect(probe.visible == 1)
        probe.core.endStub(observer: probe)
        #expect(probe.core.version == 1)
        probe.send(1)
        #expect(probe.visible == 2)
        #expect(probe.core.stubbedActions == [1])
    }

    @Test func `case 106: showing the real state again is a version if another was shown`() {
        probe.core.beginStub(observer: probe)
        _ = probe.core.inject(observer: probe) { $0.value = 7 }
        probe.core.endStub(observer: probe)
        #expect(probe.visible.value == 0)
        #expect(probe.core.version == 2)
        #expect(probe.log == ["injected 1", "uncovered 2"])
    }

    @Test func `a stub cancels running steps and ignores sources`() {
        probe.send(.increase)
        probe.core.beginStub(observer: probe)
        #expect(probe.cancelled == [probe.started[0].id])
        #expect(!probe.send(.increaseValue, fromStep: 0))
        probe.core.receive(fromSource: .increaseValue, observer: probe)
        #expect(probe.dropped == [.ended, .stub])
        #expect(probe.settled == [ActionTag(1)])
    }

    @Test func `an injection that throws changes nothing; without a stub it is an error`() {
        #expect(!probe.core.inject(observer: probe) { $0.value = 1 })
        probe.core.beginStub(observer: probe)
        #expect(throws: Mishap.self) {
            try probe.core.inject(observer: probe) { state throws(Mishap) in
                state.value = 1
                throw Mishap()
            }
        }
        #expect(probe.visible.value == 0)
        #expect(probe.core.version == 0)
    }

    @Test func `a new stub starts a new recording; an ended session ignores its stub`() {
        probe.core.beginStub(observer: probe)
        probe.send(.increase)
        probe.core.endStub(observer: probe)
        probe.core.beginStub(observer: probe)
        #expect(probe.core.stubbedActions.isEmpty)
        probe.core.end(observer: probe)
        #expect(probe.send(.increase) == .ended)
        #expect(!probe.core.inject(observer: probe) { $0.value = 1 })
        probe.core.endStub(observer: probe)
        #expect(probe.log.isEmpty == false)
        #expect(probe.core.isStub)
    }

    @Test func `the recording keeps the newest ten thousand actions`() {
        struct Silent: Reactor {
            typealias Action = Int
            let initialState = 0
        }
        let probe = CoreProbe(Silent())
        probe.core.beginStub(observer: probe)
        for number in 1...20_001 { probe.send(number) }
        #expect(probe.core.stubbedActions == Array(10_001...20_001))
    }

    @Test func `cases 103 and 104: readers of a host see injected states and assigned pulses`()
        async throws
    {
        let host = ReactorHost(CounterReactor(), clock: clock)
        var states = Reading(await host.state(\.value))
        var alerts = Reading(await host.pulse(\.$alert))
        await host.setStubbed(true)
        for value in [1, -10, 30] { _ = await host.inject { $0.value = value } }
        for alert in ["Hello", "Hello", "tokijh"] { _ = await host.inject { $0.alert = alert } }
        _ = await host.inject { $0 = CounterReactor.State() }
        await host.setStubbed(false)
        #expect(try await states.next(5) == [0, 1, -10, 30, 0])
        await host.send(.increase)
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(500))
        #expect(try await alerts.next(5) == [nil, "Hello", "Hello", "tokijh", "increased!"])
    }

    @Test func `the end of a stub assigns no pulse, whatever was assigned before`() async throws {
        let host = ReactorHost(PulsesReactor())
        await host.send(.setA(1))
        var values = Reading(await host.pulse(\.$a))
        await host.setStubbed(true)
        _ = await host.inject { $0 = .init() }
        await host.setStubbed(false)
        await host.send(.setPlain(1))
        await host.send(.setA(2))
        #expect(try await values.next(2) == [1, 2])
    }

    @Test func `an assignment can be counted for a state that came decoded`() {
        var state = PulsesReactor.State()
        let before = state.$a.mark
        let field = PulseFields.discover(PulsesReactor.State.self)[0]
        field.countAssignment(in: &state)
        #expect(state.$a.valueUpdatedCount == 1)
        #expect(state.$a.mark.isAssignment(since: before))
        #expect(state.$b.valueUpdatedCount == 0)
        #expect(state.a == nil)
    }
}
