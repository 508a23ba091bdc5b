import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("Case 144 — a large state is encoded once for all readers", .timeLimit(.minutes(60)))
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

    @Test func `a large state exists once, in the event, in snapshots and in responses`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .sized())
        rig.settleAll()
        let live = rig.subscribe(session, .allStates, .snapshot)
        _ = rig.subscribe(session, .allStates, .snapshot, capacity: 0)
        // The first one is encoded with its record, because the state before it is small.
        for size in [300_000, 300_001] {
            try rig.act("{\"size\":\(size)}", on: session)
            rig.settleAll()
        }
        let stream = try #require(session.streams.all.first)
        let shown = try #require(session.table.shown?.present(of: session))
        var pieces: [UInt] = []
        stream.read(from: stream.offset(after: HistoryPosition(1))) { span in
            unsafe span.withUnsafeBufferPointer { pieces.append(UInt(bitPattern: $0.baseAddress)) }
            return true
        }
        let state = unsafe shown.bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        #expect(pieces.contains(state))
        // The fields around the state must not double the memory.
        #expect(pieces.count == 3)
        let opener = try #require(StreamOpener(session.feed))
        let request = SubscriptionRequest(token: live, selection: .allStates, start: .snapshot)
        let snapshot = try #require(try opener.snapshotAhead(for: request))
        let sent = unsafe snapshot.bytes.withUnsafeBufferPointer {
            UInt(bitPattern: $0.baseAddress)
        }
        #expect(sent == state)
        let received = String(decoding: rig.output.bytes(of: live), as: UTF8.self)
        let text = String(decoding: shown.bytes, as: UTF8.self)
        #expect(received.hasSuffix("\ndata: \(text)\n\n"))
    }

    /// The address of the state's bytes in the reply.
    private func storage(_ rig: Rig, _ token: UInt64) -> UInt? {
        guard case .state(let state, _)? = rig.answer(token)?.kind else { return nil }
        return unsafe state.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }
}
