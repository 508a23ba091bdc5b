import Reactors
import Testing

@Suite("A failure is a record that names its action; the session lives", .timeLimit(.minutes(60)))
struct FailureTests {
    private let probe = CoreProbe()

    private var places: [String] {
        probe.failures.map { "\($0.place.rawValue) \($0.action.number)" }
    }

    @Test func `case 77: mutations before a failure stay, and later actions work`() {
        for number in 1...5 {
            probe.perform(
                number == 3
                    ? .concat(.just("3"), .error(Mishap()), .just("never")) : .just("\(number)"))
        }
        #expect(probe.core.state == ["1", "2", "3", "4", "5"])
        #expect(places == ["effect 3"])
        #expect(probe.failures[0].error is Mishap)
    }

    @Test func `case 77: a step that throws ends its concat`() {
        probe.perform(.concat(.step("a"), .just("never")))
        probe.send("1", fromStep: 0)
        probe.end(0, failure: Mishap())
        #expect(probe.core.state == ["1"])
        #expect(places == ["effect 1"])
        #expect(probe.settled == [ActionTag(1)])
    }

    @Test func `case 78: a step that ends without sending is no failure`() {
        probe.perform(.concat(.step("a"), .just("1")))
        probe.end(0)
        #expect(probe.core.state == ["1"])
        #expect(probe.failures.isEmpty)
    }

    @Test func `a deferred that throws fails as an error does`() {
        probe.perform(.concat(.just("1"), .deferred { _ in throw Mishap() }, .just("never")))
        #expect(probe.core.state == ["1"])
        #expect(places == ["effect 1"])
    }

    @Test
    func `a failure in a merge leaves its other steps running and skips what follows`() {
        probe.perform(
            .concat(
                .merge(
                    .concat(.just("1"), .error(Mishap()), .just("never")), .just("2"),
                    .concat(.step("a"), .just("3"))),
                .just("never")))
        #expect(probe.core.state == ["1", "2"])
        probe.end(0)
        #expect(probe.core.state == ["1", "2", "3"])
        #expect(places == ["effect 1"])
        #expect(probe.settled == [ActionTag(1)])
    }

    @Test func `case 89: a failing hook rejects, drops or shows the bare state; the session lives`()
    {
        let probe = CoreProbe(HookedReactor())
        #expect(probe.send("poison action") == .rejected)
        #expect(probe.send("poison mutation") == .accepted(version: 0, isSettled: true))
        #expect(probe.send("poison state") == .accepted(version: 1, isSettled: true))
        #expect(probe.visible == ["poison state"])
        #expect(probe.visible == ["poison state"])
        #expect(
            probe.failures.map(\.place) == [
                .transformAction, .transformMutation, .transformState,
            ])
        #expect(probe.failures.map(\.action.number) == [1, 2, 0])
        probe.send("good")
        #expect(probe.core.state == ["poison state", "good"])
    }

    @Test func `case 92: a transform that returns nil rejects the action without a trace`() {
        let probe = CoreProbe(HookedReactor())
        #expect(probe.send("drop action") == .rejected)
        #expect(probe.core.version == 0)
        #expect(probe.log == ["rejected drop action"])
    }

    @Test func `case 93: mutate sees the rewritten action, the log both`() {
        let probe = CoreProbe(HookedReactor())
        probe.send("rewrite action")
        #expect(probe.core.state == ["rewritten"])
        #expect(probe.log.first == "accepted rewrite action as rewritten")
    }

    @Test func `case 94: reduce gets the result of the mutation transform, or nothing`() {
        let probe = CoreProbe(HookedReactor())
        #expect(probe.send("drop mutation") == .accepted(version: 0, isSettled: true))
        #expect(probe.dropped == [.transform])
        probe.send("rewrite mutation")
        #expect(probe.core.state == ["rewritten"])
        #expect(probe.mutations == ["rewritten"])
    }

    @Test func `case 98: the state transform decorates the shown state, and reduce never gets it`()
    {
        struct Shown: Reactor {
            typealias Action = Int
            let initialState = 0
            func reduce(state: inout Int, mutation: Int) { #expect(state == 0) }
            func transform(state: Int) throws -> Int { state + 1 }
        }
        let probe = CoreProbe(Shown())
        for _ in 0..<3 { probe.send(0) }
        #expect(probe.states == [1, 1, 1])
        #expect(probe.visible == 1)
        #expect(probe.core.state == 0)
    }
}

/// Treats an action or a mutation as its text says.
private struct HookedReactor: Reactor {
    typealias Action = String
    typealias State = [String]

    var initialState: [String] { [] }

    private func hook(_ text: String, _ kind: String) throws -> String? {
        switch text {
        case "poison \(kind)": throw Mishap()
        case "drop \(kind)": nil
        case "rewrite \(kind)": "rewritten"
        default: text
        }
    }

    func transform(action: String) throws -> String? { try hook(action, "action") }
    func transform(mutation: String) throws -> String? { try hook(mutation, "mutation") }
    func transform(state: [String]) throws -> [String] {
        if state.last == "poison state" { throw Mishap() }
        return state
    }
    func mutate(action: String) -> Effect<String> { .just(action) }
    func reduce(state: inout [String], mutation: String) { state.append(mutation) }
}
