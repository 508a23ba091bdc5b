import Reactors
import Sessions
import Storage
import Testing

/// Counts as many steps as each action says, and refuses an action if its request has more than 10
/// million of them.
private struct Digger: MeteredReactor {
    typealias Action = Int

    struct State: Codable, Sendable { var depth = 0 }

    let initialState = State()
    let work = RequestWork()

    func mutate(state: State, action: Int) -> Effect<Int> {
        work.count(action)
        return work.steps > 10_000_000 ? .refuse("too_deep", "Too deep.") : .just(action)
    }

    func reduce(state: inout State, mutation: Int) { state.depth += mutation }
}

@Suite("S29 — the work of a request", .timeLimit(.minutes(60)))
struct RequestWorkTests {
    @Test func `it is counted over all actions of one request`() throws {
        let rig = Rig()
        let session = try rig.create("s", .of { Digger() })
        #expect(try rig.refusal(of: "[5000000,5000000]", on: session) == nil)
        #expect(try rig.refusal(of: "[5000000,5000001]", on: session) != nil)
        #expect(try rig.refusal(of: "10000000", on: session) == nil)
        #expect(session.version == 3)
    }

    @Test func `it brings a snapshot forward, so that a load repeats little of it`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .of { Digger() })
        for _ in 0..<10 { try rig.act("1", on: session) }
        #expect(rig.journal.keptBatch.snapshots.count == 1)
        for _ in 0..<10 { try rig.act("4000000", on: session) }
        #expect(rig.journal.keptBatch.snapshots.count >= 4)
    }
}
