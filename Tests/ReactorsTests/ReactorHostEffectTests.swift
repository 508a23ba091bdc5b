import ReactorTesting
import Reactors
import TestStreams
import Testing

@Suite("A host's effects run concurrently and end with it", .timeLimit(.minutes(60)))
struct ReactorHostEffectTests {
    @Test func `case 63: concurrent effects interleave by arrival`() async throws {
        let host = ReactorHost(ScriptReactor())
        let (slow, fast) = (Gate(), Gate())
        @Sendable func work(_ name: String, _ gate: Gate) -> ScriptEffect {
            .run { sink in
                await sink("\(name)-begin")
                await gate.pass()
                await sink("\(name)-end")
            }
        }
        await host.perform(work("slow", slow))
        await slow.hasArrivals(1)
        await host.perform(work("fast", fast))
        await fast.hasArrivals(1)
        fast.open()
        var states = Reading(await host.state())
        while try await states.next(1).first?.count != 3 {}
        slow.open()
        await host.settled()
        #expect(
            await host.currentState == ["slow-begin", "fast-begin", "fast-end", "slow-end"])
    }

    @Test func `case 71: an effect does not delay the next action`() async {
        let host = ReactorHost(ScriptReactor())
        let gate = Gate()
        await host.perform(.run { _ in await gate.pass() })
        await gate.hasArrivals(1)
        #expect(await host.perform(.just("next")).version == 1)
        gate.open()
        await host.settled()
    }

    @Test
    func `case 77: an effect that fails after sending is reported once, and the session lives`()
        async throws
    {
        let host = ReactorHost(ScriptReactor())
        var failures = Reading(await host.failures())
        for number in 1...5 {
            await host.perform(
                number == 3
                    ? .run { sink in
                        await sink("3")
                        throw Mishap()
                    } : .just("\(number)"))
            await host.settled()
        }
        #expect(await host.currentState == ["1", "2", "3", "4", "5"])
        await host.perform(.error(Mishap()))
        let seen = try await failures.next(2)
        #expect(seen.map(\.action.number) == [3, 6])
        #expect(seen.allSatisfy { $0.place == .effect && $0.error is Mishap })
    }

    @Test func `case 80: a stopwatch ticks between start and stop`() async throws {
        let clock = ManualClock()
        let host = ReactorHost(StopwatchReactor(), clock: clock)
        var ticks = Reading(await host.state(\.ticks))
        func pass(seconds: Int) async {
            for _ in 0..<seconds {
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(1))
            }
        }
        await host.send(.start)
        await pass(seconds: 3)
        #expect(try await ticks.next(4) == [0, 1, 2, 3])
        await host.send(.stop)
        clock.advance(by: .seconds(2))
        await host.send(.start)
        await pass(seconds: 2)
        #expect(try await ticks.next(2) == [4, 5])
        await host.send(.stop)
        await host.settled()
        clock.advance(by: .seconds(10))
        await host.send(.mark)
        #expect(await host.currentState.ticks == 5)
    }

    @Test func `case 81: a name addresses steps of its own session only`() async throws {
        let clock = ManualClock()
        let (a, b) = (
            ReactorHost(StopwatchReactor(), clock: clock),
            ReactorHost(StopwatchReactor(), clock: clock)
        )
        var ticks = Reading(await b.state(\.ticks))
        await a.send(.start)
        await b.send(.start)
        await clock.waitForSleepers(2)
        await a.send(.stop)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        #expect(try await ticks.next(2) == [0, 1])
        #expect(await a.currentState.ticks == 0)
    }

    @Test func `case 84: of quick queries only the latest's result is reduced`() async {
        let host = ReactorHost(ScriptReactor())
        let gates = [Gate(), Gate(), Gate()]
        for (query, gate) in zip(["a", "ab", "abc"], gates) {
            await host.perform(
                .run(id: "search", policy: .latest) { sink in
                    await gate.pass()
                    await sink(query)
                })
            await gate.hasArrivals(1)
        }
        for gate in gates.reversed() { gate.open() }
        await host.settled()
        #expect(await host.currentState == ["abc"])
    }

    @Test func `case 85: a second load while the first runs is skipped`() async {
        let host = ReactorHost(ScriptReactor())
        let gate = Gate()
        for number in 1...2 {
            await host.perform(
                .run(id: "page", policy: .first) { sink in
                    await gate.pass()
                    await sink("page \(number)")
                })
        }
        gate.open()
        await host.settled()
        #expect(await host.currentState == ["page 1"])
    }

    @Test func `case 87: ending the host cancels its effects, ends its streams, refuses actions`()
        async throws
    {
        let clock = ManualClock()
        let host = ReactorHost(ScriptReactor(), clock: clock)
        let seen = Gate()
        var states = Reading(await host.state())
        var activities = Reading(await host.activities())
        await host.perform(
            .run { sink in
                try? await sink.clock.sleep(for: .seconds(1))
                #expect(sink.isCancelled)
                #expect(await !sink.send("late"))
                #expect(await !sink.emit("late"))
                await seen.pass()
            })
        await clock.waitForSleepers(1)
        await host.end()
        await seen.hasArrivals(1)
        seen.open()
        #expect(try await states.next(2) == [[]])
        #expect(try await activities.next(1).isEmpty)
        #expect(await host.perform(.just("x")) == SendResult(accepted: false, version: 0))
        await host.settled()
        await host.end()
        var late = Reading(await host.state())
        #expect(try await late.next(2) == [[]])
        #expect(await host.readerCount == 0)
    }

    @Test func `case 87: an effect does not keep its host alive`() async throws {
        let clock = ManualClock()
        let done = Gate()
        weak var weakHost: ReactorHost<ScriptReactor>?
        var states: Reading<[String]>
        do {
            let host = ReactorHost(ScriptReactor(), clock: clock)
            weakHost = host
            states = Reading(await host.state())
            await host.perform(
                .run { sink in
                    try? await sink.clock.sleep(for: .seconds(1))
                    #expect(await !sink.send("late"))
                    await done.pass()
                })
            await clock.waitForSleepers(1)
        }
        await done.hasArrivals(1)
        done.open()
        #expect(weakHost == nil)
        #expect(try await states.next(2) == [[]])
    }

    @Test func `case 90: settled returns when the effects have ended, with what they changed`()
        async
    {
        let clock = ManualClock()
        let host = ReactorHost(CounterReactor(), clock: clock)
        await host.settled()
        await host.send(.increase)
        await clock.waitForSleepers(1)
        let version = Task {
            await host.settled()
            return await host.version
        }
        clock.advance(by: .milliseconds(500))
        #expect(await version.value == 4)
    }

    @Test func `case 91: waiting for an endless effect ends with the waiting task`() async {
        let clock = ManualClock()
        let host = ReactorHost(StopwatchReactor(), clock: clock)
        await host.send(.start)
        let waiting = Task { await host.settled() }
        waiting.cancel()
        await waiting.value
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        await clock.waitForSleepers(1)
        #expect(await host.currentState.ticks == 1)
    }

    @Test func `a sink's send returns when the mutation is applied`() async {
        let host = ReactorHost(ScriptReactor())
        await host.perform(
            .run { [weak host] sink in
                for number in 1...100 {
                    #expect(await sink.send("\(number)"))
                    #expect(await host?.version == UInt64(number))
                }
            })
        await host.settled()
        #expect(await host.version == 100)
    }
}
