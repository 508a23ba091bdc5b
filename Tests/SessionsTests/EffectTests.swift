import Feeds
import Reactors
import Sessions
import Storage
import TestStreams
import Testing

@Suite(
    "Contract §2 — effects begin after the commit and send mutations back", .timeLimit(.minutes(60))
)
struct EffectTests {
    @Test func `an effect begins when its step is committed, and not before`() async throws {
        let (rig, session, gate) = try begun(slow: true)
        try rig.act(Post.start("a"), on: session)
        gate.open()
        #expect(gate.arrivals == 0)
        rig.settle()
        await gate.hasArrivals(1)
        await rig.work { session.version == 2 }
        #expect(rig.state(session) == #"{"count":1,"worked":[1]}"#)
    }

    @Test func `the effects of a step that failed never begin`() async throws {
        let (rig, session, gate) = try begun(slow: true)
        try rig.act(Post.start("a"), on: session)
        rig.settle(.full)
        try rig.act(Post.quiet("b"), on: session)
        rig.settle(.full)
        gate.open()
        try rig.act(Post.start("c"), on: session)
        rig.settle()
        await rig.work { session.version == 2 }
        #expect(gate.arrivals == 1)
        #expect(rig.state(session) == #"{"count":1,"worked":[1]}"#)
    }

    @Test func `a rolled back step does not block a later one of its name`() async throws {
        let (rig, session, gate) = try begun(slow: true)
        // Without a mutation: no version is rolled back, only the effect that was to begin.
        try rig.act(Post.first, on: session)
        rig.settle(.full)
        try rig.act(Post.first, on: session)
        rig.settle()
        gate.open()
        await rig.work { session.version == 1 }
        #expect(gate.arrivals == 1)
    }

    @Test func `a cancellation stays in force when its step is rolled back`() async throws {
        let (rig, session, gate) = try begun(slow: true)
        try rig.act(Post.start("a"), on: session)
        rig.settle()
        await gate.hasArrivals(1)
        try rig.act(Post.cancel("a"), on: session)
        rig.settle(.full)
        gate.open()
        await rig.work { rig.notes.contains("dropped a mutation") }
        #expect(session.version == 1)
    }

    @Test func `case 37: mutations of an effect come later, with a later id`() async throws {
        let (rig, session, gate) = try begun()
        let reader = rig.subscribe(session, .allStates, .now)
        let post = try rig.act(Post.start("a"), on: session)
        #expect(rig.line(post) == "received v1 n1")
        gate.open()
        await rig.work { session.version == 2 }
        #expect(rig.lines(reader).last == #"state 2 {"count":1,"worked":[1]}"#)
    }

    @Test func `a task waits until its mutation is committed`() async throws {
        let (rig, session, gate) = try begun()
        gate.open()
        try rig.act(Post.stubborn, on: session)
        rig.journal.setImmediate(false)
        for value in 1...3 {
            await rig.inbox.hasJob()
            rig.drainInbox()
            rig.endRound()
            #expect(rig.journal.pendingCount == 1, "it runs ahead by one send at the most")
            #expect(session.version == UInt64(value - 1))
            rig.settle()
        }
        #expect(session.version == 3)
    }

    // Before, the record of the failure was refused for the same reason, and so was the next
    // request.
    @Test func `a mutation that makes too much is dropped, and the next request is not`()
        async throws
    {
        let (rig, session, gate) = try begun()
        // Less than the output of the effect's mutation.
        rig.table.limits.turnBytes = 24
        try rig.act(Post.start("a"), on: session)
        gate.open()
        await rig.work { rig.journal.kept.contains { $0.kind == .failure } }
        let token = try rig.act(Post.count, on: session)
        #expect(rig.line(token) == "received v2 n3")
        #expect(rig.state(session) == #"{"count":2,"worked":[]}"#)
    }

    @Test func `case 84: latest – only the last result is reduced`() async throws {
        let (rig, session, gate) = try begun()
        for value in 1...3 { try rig.act(Post.latest(value), on: session) }
        await gate.hasArrivals(3)
        gate.open()
        await rig.work { session.version == 1 && rig.notes.count == 2 }
        #expect(rig.state(session) == #"{"count":0,"worked":[3]}"#)
        #expect(rig.notes == ["dropped a mutation", "dropped a mutation"])
    }

