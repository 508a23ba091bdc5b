import Reactors
import TestStreams
import Testing

@Suite("An effect ends its session", .timeLimit(.minutes(60)))
struct EndingTests {
    @Test func `its readers get all before it, and then their end`() async throws {
        let host = ReactorHost(ScriptReactor())
        let states = await host.state()
        let activities = await host.activities()
        let result = await host.perform(
            .concat(.just("1"), .emit("bye"), .end, .just("never"), .emit("never")))
        #expect(result == SendResult(accepted: true, version: 1))
        #expect(await host.isEnded)
        var (seen, said): ([[String]], [String]) = ([], [])
        for try await state in states { seen.append(state) }
        for try await activity in activities { said.append(activity) }
        #expect(seen == [[], ["1"]])
        #expect(said == ["bye"])
        #expect(await host.currentState == ["1"])
        #expect(await host.perform(.just("2")) == SendResult(accepted: false, version: 1))
    }

    @Test func `its own steps do not begin, and those of others are cancelled`() async {
        let host = ReactorHost(ScriptReactor())
        let (gate, begun) = (Gate(), Gate())
        await host.perform(
            .concat(
                .run { send in
                    await gate.pass()
                    await send("never")
                }, .just("never")))
        await gate.hasArrivals(1)
        await host.perform(.merge(.run { _ in await begun.pass() }, .end, .just("never")))
        #expect(await host.isEnded)
        #expect(await host.runningCount.steps == 0)
        gate.open()
        await host.settled()
        #expect(await host.currentState == [])
        #expect(begun.arrivals == 0)
    }

    @Test func `after a wait, in a cancelled sequence and in a deferred part`() async throws {
        let effects: [@Sendable (Gate) -> ScriptEffect] = [
            { gate in .concat(.run { _ in await gate.pass() }, .end, .just("never")) },
            { gate in .concat(.run { _ in await gate.pass() }, .deferred { _ in .end }) },
            { gate in .merge(.concat(.run { _ in await gate.pass() }, .end), .just("1")) },
        ]
        for effect in effects {
            let host = ReactorHost(ScriptReactor())
            let gate = Gate()
            let states = await host.state()
            await host.send(ScriptReactor.Action { effect(gate) })
            #expect(await !host.isEnded)
            gate.open()
            for try await _ in states {}
            #expect(await host.isEnded)
        }
        let host = ReactorHost(ScriptReactor())
        await host.perform(
            .concat(.run(id: "a") { try await $0.clock.sleep(for: .seconds(1_000)) }, .end))
        await host.perform(.cancel("a"))
        #expect(await host.isEnded)
    }

    @Test func `a refused action takes it back`() async {
        let host = ReactorHost(ScriptReactor())
        let no = Refusal("no", "No.")
        let probe = CoreProbe()
        // Behind the end nothing is carried out, so only another branch could refuse, before it.
        #expect(
            await host.perform(.concat(.just("1"), .merge(.refuse("no", "No."), .end)))
                == SendResult(accepted: false, version: 0, refusal: no))
        #expect(await !host.isEnded)
        // In a batch the host takes back what an earlier action has decided.
        #expect(!probe.core.beginAttempt())
        probe.perform(.concat(.just("1"), .end))
        #expect(probe.core.endsItself)
        #expect(probe.perform(.just("2")) == .ended)
        probe.core.takeBack(state: [], version: 0)
        #expect(!probe.core.endsItself)
        #expect(probe.perform(.just("2")) == .accepted(version: 1, isSettled: true))
    }

    @Test func `a rolled back commit takes it back`() {
        let probe = CoreProbe()
        probe.perform(.concat(.just("1"), .end))
        probe.core.restore(state: [], version: 0, observer: probe)
        #expect(probe.perform(.just("2")) == .accepted(version: 1, isSettled: true))
    }

    private struct Short: Reactor {
        typealias Action = Int
        typealias Mutation = Int

        let initialState = 0
        var sources: [Source] {
            let (stream, _) = AsyncStream.makeStream(of: Int.self)
            return [.actions(stream, present: 7)]
        }

        func mutate(state: Int, action: Int) -> Effect<Int> { .concat(.just(action), .end) }

        func reduce(state: inout Int, mutation: Int) { state = mutation }
    }

    @Test func `a session that ends before its first answer`() async throws {
        let host = ReactorHost(Short())
        #expect(await host.isEnded)
        #expect(await host.currentState == 7)
        #expect(await host.runningCount == (0, 0))
        var seen: [Int] = []
        for try await state in await host.state() { seen.append(state) }
        #expect(seen == [7])
    }

    @Test func `mapping keeps it`() async {
        let host = ReactorHost(ScriptReactor())
        await host.perform(ScriptEffect.concat(.just("a"), .end).map { $0 + "!" })
        #expect(await host.isEnded)
        #expect(await host.currentState == ["a!"])
    }
}
