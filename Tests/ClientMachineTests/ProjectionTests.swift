import Reactors
import Synchronization
import Testing

@testable import ClientMachine

/// Adds numbers; a step and an activity that a prediction must not carry out.
private struct Sum: Reactor {
    enum Action: Codable, Sendable { case add(Int), refuse, decline, run }
    enum Mutation: Sendable { case set(Int) }
    struct State: Codable, Sendable, Equatable { var sum = 0 }
    typealias Activity = String

    let initialState = State()

    func transform(action: Action) throws -> Action? {
        if case .refuse = action { nil } else { action }
    }

    func mutate(state: State, action: Action) -> Effect<Mutation> {
        switch action {
        case .add(let number): .just(.set(state.sum + number))
        case .refuse: .just(.set(-1))
        case .decline: .concat(.just(.set(-1)), .refuse("no", "No."))
        case .run:
            .concat(
                .just(.set(state.sum * 2)), .emit("doubled"),
                .run { _ in Issue.record("a prediction starts no step") })
        }
    }

    func reduce(state: inout State, mutation: Mutation) {
        if case .set(let sum) = mutation { state.sum = sum }
    }
}

@Suite("R3, R4, R9: the shown state", .timeLimit(.minutes(60)))
struct ProjectionTests {
    private func entry(_ ticket: UInt64, _ actions: String...) -> OutboxEntry {
        OutboxEntry(
            ticket: Ticket(ticket), session: room, actions: actions.map { Array($0.utf8) })
    }

    private func projection(sum: Int) -> Projection<Sum.Action, Sum.State> {
        var projection = Projection(predicting: Sum())
        projection.confirm(Array(#"{"sum":\#(sum)}"#.utf8))
        projection.show(ShownChange(advancesBase: true))
        return projection
    }

    @Test func `R4: the reactor's own synchronous part predicts, and nothing else of it`() {
        var projection = projection(sum: 3)
        projection.show(
            ShownChange(joined: [
                entry(1, #"{"add":{"_0":4}}"#, #"{"run":{}}"#), entry(2, #"{"refuse":{}}"#),
            ]))
        #expect(projection.shown == Sum.State(sum: 14))
        #expect(projection.confirmed == Sum.State(sum: 3))
    }

    @Test func `R4: of a send that the reactor would refuse nothing is shown`() {
        var projection = projection(sum: 3)
        projection.show(
            ShownChange(joined: [
                entry(1, #"{"add":{"_0":4}}"#), entry(2, #"{"decline":{}}"#),
                entry(3, #"{"add":{"_0":5}}"#, #"{"decline":{}}"#, #"{"add":{"_0":6}}"#),
                entry(4, #"{"add":{"_0":10}}"#),
            ]))
        #expect(projection.shown == Sum.State(sum: 17))
    }

    @Test func `R3: unconfirmed actions are reduced over each new confirmed state`() {
        var projection = projection(sum: 3)
        projection.show(ShownChange(joined: [entry(1, #"{"add":{"_0":4}}"#)]))
        projection.show(ShownChange(joined: [entry(2, #"{"add":{"_0":10}}"#)]))
        #expect(projection.shown?.sum == 17)
        projection.confirm(Array(#"{"sum":100}"#.utf8))
        #expect(projection.shown?.sum == 17)
        #expect(projection.confirmed?.sum == 100)
        projection.show(ShownChange(advancesBase: true, left: [Ticket(1)]))
        #expect(projection.shown?.sum == 110)
        projection.show(ShownChange(left: [Ticket(2)]))
        #expect(projection.shown?.sum == 100)
    }

    @Test func `while the state below is held, a further action shows at once`() {
        var projection = projection(sum: 3)
        projection.confirm(Array(#"{"sum":100}"#.utf8))
        projection.show(ShownChange(joined: [entry(1, #"{"add":{"_0":4}}"#)]))
        #expect(projection.shown?.sum == 7)
    }

    @Test func `R8: a send that joins again is reduced in its own order`() {
        var projection = projection(sum: 3)
        projection.show(ShownChange(joined: [entry(2, #"{"run":{}}"#)]))
        #expect(projection.shown?.sum == 6)
        projection.show(ShownChange(joined: [entry(1, #"{"add":{"_0":4}}"#)]))
        #expect(projection.shown?.sum == 14)
    }

    @Test func `without a reactor the confirmed state is shown`() {
        var projection = Projection<Sum.Action, Sum.State>()
        projection.confirm(Array(#"{"sum":5}"#.utf8))
        projection.show(
            ShownChange(advancesBase: true, joined: [entry(1, #"{"add":{"_0":4}}"#)]))
        #expect(projection.shown?.sum == 5)
    }

    @Test func `R9: a state that cannot be decoded leaves the last good one`() {
        var projection = projection(sum: 3)
        projection.confirm(Array(#"{"sum":"many"}"#.utf8))
        projection.show(ShownChange(advancesBase: true))
        #expect(projection.shown?.sum == 3)
        #expect(projection.undecodable?.reason.contains("/sum") == true)
        projection.confirm(Array(#"{"sum":9}"#.utf8))
        projection.show(ShownChange(advancesBase: true))
        #expect(projection.shown?.sum == 9)
        #expect(projection.undecodable == nil)
    }

    @Test func `an action of another program is not predicted`() {
        var projection = projection(sum: 3)
        projection.show(
            ShownChange(joined: [
                entry(1, #"{"multiply":{"_0":4}}"#), entry(2, #"{"add":{"_0":1}}"#),
            ]))
        #expect(projection.shown?.sum == 4)
    }

    @Test func `a prediction that is confirmed before anybody asks is never made`() {
        let counter = Counter()
        var projection = Projection<Sum.Action, Sum.State>(predicting: Counting(counter: counter))
        projection.confirm(Array(#"{"sum":3}"#.utf8))
        projection.show(ShownChange(advancesBase: true))
        projection.show(ShownChange(joined: [entry(1, #"{"add":{"_0":4}}"#)]))
        projection.confirm(Array(#"{"sum":7}"#.utf8))
        projection.show(ShownChange(advancesBase: true, left: [Ticket(1)]))
        #expect(projection.makeShown()?.sum == 7)
        #expect(counter.count == 0)
    }

    @Test func `of a shown state that was made only what joined since is reduced`() {
        let counter = Counter()
        var projection = Projection<Sum.Action, Sum.State>(predicting: Counting(counter: counter))
        projection.confirm(Array(#"{"sum":3}"#.utf8))
        projection.show(ShownChange(advancesBase: true))
        for number in 1...5 as ClosedRange<UInt64> {
            projection.show(ShownChange(joined: [entry(number, #"{"add":{"_0":1}}"#)]))
            #expect(projection.makeShown()?.sum == 3 + Int(number))
            #expect(projection.makeShown()?.sum == 3 + Int(number))
        }
        #expect(counter.count == 5)
    }
}

private final class Counter: Sendable {
    private let value = Atomic(0)
    var count: Int { value.load(ordering: .relaxed) }
    func increment() { value.add(1, ordering: .relaxed) }
}

/// Counts its reductions.
private struct Counting: Reactor {
    typealias Action = Sum.Action
    typealias Mutation = Int

    let counter: Counter
    let initialState = Sum.State()

    func mutate(state: Sum.State, action: Sum.Action) -> Effect<Int> {
        if case .add(let number) = action { .just(number) } else { .none }
    }

    func reduce(state: inout Sum.State, mutation: Int) {
        counter.increment()
        state.sum += mutation
    }
}