    @Test func `case 85: first – a second one is ignored while one runs`() async throws {
        let (rig, session, gate) = try begun()
        try rig.act(Post.first, on: session)
        try rig.act(Post.first, on: session)
        gate.open()
        await rig.work { session.version == 1 }
        #expect(gate.arrivals == 1)
    }

    @Test func `case 81: cancelling is per session`() async throws {
        let (rig, first, gate) = try begun()
        let second = try rig.create("t", .of { Worker(gate: gate) })
        try rig.act(Post.quiet("a"), on: first)
        try rig.act(Post.quiet("a"), on: second)
        await gate.hasArrivals(2)
        try rig.act(Post.cancel("a"), on: first)
        gate.open()
        await rig.work { second.version == 1 && rig.notes.count == 1 }
        #expect(first.version == 0)
    }

    @Test
    func `case 77: a failing effect leaves its mutations and a record; the session lives`() throws {
        let (rig, session, _) = try begun()
        let post = try rig.act(Post.fail, on: session)
        #expect(rig.line(post) == "received v2 n3")
        #expect(rig.journal.kept.map(\.kind) == [.created, .mutation, .mutation, .failure])
        #expect(rig.notes == ["failed effect Failure()"])
        try rig.act(Post.count, on: session)
        #expect(session.version == 3)
        #expect(session.position.number == 4)
    }

    @Test func `case 90: wait=settled replies when everything that the action started has ended`()
        async throws
    {
        let (rig, session, gate) = try begun()
        let token = try rig.post(Post.start("a"), to: session, waits: true)
        rig.endRound()
        try rig.act(Post.count, on: session)
        #expect(rig.line(token) == "-")
        gate.open()
        await rig.work { rig.answer(token) != nil }
        #expect(rig.line(token) == "received v3 n3")
    }

    @Test func `wait=settled of an action without effects is answered at once`() throws {
        let (rig, session, _) = try begun()
        let token = try rig.post(Post.count, to: session, waits: true)
        rig.endRound()
        #expect(rig.line(token) == "received v1 n1")
    }

    @Test func `a waiting client gets its reply when another action cancels the effect`()
        async throws
    {
        let (rig, session, gate) = try begun()
        let token = try rig.post(Post.start("a"), to: session, waits: true)
        rig.endRound()
        await gate.hasArrivals(1)
        try rig.act(Post.cancel("a"), on: session)
        #expect(rig.line(token) == "received v1 n1", "the task itself is deaf and still runs")
        gate.open()
        await rig.work { rig.notes.count == 1 }
    }

    @Test func `a batch that cancels its own effects is settled`() throws {
        let (rig, session, _) = try begun()
        let body = Post.all(Post.quiet("a"), Post.cancel("a"))
        let token = try rig.post(body, to: session, waits: true)
        rig.endRound()
        #expect(rig.line(token) == "received v0 n0")
    }

    @Test func `case 91: a wait that times out gets a reply, and the effect continues`()
        async throws
    {
        let (rig, session, gate) = try begun()
        let token = try rig.post(Post.start("a"), to: session, waits: true)
        rig.endRound()
        session.stopWaiting(token)
        #expect(rig.line(token) == "unsettled v1 n1")
        gate.open()
        await rig.work { session.version == 2 }
        #expect(rig.output.answers.filter { $0.token == token }.count == 1)
    }

    @Test func `a client that left gets no reply, and the effect continues`() async throws {
        let (rig, session, gate) = try begun()
        let token = try rig.post(Post.start("a"), to: session, waits: true)
        rig.endRound()
        session.forget(token)
        gate.open()
        await rig.work { session.version == 2 }
        #expect(rig.answer(token) == nil)
    }

    @Test func `a waiting client learns whether its action was rolled back or its effects ended`()
        async throws
    {
        let (rig, session, gate) = try begun(slow: true)
        let kept = try rig.post(Post.start("a"), to: session, waits: true)
        rig.endRound()
        rig.settle()
        await gate.hasArrivals(1)
        let rolledBack = try rig.post(Post.start("b"), to: session, waits: true)
        rig.endRound()
        rig.settle(.full)
        #expect(rig.line(rolledBack) == "failed full v1 n1")
        #expect(rig.line(kept) == "unsettled v1 n1", "its effects were cancelled")
        gate.open()
        await rig.work { rig.notes.contains("dropped a mutation") }
        #expect(session.version == 1)
    }

