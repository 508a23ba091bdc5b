import Feeds
import Reactors
import Sessions
import Storage
import Synchronization
import TestStreams
import Testing

@Suite(
    "Contract §5 — a late reply of the journal meets the session's present state",
    .timeLimit(.minutes(60)))
struct LateAnswerTests {
    /// A session with a stored reply, in the process after the one that stored it.
    private func woken(
        slow: Bool = false, uncommittedBytes: Int = 64 << 20
    ) throws -> (Rig, Session) {
        let first = Rig(answers: true)
        try first.post(Post.set(1), to: first.create("s", .ledger()), key: "old")
        first.endRound()
        first.table.stop()
        let rig = Rig(
            journal: first.journal, registrations: [try .ledger()],
            uncommittedBytes: uncommittedBytes)
        rig.journal.setImmediate(!slow)
        guard case .session(let session) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        return (rig, session)
    }

    private func run(_ jobs: [Inbox.Job], in rig: Rig) {
        for job in jobs { job(rig.table) }
        rig.drainInbox()
    }

    @Test func `a commit that ends after the table has stopped has no reply`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.act(Post.set(1), on: session)
        rig.table.stop()
        // A connection that outlived the grace time.
        try rig.create("t", .ledger())
        let late = rig.lastToken
        rig.journal.endNext(nil)
        rig.drainInbox()
        #expect(rig.answer(late) == nil)
    }

    @Test func `a session that is read when the table has stopped does not begin`() throws {
        let (rig, session) = try woken()
        let id = session.id
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        var isCalled = false
        next.table.wake(id) { _ in isCalled = true }
        next.table.stop()
        next.drainInbox()
        #expect(!isCalled)
        #expect(next.table.count == 0)
    }

    @Test func `reading an old version or an old page of the log waits for no commit`() throws {
        let (rig, session) = try woken(slow: true)
        let post = try rig.act(Post.set(2), on: session)
        rig.endRound()
        let read = rig.read(session, version: 0)
        let page = rig.nextToken()
        session.readLog(LogPageRequest(token: page, after: nil, limit: 10))
        rig.drainInbox()
        #expect(rig.answer(post) == nil)
        for token in [read, page] {
            let answer = try #require(rig.answer(token))
            #expect(answer.position.number < session.position.number + 1)
        }
        rig.settle(.full)
        #expect(rig.line(post).hasPrefix("failed"))
    }

    // MARK: Keys

    @Test func `case 153: bodies that wait for a look-up are bounded, and none is lost`() throws {
        let bytes = Post.set(2).utf8.count
        let (rig, session) = try woken(uncommittedBytes: 2 * bytes)
        let first = try rig.post(Post.set(2), to: session, key: "1")
        // At the limit one more may begin; beyond it none.
        let second = try rig.post(Post.set(3), to: session, key: "2")
        for key in ["3", nil] {
            #expect {
                try rig.post(Post.set(4), to: session, key: key)
            } throws: {
                if case ActionRefusal.overloaded? = $0 as? ActionRefusal { true } else { false }
            }
        }
        rig.drainInbox()
        rig.settleAll()
        #expect(rig.line(first) == "received v2 n2")
        #expect(rig.line(second) == "received v3 n3")
        // The refused request left no trace, not even its key.
        let again = try rig.post(Post.set(4), to: session, key: "3")
        rig.drainInbox()
        rig.settleAll()
        #expect(rig.line(again) == "received v4 n4")
    }

    @Test func `case 143: a key look-up meets a deletion in the same round`() throws {
        let (rig, session) = try woken()
        let post = try rig.post(Post.set(2), to: session, key: "new")
        let end = rig.end(session)
        rig.drainInbox()
        rig.endRound()
        #expect(rig.line(post).hasPrefix("gone"))
        #expect(rig.line(end).hasPrefix("ended"))
        #expect(rig.journal.kept.map(\.kind) == [.created, .mutation, .deleted])
    }

    @Test func `case 143: a deletion is committed while a key is looked up`() throws {
        let (rig, session) = try woken()
        let post = try rig.post(Post.set(2), to: session, key: "new")
        _ = rig.end(session)
        rig.endRound()
        rig.drainInbox()
        #expect(rig.line(post).hasPrefix("gone"))
    }

    @Test func `case 143: a deletion fails while a key is looked up`() throws {
        let (rig, session) = try woken(slow: true)
        let post = try rig.post(Post.set(2), to: session, key: "new")
        let end = rig.end(session)
        rig.drainInbox()
        rig.endRound()
        rig.settle(.unavailable)
        #expect(rig.line(post).hasPrefix("failed unavailable"))
        #expect(rig.line(end).hasPrefix("failed unavailable"))
    }

    // Case 144.
    @Test func `bodies that wait for their keys are bounded like those that wait for a commit`()
        throws
    {
        let first = Rig(answers: true)
        try first.post(Post.set(1), to: first.create("s", .ledger()), key: "old")
        first.endRound()
        first.table.stop()
        let rig = Rig(
            journal: first.journal, registrations: [try .ledger()], uncommittedBytes: 1)
        guard case .session(let session) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        rig.journal.setLate(true)
        let waiting = try rig.post(Post.set(2), to: session, key: "new")
        let error = #expect(throws: ActionRefusal.self) {
            try rig.post(Post.set(3), to: session, key: "other")
        }
        guard case .overloaded? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        rig.journal.answer(at: 0)
        rig.drainInbox()
        rig.endRound()
        #expect(rig.line(waiting).hasPrefix("received v2"))
        // Nothing of it is counted any more.
        let next = try rig.act(Post.set(4), on: session)
        #expect(rig.line(next).hasPrefix("received v3"))
    }

    @Test(arguments: [false, true])
    func `case 143: a commit fails while a key is looked up`(comesBack: Bool) throws {
        let (rig, session) = try woken(slow: true)
        try rig.act(Post.set(2), on: session)
        let post = try rig.post(Post.set(3), to: session, key: "new")
        let late = rig.inbox.drain()
        rig.settle(.unavailable)
        if comesBack { _ = try rig.wake("s") }
        run(late, in: rig)
        rig.settleAll()
        #expect(rig.line(post).hasPrefix("failed unavailable"))
        guard case .session(let again) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        let retry = try rig.post(Post.set(3), to: again, key: "new")
        rig.drainInbox()
        rig.settleAll()
        #expect(rig.line(retry).hasPrefix("received v2"))
    }

    @Test func `case 143: a session stays awake while a key is looked up`() throws {
        let (rig, session) = try woken()
        let post = try rig.post(Post.set(2), to: session, key: "new")
        for _ in 0..<8 {
            rig.table.tick()
            rig.endRound()
        }
        #expect(rig.line(post) == "-")
        rig.drainInbox()
        rig.endRound()
        #expect(rig.line(post) == "received v2 n2")
    }

    @Test func `a request that timed out while its key was looked up gets its reply at once`()
        throws
    {
        let gate = Gate()
        let registration = try Registration.of { Worker(gate: gate) }
        let first = Rig(answers: true)
        try first.post(Post.count, to: first.create("s", registration), key: "old")
        first.endRound()
        let rig = Rig(journal: first.journal, registrations: [registration])
        guard case .session(let session) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        let expired = try rig.post(Post.start("x"), to: session, waits: true, key: "a")
        session.stopWaiting(expired)
        let gone = try rig.post(Post.start("y"), to: session, waits: true, key: "b")
        session.forget(gone)
        rig.drainInbox()
        rig.endRound()
        #expect(rig.line(expired).hasPrefix("unsettled"))
        let retry = try rig.post(Post.start("y"), to: session, waits: true, key: "b")
        rig.endRound()
        #expect(rig.line(retry) == "-", "it waits for the same effects")
        session.stopWaiting(retry)
        #expect(rig.line(retry).hasPrefix("replayed"))
        #expect(session.version == 3)
    }

    // MARK: States and streams

    @Test func `a session survives a commit that fails while an old state is read`() throws {
        let rig = Rig(slow: true, answers: true, retention: Retention(records: 2))
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        for number in 1...9 { try rig.act(Post.set(number), on: session) }
        rig.settleAll()
        let read = rig.read(session, version: 3)
        let exported = Mutex<ExportFault?>(nil)
        session.export(3) { result in
            if case .failure(let fault) = result { exported.withLock { $0 = fault } }
        }
        let late = rig.inbox.drain()
        try rig.act(Post.set(10), on: session)
        rig.settle(.unavailable)
        run(late, in: rig)
        #expect(rig.line(read).hasPrefix("failed unavailable"))
        guard case .unreadable? = exported.withLock({ $0 }) else {
            Issue.record("a fork gets a problem that may be tried again")
            return
        }
    }

    @Test func `readers that catch up while the session is deleted get its end`() throws {
        for selection in [Selection.allPulses, .allStates, .log] {
            let rig = Rig(answers: true, retention: Retention(records: 2))
            let session = try rig.create("s", .ledger())
            let start = session.position.text
            for number in 1...20 { try rig.act(Post.set(number), on: session) }
            let readers = (0..<3).map { _ in rig.subscribe(session, selection, .after(start)) }
            let late = rig.inbox.drain()
            _ = rig.end(session)
            rig.endRound()
            run(late, in: rig)
            for reader in readers {
                #expect(rig.transcript(reader).events.map(\.name).suffix(2) == ["reset", "end"])
                #expect(rig.output.finished.contains(reader))
            }
        }
    }

    @Test func `a session that can't be rebuilt is reported at once and its readers are released`()
        throws
    {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        let reader = rig.subscribe(session)
        for _ in 0..<6 {
            rig.table.tick()
            rig.endRound()
        }
        rig.journal.edit { batch in
            for index in batch.snapshots.indices { batch.snapshots[index].state = Array("1".utf8) }
        }
        guard case .quarantined = try rig.wake("s") else {
            Issue.record("its snapshot is no state")
            return
        }
        #expect(rig.output.finished == [reader])
        guard case .quarantined = rig.table.find(session.id) else {
            Issue.record("each request would load it again")
            return
        }
    }
}
