import Reactors
import Testing

@Suite(
    "An effect runs in order, its synchronous part before the call returns",
    .timeLimit(.minutes(60)))
struct ReactorCoreTests {
    private let probe = CoreProbe()

    @Test func `mutations of one action are applied in order and counted`() {
        let answer = probe.perform(.concat(.just("a"), .of("b", "c"), .from(["d"]), .empty()))
        #expect(probe.core.state == ["a", "b", "c", "d"])
        #expect(answer == .accepted(version: 4, isSettled: true))
        #expect(probe.core.version == 4)
    }

    @Test func `an empty effect is accepted, settled and no version`() {
        for effect in [ScriptEffect.none, .empty(), .of(), .concat(), .merge(.none, .concat([]))] {
            nonisolated(unsafe) let effect = effect
            #expect(probe.perform(unsafe effect) == .accepted(version: 0, isSettled: true))
        }
    }

    @Test func `a concat waits for its asynchronous step; the call does not`() {
        let answer = probe.perform(.concat(.just("1"), .step("a"), .just("2")))
        #expect(answer == .accepted(version: 1, isSettled: false))
        #expect(probe.core.state == ["1"])
        #expect(probe.send("x", fromStep: 0))
        probe.end(0)
        #expect(probe.core.state == ["1", "x", "2"])
        #expect(
            probe.log.filter { $0.hasPrefix("mutated") } == Array(repeating: "mutated 1", count: 3))
        #expect(probe.settled == [ActionTag(1)])
    }

    @Test func `a merge begins its steps in order, and a waiting one does not delay the next`() {
        probe.perform(
            .merge(.concat(.just("1"), .step("a"), .just("3")), .just("2"), .step("b")))
        #expect(probe.core.state == ["1", "2"])
        probe.end(0)
        #expect(probe.core.state == ["1", "2", "3"])
        #expect(probe.settled.isEmpty)
        probe.end(1)
        #expect(probe.settled == [ActionTag(1)])
    }

    @Test func `a step after a merge waits for all of it`() {
        probe.perform(.concat(.merge(.step("a"), .step("b"), .just("0")), .just("1")))
        probe.end(1)
        #expect(probe.core.state == ["0"])
        probe.end(0)
        #expect(probe.core.state == ["0", "1"])
    }

    @Test func `nested merges and concats keep the written order of synchronous steps`() {
        probe.perform(
            .concat(
                .merge(
                    .concat(
                        .just("1"), .merge(.just("2"), .deferred { _ in .just("3") }), .just("4")),
                    .concat(.step("a"), .just("8")),
                    .merge(.just("5"), .concat(.deferred { _ in .empty() }, .just("6")))),
                .just("9")))
        #expect(probe.core.state == ["1", "2", "3", "4", "5", "6"])
        probe.end(0)
        #expect(probe.core.state == ["1", "2", "3", "4", "5", "6", "8", "9"])
        #expect(probe.settled == [ActionTag(1)])
    }

    @Test func `a deferred effect gets the state at its own turn`() {
        probe.perform(
            .concat(
                .just("a"), .deferred { .just("\($0.count)") }, .step("s"),
                .deferred { .just("\($0.count)") }))
        probe.perform(.of("x", "y"))
        probe.end(0)
        #expect(probe.core.state == ["a", "1", "x", "y", "4"])
    }

    @Test func `an activity is emitted in order and makes no version`() {
        probe.perform(.concat(.just("a"), .emit("hey"), .just("b")))
        #expect(probe.activities == ["hey"])
        #expect(probe.log.dropFirst().prefix(3) == ["mutated 1", "emitted 1", "mutated 1"])
        #expect(probe.core.version == 2)
    }

    @Test func `case 44: every stage once, in order`() {
        let probe = CoreProbe(StagesReactor())
        probe.send(["action"])
        #expect(
            probe.visible == [
                "action", "transformedAction", "mutation", "transformedMutation", "reduce",
                "transformedState",
            ])
        #expect(probe.states == [probe.visible])
    }

    @Test func `case 45: the initial state passes the state transform, not reduce`() {
        #expect(CoreProbe(StagesReactor()).visible == ["transformedState"])
    }

    @Test func `each mutation is computed from the present state`() {
        let probe = CoreProbe(AppendReactor())
        probe.send(.append)
        probe.send(.appendTwice)
        probe.send(.nothing)
        #expect(probe.core.state.items == [0, 1, 2])
        #expect(probe.core.version == 3)
    }

    @Test func `case 11: 20 000 appends through an action never copy the list`() {
        struct Big: Reactor {
            struct State: Sendable { @Pulse var items: [Int] = [] }
            typealias Action = Int
            let initialState: State = {
                var state = State()
                state.items.reserveCapacity(20_001)
                return state
            }()
            func reduce(state: inout State, mutation: Int) { state.items.append(mutation) }
        }
        let probe = AddressProbe(Big(), of: \.items)
        for number in 0..<20_000 { probe.send(number) }
        #expect(probe.addresses.count == 1)
        #expect(probe.core.state.items.count == 20_000)
        // The reservation was the first change in place.
        #expect(probe.core.state.$items.valueUpdatedCount == 20_001)
    }

    @Test func `case 54: the default mutate passes an action through where it is the mutation`() {
        struct Passing: Reactor {
            typealias Action = Int
            let initialState = 0
            func reduce(state: inout Int, mutation: Int) { state += mutation }
        }
        struct Idle: Reactor {
            typealias Action = Int
            typealias Mutation = String
            let initialState = 0
        }
        let passing = CoreProbe(Passing())
        #expect(passing.send(2) == .accepted(version: 1, isSettled: true))
        #expect(passing.core.state == 2)
        #expect(CoreProbe(Idle()).send(2) == .accepted(version: 0, isSettled: true))
    }

    @Test func `case 55: the default reduce keeps the state and makes a version`() {
        struct Unreduced: Reactor {
            typealias Action = Int
            let initialState = 7
        }
        let probe = CoreProbe(Unreduced())
        probe.send(1)
        #expect(probe.core.version == 1)
        #expect(probe.core.state == 7)
    }

    @Test func `a restored state continues from its version, without its effects`() {
        probe.perform(.concat(.just("a"), .step("s"), .just("never")))
        probe.core.restore(state: ["old"], version: 41, observer: probe)
        #expect(probe.cancelled == [probe.started[0].id])
        #expect(probe.settled == [ActionTag(1)])
        #expect(!probe.send("late", fromStep: 0))
        probe.end(0)
        #expect(probe.perform(.just("b")) == .accepted(version: 42, isSettled: true))
        #expect(probe.core.state == ["old", "b"])
    }
}

/// Records the address of an array after every mutation. Only compared, never read from.
private final class AddressProbe<R: Reactor>: ReactorCoreObserver {
    let core: ReactorCore<R>
    private let path: KeyPath<R.State, [Int]>
    private(set) var addresses: Set<UInt> = []

    init(_ reactor: R, of path: KeyPath<R.State, [Int]>) {
        core = ReactorCore(reactor: reactor)
        self.path = path
    }

    func send(_ action: R.Action) { _ = core.receive(action, tag: ActionTag(1), observer: self) }

    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>) {
        let list = core.state[keyPath: path]
        addresses.insert(unsafe list.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) })
    }

    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>) {}
    func failed(_ failure: ReactorFailure) {}
    func start(_ run: EffectRun<R>) {}
    func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag) {}
    func settled(_ action: ActionTag) {}
}
