import Reactors
import Testing

@Suite("An effect without end is a failure, not a crash")
struct EffectLimitTests {
    private let probe = CoreProbe()

    private var limits: [EffectLimitReached] {
        probe.failures.compactMap { $0.error as? EffectLimitReached }
    }

    @Test func `a deferred that returns itself ends after 100 000 steps`() {
        @Sendable func again() -> ScriptEffect { .deferred { _ in again() } }
        let answer = probe.perform(.concat(.just("1"), again(), .just("never")))
        #expect(answer == .accepted(version: 1, isSettled: true))
        #expect(limits == [.steps])
        #expect(probe.perform(.just("2")) == .accepted(version: 2, isSettled: true))
    }

    @Test func `steps that an endless one held up in a merge never begin`() {
        @Sendable func again() -> ScriptEffect { .deferred { _ in again() } }
        probe.perform(.concat(.merge(again(), .just("never")), .just("never")))
        #expect(probe.core.state.isEmpty)
        #expect(limits == [.steps])
    }

    @Test func `a recursion that leaves something to do behind it is too deep`() {
        @Sendable func deeper() -> ScriptEffect {
            .concat(.deferred { _ in deeper() }, .just("never"))
        }
        probe.perform(deeper())
        #expect(limits == [.depth])
        #expect(probe.core.state.isEmpty)
    }

    @Test func `two effects that cancel each other for ever are stopped`() {
        @Sendable func again() -> ScriptEffect {
            .concat(.step("x", .latest), .deferred { _ in again() })
        }
        probe.perform(again())
        probe.perform(again())
        #expect(limits == [.steps])
        #expect(probe.core.runningCount == 1)
        #expect(probe.perform(.just("1")) == .accepted(version: 1, isSettled: true))
    }

    @Test func `a chain that renews itself behind a step can do so for ever`() {
        @Sendable func again() -> ScriptEffect {
            .concat(.step("tick"), .just("x"), .deferred { _ in again() })
        }
        probe.perform(again())
        for index in 0..<3000 { probe.end(index) }
        #expect(probe.core.version == 3000)
        #expect(probe.failures.isEmpty)
        #expect(probe.core.runningCount == 1)
    }

    @Test func `effects joined in a loop do not nest`() {
        var concat = ScriptEffect.deferred { _ in .just("0") }
        var merge = ScriptEffect.deferred { _ in .just("0") }
        for number in 1...2000 {
            concat = .concat(concat, .just("\(number)"))
            merge = .merge(merge, .just("\(number)"))
        }
        nonisolated(unsafe) let (a, b) = (concat, merge)
        probe.perform(unsafe a)
        probe.perform(unsafe b)
        let expected = (0...2000).map { "\($0)" }
        #expect(probe.core.state == expected + expected)
        #expect(probe.failures.isEmpty)
    }

    @Test func `a value nested deeper than 500 levels is an error when it is carried out`() {
        var effect = ScriptEffect.deferred { _ in .just("deep") }
        for _ in 0..<250 { effect = .merge(.concat(effect, .just("a")), .just("b")) }
        nonisolated(unsafe) let fits = effect
        probe.perform(unsafe fits)
        #expect(limits.isEmpty)
        #expect(probe.core.version == 501)
        nonisolated(unsafe) let tooDeep = ScriptEffect.concat(effect, .just("c"))
        probe.perform(unsafe tooDeep)
        #expect(limits == [.depth])
    }

    @Test func `the 1001st running step is refused`() {
        for _ in 0..<1000 { probe.perform(.step("x")) }
        probe.perform(.concat(.step("x"), .just("never")))
        #expect(probe.core.runningCount == 1000)
        #expect(limits == [.running])
        probe.end(0)
        probe.perform(.step("x"))
        #expect(probe.core.runningCount == 1000)
        #expect(limits == [.running])
    }
}
