import Feeds
import Sessions
import Testing

@Suite("A snapshot that waits for its commit", .timeLimit(.minutes(60)))
struct LateSnapshotTests {
    // Without the rule: the stream begins with an id and later events, and the client has no state.
    @Test func `memory drops its record meanwhile, and the stream begins with a newer one`()
        async throws
    {
        let rig = Rig(
            slow: true, answers: true, registrations: [try .ledger()],
            retention: Retention(records: 2, bytes: 100_000))
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.act(Post.set(1), on: session)
        let reader = rig.subscribe(session, .allStates)
        for number in 2...8 { try rig.act(Post.set(number), on: session) }
        rig.settleAll()
        rig.drainInbox()
        try rig.act(Post.set(9), on: session)
        rig.settleAll()
        rig.drainInbox()
        let lines = rig.lines(reader)
        #expect(lines.first?.hasPrefix("snapshot ") == true)
        #expect(lines.last?.hasPrefix("state 9 ") == true)
    }
}
