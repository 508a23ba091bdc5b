import Reactors
import Synchronization
import TestStreams
import Testing

@Suite("The key of a step", .timeLimit(.minutes(60)))
struct StepKeyTests {
    private func steps(of effect: @escaping @Sendable () -> ScriptEffect) -> [String] {
        let probe = CoreProbe()
        probe.send(ScriptReactor.Action(effect: effect))
        var next = 0
        while next < probe.started.count {
            probe.end(next)
            next += 1
        }
        return probe.started.map { "\($0.effectID.map(\.name) ?? "-") \($0.step)" }
    }

    @Test func `counts in a sequence, and in each branch of its own`() {
        #expect(steps { .step("a") } == ["a 1"])
        #expect(
            steps { .concat(.just("x"), .step("a"), .concat(.step("b"), .just("y")), .step("c")) }
                == ["a 1", "b 2", "c 3"])
        #expect(
            steps {
                .concat(
                    .step("a"),
                    .merge(.concat(.step("b"), .step("c")), .step("d")), .step("e"))
            } == ["a 1", "b 2.1.1", "d 2.2.1", "c 2.1.2", "e 3"])
        #expect(
            steps { .concat(.step("a"), .deferred { _ in .concat(.step("b"), .step("c")) }) }
                == ["a 1", "b 2", "c 3"])
    }

    @Test func `is the same in whichever order the branches end`() {
        func steps(_ order: [Int]) -> Set<String> {
            let probe = CoreProbe()
            probe.perform(
                .merge(.concat(.step("a"), .step("b")), .concat(.step("c"), .step("d"))))
            for index in order { probe.end(index) }
            return Set(probe.started.map { "\($0.effectID.map(\.name) ?? "-") \($0.step)" })
        }
        #expect(steps([0, 1]) == steps([1, 0]))
        #expect(steps([0, 1]) == ["a 1.1.1", "b 1.1.2", "c 1.2.1", "d 1.2.2"])
    }

    @Test func `a step that does not begin has its number all the same`() {
        let probe = CoreProbe()
        probe.perform(.step("a"))
        probe.perform(.merge(.step("a", .first), .concat(.step("a", .first), .step("b"))))
        #expect(probe.started.map(\.step) == ["1", "1.2.2"])
    }

    @Test func `a request that is rolled back counts nothing`() {
        let probe = CoreProbe()
        probe.perform(.concat(.step("a"), .step("b"), .step("c")))
        #expect(probe.core.beginAttempt())
        probe.perform(.cancel("a"))
        #expect(probe.started.last?.step == "2")
        probe.core.takeBack(state: [], version: 0)
        probe.end(0)
        #expect(probe.started.last?.step == "2")
    }

    @Test func `a host's keys are its own, and a mapped step has the same one`() async throws {
        let keys = Mutex<[String]>([])
        @Sendable func record(_ key: String) { keys.withLock { $0.append(key) } }
        for _ in 0..<2 {
            let host = ReactorHost(ScriptReactor())
            await host.perform(
                .concat(
                    .run { record($0.key) },
                    ScriptEffect.run { record($0.key) }.map { $0 }))
            await host.settled()
            await host.perform(.run { record($0.key) })
            await host.settled()
        }
        let all = keys.withLock { $0 }
        let names = all.map { $0.split(separator: ".").dropLast(2).joined(separator: ".") }
        #expect(Set(names).count == 2)
        #expect(names[0].hasPrefix("local."))
        #expect(all.prefix(3).map { $0.dropFirst(names[0].count) } == [".1.1", ".1.2", ".2.1"])
    }
}