    @Test func `when the commit of the end fails, a waiting client gets the committed position`()
        async throws
    {
        let (rig, session, gate) = try begun(slow: true)
        let token = try rig.post(Post.start("a"), to: session, waits: true)
        rig.endRound()
        rig.settle()
        await gate.hasArrivals(1)
        gate.open()
        await rig.inbox.hasJob()
        rig.drainInbox()
        rig.endRound()
        rig.settle()
        await rig.workUntilCommit()
        #expect(rig.line(token) == "-")
        rig.settle(.unavailable)
        #expect(rig.line(token) == "unsettled v2 n2")
    }

    @Test func `a wait that times out beside a failing commit gets the committed position`()
        async throws
    {
        let (rig, session, gate) = try begun(slow: true)
        let kept = try rig.post(Post.start("a"), to: session, waits: true)
        rig.endRound()
        rig.settle()
        await gate.hasArrivals(1)
        let rolledBack = try rig.post(Post.start("b"), to: session, waits: true)
        session.stopWaiting(kept)
        session.stopWaiting(rolledBack)
        rig.endRound()
        rig.settle(.unavailable)
        #expect(rig.line(kept) == "unsettled v1 n1")
        #expect(rig.line(rolledBack) == "failed unavailable v1 n1")
        gate.open()
        await rig.work { rig.notes.contains("dropped a mutation") }
    }

    @Test func `case 87: the end cancels everything, and the session's memory is released`()
        async throws
    {
        let gate = Gate()
        let rig = Rig()
        var session: Session? = try rig.create("s", .of { Worker(gate: gate) })
        try rig.act(Post.stubborn, on: try #require(session))
        let waiting = try rig.post(Post.start("a"), to: try #require(session), waits: true)
        rig.endRound()
        await gate.hasArrivals(2)
        _ = rig.end(try #require(session))
        rig.endRound()
        #expect(rig.line(waiting) == "gone v1 n2")
        rig.output.forgetAnswers()
        weak let gone = session
        session = nil
        #expect(gone == nil)
        gate.open()
        // Both tasks return, find nothing to do, and end.
        for _ in 0..<2 {
            await rig.inbox.hasJob()
            rig.drainInbox()
        }
        #expect(rig.journal.kept.count == 3)
    }

    @Test func `case 130: mutations that an effect sends while its session ends are dropped`()
        async throws
    {
        let (rig, session, gate) = try begun()
        try rig.act(Post.stubborn, on: session)
        rig.journal.setImmediate(false)
        let end = rig.end(session)
        rig.endRound()
        gate.open()
        await rig.inbox.hasJob()
        rig.drainInbox()
        rig.endRound()
        rig.settleAll()
        #expect(rig.line(end) == "ended v0 n1")
        #expect(rig.journal.kept.map(\.kind) == [.created, .deleted])
    }

    @Test func `case 56: sources begin once, when the creation is committed`() async throws {
        let (stream, feed) = AsyncStream<Worker.Mutation>.makeStream()
        let rig = Rig(slow: true)
        let gate = Gate()
        let session = try rig.create("s", .of { Worker(gate: gate, source: stream) })
        feed.yield(.worked(value: 7))
        #expect(session.version == 0)
        rig.settle()
        await rig.work { session.version == 1 }
        #expect(rig.state(session) == #"{"count":0,"worked":[7]}"#)
        feed.finish()
    }

    @Test func `case 97: a source survives a commit that fails`() async throws {
        let (stream, feed) = AsyncStream<Worker.Mutation>.makeStream()
        let rig = Rig()
        let gate = Gate()
        let session = try rig.create("s", .of { Worker(gate: gate, source: stream) })
        rig.journal.setImmediate(false)
        feed.yield(.worked(value: 1))
        await rig.inbox.hasJob()
        rig.drainInbox()
        rig.endRound()
        rig.settle(.unavailable)
        feed.yield(.worked(value: 2))
        await rig.work { session.version == 1 }
        #expect(rig.state(session) == #"{"count":0,"worked":[2]}"#)
        feed.finish()
    }

    private func begun(slow: Bool = false) throws -> (Rig, Session, Gate) {
        let rig = Rig(slow: slow)
        let gate = Gate()
        let session = try rig.create("s", .of { Worker(gate: gate) })
        if slow { rig.settle() }
        return (rig, session, gate)
    }
}
