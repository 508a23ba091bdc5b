import Sessions
import Testing

@Suite("Case 144 — a large state is encoded once for all readers", .timeLimit(.minutes(15)))
struct ShownStateTests {
    @Test func `a large state is encoded once while it is current`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.act(Post.fill(20000), on: session)
        rig.settleAll()
        let first = rig.read(session)
        let second = rig.read(session)
        #expect(storage(rig, first) != nil)
        #expect(storage(rig, first) == storage(rig, second))
        // Its number is used again after its commit has failed.
        try rig.act(Post.fill(30000), on: session)
        _ = rig.read(session)
        rig.settle(.full)
        try rig.act(Post.fill(40000), on: session)
        #expect(rig.state(session).utf8.count > 80_000)
        #expect(rig.state(session, version: 1).utf8.count < 50_000)
    }

    @Test func `a stub's state is shown at once`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.fill(20000), on: session)
        let state = rig.state(session)
        #expect(rig.state(session) == state)
        for name in ["y", "z"] {
            let other = state.replacing("x", with: name)
            try session.putStub(
                Array("{\"enabled\":true,\"state\":\(other)}".utf8), for: rig.nextToken())
            rig.endRound()
            #expect(rig.state(session) == other)
        }
    }

    /// The address of the state's bytes in the reply.
    private func storage(_ rig: Rig, _ token: UInt64) -> UInt? {
        guard case .state(let state, _)? = rig.answer(token)?.kind else { return nil }
        return unsafe state.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }
}
