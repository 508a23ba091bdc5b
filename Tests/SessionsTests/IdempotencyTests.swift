import Feeds
import Reactors
import Sessions
import Storage
import TestStreams
import Testing

@Suite(
    "Contract §3.1 — Idempotency-Key: the same request twice is one request",
    .timeLimit(.minutes(60)))
struct IdempotencyTests {
    @Test(arguments: [false, true])
    func `case 136: the second request gets the first one's reply and changes nothing`(
        isKept: Bool
    ) throws {
        let rig = Rig(answers: isKept)
        let session = try rig.create("s", .ledger())
        let first = try rig.post(Post.set(1), to: session, key: "k")
        rig.endRound()
        let second = try rig.post(Post.set(1), to: session, key: "k")
        rig.endRound()
        #expect(rig.line(first) == "received v1 n1")
        let body = #"{"version":1,"position":"\#(session.generation.text).1"}"# + "\n"
        #expect(rig.line(second) == "replayed \(body) v1 n1")
        #expect(session.version == 1)
    }

    @Test func `while the first request has no reply, the second gets a conflict`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let first = try rig.post(Post.set(1), to: session, key: "k")
        let second = try rig.post(Post.set(1), to: session, key: "k")
        #expect(rig.line(second) == "keyRunning v1 n1")
        rig.settleAll()
        #expect(rig.line(first) == "received v1 n1")
    }

    @Test func `another body under the same key is refused, before and after the reply`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.post(Post.set(1), to: session, key: "k")
        let early = try rig.post(Post.set(2), to: session, key: "k")
        rig.settleAll()
        let late = try rig.post(Post.set(2), to: session, key: "k")
        rig.settleAll()
        #expect(rig.line(early).hasPrefix("keyReused"))
        #expect(rig.line(late).hasPrefix("keyReused"))
        #expect(session.version == 1)
    }

    @Test func `a refused request leaves the key free`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        #expect(throws: ActionRefusal.self) {
            try rig.post(#"{"type":"none"}"#, to: session, key: "k")
        }
        let again = try rig.post(Post.set(1), to: session, key: "k")
        rig.endRound()
        #expect(rig.line(again) == "received v1 n1")
    }

    @Test func `a failed commit leaves the key free`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let first = try rig.post(Post.set(1), to: session, key: "k")
        rig.endRound()
        rig.settle(.unavailable)
        #expect(rig.line(first).hasPrefix("failed"))
        let again = try rig.post(Post.set(1), to: session, key: "k")
        rig.settleAll()
        #expect(rig.line(again) == "received v1 n1")
    }

    @Test(arguments: [false, true])
    func `after a commit of unknown outcome the same key reveals it`(isWritten: Bool) throws {
        let rig = Rig(slow: true, answers: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let first = try rig.post(Post.set(1), to: session, key: "k")
        rig.endRound()
        // Decided upon the first action, so its outcome is unknown too.
        let second = try rig.act(Post.set(2), on: session)
        rig.journal.endNext(.outcomeUnknown, isWritten: isWritten)
        rig.drainInbox()
        #expect(rig.line(first).hasPrefix("failed outcomeUnknown"))
        #expect(rig.line(second).hasPrefix("failed outcomeUnknown"))
        // The journal refuses or keeps later batches, and no request gets a second reply.
        rig.settleAll()

        // From here on the session shows the same as after a restart.
        guard case .session(let woken) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        #expect(woken.version == (isWritten ? 2 : 0))
        let again = try rig.post(Post.set(1), to: woken, key: "k")
        rig.drainInbox()
        rig.settleAll()
        #expect(rig.line(again).hasPrefix(isWritten ? "replayed" : "received v1"))
        #expect(woken.version == (isWritten ? 2 : 1))
        let restarted = Rig(journal: rig.journal, registrations: [try .ledger()])
        rig.journal.setImmediate(true)
        guard case .session(let found) = try restarted.wake("s") else {
            throw Rig.NoSession(id: "s")
        }
        #expect(found.version == woken.version)
        #expect(rig.journal.kept.count { $0.content == Array(#"{"set":1}"#.utf8) } <= 1)
    }

    @Test func `the reply is stored in the action's commit and survives the process`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        try rig.post(Post.set(1), to: session, key: "k")
        rig.endRound()
        #expect(rig.journal.keptBatch.answers.map(\.key) == ["k"])
        rig.table.stop()
        let later = Rig(journal: rig.journal, registrations: [try .ledger()])
        guard case .session(let woken) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        let again = try later.post(Post.set(1), to: woken, key: "k")
        let other = try later.post(Post.set(2), to: woken, key: "k2")
        later.drainInbox()
        later.endRound()
        #expect(later.line(again).hasPrefix("replayed"))
        #expect(later.line(other) == "received v2 n2")
    }

    @Test(arguments: [false, true])
    func `an empty batch asks for the reply, whatever the body was`(isKept: Bool) throws {
        let rig = Rig(slow: true, answers: isKept)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let first = try rig.post(Post.set(1), to: session, key: "k")
        let early = try rig.post("[]", to: session, key: "k")
        #expect(rig.line(early).hasPrefix("keyRunning"))
        rig.settleAll()
        #expect(rig.line(first) == "received v1 n1")
        for body in ["[]", " [\n] "] {
            let asked = try rig.post(body, to: session, key: "k")
            rig.settleAll()
            #expect(rig.line(asked).hasPrefix("replayed"), "\(body)")
        }
        let other = try rig.post("[[]]", to: session, key: "k")
        #expect(rig.line(other).hasPrefix("keyReused"))
    }

    @Test(arguments: [false, true])
    func `a question closes a key that is not known`(isKept: Bool) throws {
        let rig = Rig(slow: true, answers: isKept, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        for body in ["[]", " [\n] "] {
            let asked = try rig.post(body, to: session, key: "k")
            rig.settleAll()
            #expect(rig.line(asked).hasPrefix("refused"), "\(body)")
        }
        // Its client has posted the actions under other keys meanwhile.
        let late = try rig.post(Post.set(1), to: session, key: "k")
        rig.settleAll()
        #expect(rig.line(late).hasPrefix("keyReused"))
        #expect(session.version == 0)
        guard isKept else { return }
        rig.table.stop()
        let next = Rig(journal: rig.journal, registrations: [try .ledger()])
        rig.journal.setImmediate(true)
        guard case .session(let woken) = try next.wake("s") else { throw Rig.NoSession(id: "s") }
        let later = try next.post(Post.set(1), to: woken, key: "k")
        next.drainInbox()
        next.endRound()
        let asked = try next.post("[]", to: woken, key: "k")
        next.endRound()
        #expect(next.line(later).hasPrefix("keyReused"))
        #expect(next.line(asked).hasPrefix("refused"))
    }

    @Test(arguments: [false, true])
    func `a question whose commit fails leaves the key free`(isKept: Bool) throws {
        let rig = Rig(slow: true, answers: isKept)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let asked = try rig.post("[]", to: session, key: "k")
        rig.endRound()
        rig.settle(.unavailable)
        #expect(rig.line(asked).hasPrefix("failed"))
        // The session has left memory, and is loaded from the journal next time.
        guard !isKept else { return }
        let first = try rig.post(Post.set(1), to: session, key: "k")
        rig.settleAll()
        #expect(rig.line(first) == "received v1 n1")
    }

    @Test func `an empty batch asks the journal for a reply of an earlier process`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        try rig.post(Post.set(1), to: session, key: "k", by: "ada")
        rig.endRound()
        rig.table.stop()
        let later = Rig(journal: rig.journal, registrations: [try .ledger()])
        guard case .session(let woken) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        let asked = try later.post("[]", to: woken, key: "k", by: "ada")
        // A key belongs to its client.
        let other = try later.post("[]", to: woken, key: "k", by: "bob")
        let unknown = try later.post("[]", to: woken, key: "free")
        later.drainInbox()
        later.endRound()
        #expect(later.line(asked).hasPrefix("replayed"))
        #expect(later.line(other).hasPrefix("refused"))
        #expect(later.line(unknown).hasPrefix("refused"))
        #expect(woken.version == 1)
    }

    @Test func `a stored reply is rolled back with the commit it was decided upon`() throws {
        let rig = Rig(slow: true, answers: true, registrations: [try .ledger()])
        try rig.create("s", .ledger())
        rig.settleAll()
        let session = try rig.session("s")
        try rig.post(Post.set(1), to: session)
        rig.endRound()
        // It leaves no record, so the journal cannot refuse it because of a gap.
        let first = try rig.post(Post.nothing, to: session, key: "k")
        rig.endRound()
        rig.journal.endNext(.unavailable)
        rig.journal.endNext()
        rig.drainInbox()
        #expect(rig.line(first).hasPrefix("failed"))
        #expect(rig.journal.keptBatch.answers.isEmpty)
        guard case .session(let woken) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        let again = try rig.post(Post.nothing, to: woken, key: "k")
        rig.drainInbox()
        rig.settleAll()
        #expect(rig.line(again) == "received v0 n0")
    }

    @Test func `an action that changes nothing has a stored reply too`() throws {
        let rig = Rig(answers: true)
        let session = try rig.create("s", .ledger())
        try rig.post(Post.nothing, to: session, key: "k")
        rig.endRound()
        #expect(rig.journal.keptBatch.answers.count == 1)
    }
}

