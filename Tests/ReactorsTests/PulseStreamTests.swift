import ReactorTesting
import Reactors
import TestStreams
import Testing

@Suite(
    "A pulse stream has one element per mutation that assigned the pulse", .timeLimit(.minutes(60)))
struct PulseStreamTests {
    private let host = ReactorHost(PulsesReactor())

    private func values(
        after actions: [PulsesReactor.Action], expecting count: Int
    ) async throws -> [Int?] {
        var reading = Reading(await host.pulse(\.$a))
        _ = try await reading.next(1)
        for action in actions { await host.send(action) }
        await host.send(.setA(-1))
        return try await reading.next(count + 1)
    }

    @Test func `case 2: six assignments are six elements`() async throws {
        let actions = [10, 20, 20, 20, 30, 30].map { PulsesReactor.Action.setA($0) }
        #expect(try await values(after: actions, expecting: 6) == [10, 20, 20, 20, 30, 30, -1])
    }

    @Test func `case 3: reading the state is no event`() async throws {
        var reading = Reading(await host.pulse(\.$a))
        for _ in 0..<50 { _ = await host.currentState }
        await host.send(.setA(1))
        #expect(try await reading.next(2) == [nil, 1])
    }

    @Test func `case 4: an equal value is an event`() async throws {
        let seen = try await values(after: [.setA(20), .setA(20)], expecting: 2)
        #expect(seen == [20, 20, -1])
    }

    @Test func `case 12: two assignments in one reduce are one event with the last value`()
        async throws
    {
        #expect(try await values(after: [.setBoth(1, 2)], expecting: 1) == [2, -1])
    }

    @Test func `case 13: set, then cleared in one reduce is nil only`() async throws {
        #expect(try await values(after: [.setAThenNil(1)], expecting: 1) == [nil, -1])
    }

    @Test func `case 14: a reset without assignment is no event, but a version`() async throws {
        let seen = try await values(after: [.setA(1), .reset, .reset], expecting: 1)
        #expect(seen == [1, -1])
        #expect(await host.version == 4)
    }

    @Test func `case 15: a reset with an assignment is an event`() async throws {
        let seen = try await values(after: [.setA(1), .resetAndSetA(2)], expecting: 2)
        #expect(seen == [1, 2, -1])
    }

    @Test func `case 11: changes in place are events with the whole list`() async throws {
        var reading = Reading(await host.pulse(\.$items))
        for number in 1...3 { await host.send(.append(number)) }
        #expect(try await reading.next(4) == [[], [1], [1, 2], [1, 2, 3]])
    }

    @Test func `cases 21 and 22: a stream begins with the present value and no history`()
        async throws
    {
        var early = Reading(await host.pulse(\.$a))
        #expect(try await early.next(1) == [nil])
        await host.send(.setA(1))
        await host.send(.setA(2))
        var late = Reading(await host.pulse(\.$a))
        await host.send(.setA(3))
        #expect(try await late.next(2) == [2, 3])
    }

    @Test func `cases 9, 23 and 26: other fields and other pulses are silent`() async throws {
        #expect(try await values(after: [.setPlain(1), .setB("x")], expecting: 0) == [-1])
    }

    @Test func `case 25: a thousand equal assignments are a thousand elements`() async throws {
        var reading = Reading(await host.pulse(\.$a, buffer: 1001))
        for _ in 0..<1000 { await host.send(.setA(7)) }
        let seen = try await reading.next(1001)
        #expect(seen.count == 1001)
        #expect(seen.dropFirst().allSatisfy { $0 == 7 })
    }

    @Test func `case 28: all readers get the same events in the same order`() async throws {
        var readings: [Reading<Int?>] = []
        for _ in 0..<3 { readings.append(Reading(await host.pulse(\.$a))) }
        for number in 0..<20 { await host.send(.setA(number)) }
        for index in readings.indices {
            #expect(try await readings[index].next(21) == [nil] + (0..<20).map { $0 })
        }
    }

    @Test func `case 37: a pulse from an effect comes when its mutation is reduced`() async throws {
        let clock = ManualClock()
        let host = ReactorHost(CounterReactor(), clock: clock)
        var alerts = Reading(await host.pulse(\.$alert))
        #expect(await host.send(.increase).version == 1)
        await clock.waitForSleepers(1)
        #expect(await host.currentState.$alert.valueUpdatedCount == 0)
        clock.advance(by: .milliseconds(500))
        #expect(try await alerts.next(2) == [nil, "increased!"])
        #expect(await host.version == 4)
    }
}

@Suite("A restored state assigns nothing", .timeLimit(.minutes(60)))
struct RestoredPulseTests {
    @Test func `case 17: a decoded pulse is silent until it is assigned`() {
        let probe = CoreProbe(PulsesReactor(), state: .init(), version: 2)
        let restored = probe.core.state
        probe.send(.setPlain(1))
        #expect(!probe.core.state.$a.mark.isAssignment(since: restored.$a.mark))
        probe.send(.setA(1))
        #expect(probe.core.state.$a.mark.isAssignment(since: restored.$a.mark))
        #expect(probe.core.version == 4)
    }
}
