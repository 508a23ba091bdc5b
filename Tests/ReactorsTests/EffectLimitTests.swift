import Reactors
import Testing

@Suite("An endless effect is a failure, not a crash", .timeLimit(.minutes(60)))
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

    @Test func `steps after an endless one in a merge never begin`() {
        @Sendable func again() -> ScriptEffect { .deferred { _ in again() } }
        probe.perform(.concat(.merge(again(), .just("never")), .just("never")))
        #expect(probe.core.state.isEmpty)
        #expect(limits == [.steps])
    }

    @Test func `a recursion with work left after it becomes too deep`() {
        @Sendable func deeper() -> ScriptEffect {
            .concat(.deferred { _ in deeper() }, .just("never"))
        }
        probe.perform(deeper())
        #expect(limits == [.depth])
        #expect(probe.core.state.isEmpty)
    }

    @Test func `two effects that cancel each other endlessly are stopped`() {
        @Sendable func again() -> ScriptEffect {
            .concat(.step("x", .latest), .deferred { _ in again() })
        }
        probe.perform(again())
        probe.perform(again())
        #expect(limits == [.steps])
        #expect(probe.core.runningCount == 1)
        #expect(probe.perform(.just("1")) == .accepted(version: 1, isSettled: true))
    }

    @Test func `a chain that renews itself after a step may run forever`() {
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

    @Test func `a value nested deeper than 500 levels is an error when it runs`() {
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

/// The test supplies the effect of an action; the state is a number, so that many mutations are
/// cheap.
private struct Repeater: Reactor {
    enum Action: Sendable {
        case concat(Int)
        case list(Int)
        /// A step, then a list, both in a tree.
        case behindAStep(Int)
        case deferred(Int)
    }

    typealias Mutation = Int

    let initialState = 0

    func mutate(action: Action) -> Effect<Int> {
        switch action {
        case .concat(let count): .concat(Array(repeating: .just(1), count: count))
        case .list(let count): .from(Array(repeating: 1, count: count))
        case .behindAStep(let count):
            .concat(.deferred { _ in .just(1) }, .from(Array(repeating: 1, count: count)))
        case .deferred(let count): .deferred { _ in .from(Array(repeating: 1, count: count)) }
        }
    }

    func reduce(state: inout Int, mutation: Int) { state += mutation }
}

@Suite(
    "Case 153 — a turn runs at most 100 000 steps, and each mutation is one",
    .timeLimit(.minutes(60))
)
struct TurnLimitTests {
    private let probe = CoreProbe(Repeater())

    private var limits: [EffectLimitReached] {
        probe.failures.compactMap { $0.error as? EffectLimitReached }
    }

    @Test func `100 000 mutations are applied, and of 100 001 none`() {
        probe.send(.list(100_000))
        #expect(probe.core.version == 100_000)
        #expect(limits.isEmpty)
        probe.send(.list(100_001))
        #expect(probe.core.version == 100_000)
        #expect(limits == [.steps])
    }

    @Test func `a concat of 1 000 000 mutations is refused as a whole`() {
        probe.send(.concat(1_000_000))
        #expect(probe.core.version == 0)
        #expect(limits == [.steps])
        probe.send(.concat(2))
        #expect(probe.core.version == 2)
    }

    @Test func `mutations before a list that does not fit stay`() {
        // The concat, the deferred and its mutation are three steps.
        probe.send(.behindAStep(99_998))
        #expect(probe.core.version == 99_999)
        #expect(limits.isEmpty)
        probe.send(.behindAStep(99_999))
        #expect(probe.core.version == 100_000)
        #expect(limits == [.steps])
    }

    @Test func `a list that is created on demand is counted too`() {
        probe.send(.deferred(100_000))
        #expect(probe.core.version == 100_000)
        probe.send(.deferred(100_001))
        #expect(probe.core.version == 100_000)
        #expect(limits == [.steps])
    }
}