@Suite(
    "Contract §4 — an unused session leaves memory and wakes unchanged",
    .timeLimit(.minutes(60)))
struct SleepTests {
    private func sleeping(_ rig: Rig) {
        for _ in 0..<6 {
            rig.table.tick()
            rig.endRound()
        }
    }

    @Test func `many sessions fall asleep in parts, and one used meanwhile stays awake`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let sessions = try (0..<1_700).map { try rig.create("s\($0)", .ledger()) }
        rig.endRound()
        for _ in 0..<3 { #expect(!rig.table.tick()) }
        #expect(rig.table.awakeCount == 1_700)
        #expect(rig.table.tick())
        #expect(rig.table.awakeCount == 1_200)
        for session in sessions where rig.table.awakeCount > 0 {
            guard case .session = rig.table.find(session.id) else { continue }
            try rig.act(Post.set(1), on: session)
            break
        }
        #expect(rig.table.continueTick())
        #expect(rig.table.continueTick())
        #expect(!rig.table.continueTick())
        #expect(rig.table.awakeCount == 1)
        #expect(!rig.table.takeHeapTrim())
    }

    @Test func `case 138: a woken session has the same version, with nothing lost and nothing new`()
        throws
    {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        let reader = rig.subscribe(session)
        let seen = rig.transcript(reader).events.count
        sleeping(rig)
        guard case .notInMemory = rig.table.find(session.id) else {
            Issue.record("it sleeps, though it is read")
            return
        }
        guard case .session(let woken) = try rig.wake("s") else { throw Rig.NoSession(id: "s") }
        #expect(woken.version == 1)
        #expect(rig.transcript(reader).events.count == seen)
        try rig.act(Post.set(2), on: woken)
        let news = rig.transcript(reader).events.dropFirst(seen)
        #expect(news.map(\.data) == ["2"])
    }

    @Test func `a sleeping session without readers leaves nothing in memory`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        weak let session = try rig.create("s", .ledger())
        rig.output.forgetAnswers()
        sleeping(rig)
        #expect(rig.table.count == 0)
        #expect(session == nil)
    }

    @Test func `a running effect keeps its session awake`() throws {
        let gate = Gate()
        let rig = Rig(answers: true)
        let session = try rig.create("s", .of { Worker(gate: gate) })
        try rig.act(#"{"type":"quiet","id":"x"}"#, on: session)
        sleeping(rig)
        guard case .session = rig.table.find(session.id) else {
            Issue.record("an effect would be lost")
            return
        }
    }
}
