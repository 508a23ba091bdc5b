import Cyclers
import Feeds
import Reactors
import Sessions
import Storage
import Testing

@Suite(
    "Case 151 — an action that ends the process is begun three times at most",
    .timeLimit(.minutes(60)))
struct PoisonTests {
    /// Its effect never ends by itself, so it runs whenever the process ends.
    private struct Endless: Reactor {
        enum Action: TaggedCodable, Sendable { case go, other }
        typealias Mutation = Action
        struct State: Codable, Sendable { var begun = 0 }
        let initialState = State()

        func mutate(action: Action) -> Effect<Action> {
            guard case .go = action else { return .just(.other) }
            return .concat(
                .just(.go),
                .run { _ in
                    let never = AsyncStream<Void> { _ in }
                    for await _ in never {}
                })
        }

        func reduce(state: inout State, mutation: Action) { state.begun += 1 }

        func recovery(of action: Action) -> Recovery { .runAgain }
    }

    private static func registration(_ isCycler: Bool) throws -> Registration {
        guard isCycler else { return try .of { Endless() } }
        return try Registration(
            name: "fixture", activities: ["said"], examples: [], makeCycler: { Cashier() })
    }

    @Test(arguments: [false, true])
    func `case 151: the action is then abandoned with a failure, and its session works`(
        isCycler: Bool
    )
        throws
    {
        let registration = try Self.registration(isCycler)
        var rig = Rig(answers: true)
        let body = isCycler ? Cashier.charge(5) : #"{"type":"go"}"#
        try rig.act(body, on: rig.create("s", registration))
        for begun in 2...5 {
            rig.table.stop()
            rig = Rig(journal: rig.journal, registrations: [registration])
            guard case .session(let session) = try rig.wake("s") else {
                throw Rig.NoSession(id: "s")
            }
            rig.settleAll()
            #expect(session.position.number > 0)
            #expect(rig.journal.keptBatch.started.count == min(begun, 3))
        }
        #expect(rig.journal.keptBatch.started.map(\.begun) == [1, 2, 3])
        let failures = rig.journal.kept.filter { $0.kind == .failure }
        #expect(failures.count == 1)
        let failure = String(decoding: failures.first?.content ?? [], as: UTF8.self)
        #expect(failure.contains("abandoned: it was begun 3 times"), "\(failure)")
        let other = isCycler ? Cashier.add(1) : #"{"type":"other"}"#
        let session = try rig.session("s")
        let version = session.version
        try rig.act(other, on: session)
        #expect(session.version == version + 1)
    }
}
