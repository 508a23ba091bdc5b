import Feeds
import Sessions
import Storage
import Testing

@Suite(
    "Contract §4 — a failed commit is an error reply and changes nothing",
    .timeLimit(.minutes(60)))
struct FailedCommitTests {
    @Test(arguments: [
        (JournalFailure.full, "failed full"), (.unavailable, "failed unavailable"),
        (.outcomeUnknown, "failed outcomeUnknown"),
    ])
    func `the reply gives the reason`(failure: JournalFailure, word: String) throws {
        let (rig, session) = try begun()
        let post = try rig.act(Post.set(1), on: session)
        rig.settle(failure)
        #expect(rig.line(post) == "\(word) v0 n0")
        #expect(rig.notes == ["commitFailed \(failure.detail)"])
    }

    @Test func `state, version and position are those of the last commit`() throws {
        let (rig, session) = try begun()
        try rig.act(Post.set(1), on: session)
        rig.settle()
        try rig.act(Post.all(Post.set(2), Post.touch, Post.say("x")), on: session)
        rig.settle(.full)
        #expect(session.version == 1)
        #expect(session.position.number == 1)
        #expect(rig.state(session).hasPrefix(#"{"a":1,"b":0,"touched":0"#))
    }

    @Test func `steps decided upon a failed one are rolled back with it`() throws {
        let (rig, session) = try begun()
        let posts = try (1...3).map { try rig.act(Post.set($0), on: session) }
        let gathering = try rig.post(Post.set(4), to: session)
        rig.settle(.full)
        let all = posts + [gathering]
        #expect(all.map(rig.line) == Array(repeating: "failed full v0 n0", count: 4))
        rig.settle(.full)
        rig.settle(.full)
        #expect(rig.output.answers.count == 5, "nobody is answered twice")
        #expect(rig.journal.pendingCount == 0)
    }

    @Test func `a step stays rolled back whatever the journal reports later`() throws {
        let (rig, session) = try begun([])
        let reader = rig.subscribe(session, .allPulses, .now)
        try rig.act(Post.set(1), on: session)
        try rig.act(Post.set(2), on: session)
        rig.settle(.full)
        rig.settle()
        #expect(session.version == 0)
        #expect(session.position.number == 0)
        #expect(rig.lines(reader) == [])
        #expect(rig.output.answers.count == 4)
    }

    @Test func `later posts continue from the committed version without a gap`() throws {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .allPulses, .now)
        try rig.act(Post.set(1), on: session)
        rig.settle()
        try rig.act(Post.set(2), on: session)
        try rig.act(Post.set(3), on: session)
        rig.settle(.full)
        rig.settle(.full)
        let next = try rig.act(Post.set(4), on: session)
        rig.settle()
        #expect(rig.line(next) == "received v2 n2")
        #expect(rig.lines(reader) == ["a 1 1", "a 2 4"])
        #expect(rig.journal.kept.map(\.number) == [0, 1, 2])
        #expect(rig.journal.kept.map(\.version) == [0, 1, 2])
    }

    @Test func `marks of pulses are restored too`() throws {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .allPulses, .now)
        try rig.act(Post.set(1), on: session)
        rig.settle(.full)
        // Assigns no pulse: with the marks of the rolled back version it would look like an
        // assignment.
        try rig.act(Post.touch, on: session)
        rig.settle()
        try rig.act(Post.set(0), on: session)
        rig.settle()
        #expect(rig.lines(reader) == ["a 2 0"])
    }

    @Test func `only sessions of the same batch are affected`() throws {
        let rig = Rig(slow: true)
        let first = try rig.create("s", .ledger())
        let second = try rig.create("t", .ledger())
        rig.settleAll()
        let failing = try rig.act(Post.set(1), on: first)
        let going = try rig.act(Post.set(1), on: second)
        rig.settle(.unavailable)
        rig.settle()
        #expect(rig.line(failing) == "failed unavailable v0 n0")
        #expect(rig.line(going) == "received v1 n1")
    }

    @Test func `a read that waited shows the committed state instead`() throws {
        let (rig, session) = try begun()
        try rig.act(Post.set(1), on: session)
        let read = rig.read(session)
        let old = rig.read(session, version: 1)
        rig.settle(.full)
        #expect(rig.line(read).hasSuffix("of 0 v0 n0"))
        #expect(rig.line(read).contains(#""a":0"#))
        #expect(rig.line(old) == "versionUnknown 0...0 v0 n0")
    }

    @Test func `a snapshot that the journal refuses does not roll back later actions`() throws {
        let rig = Rig(slow: true, answers: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.act(Post.set(1), on: session)
        rig.settleAll()
        for _ in 1...5 { rig.table.tick() }
        rig.endRound()
        #expect(rig.journal.pendingCount == 1)
        let read = rig.read(session)
        // Submitted before the failure is known; it continues the journal's records.
        let post = try rig.act(Post.set(2), on: session)
        rig.settle(.unavailable)
        rig.settle()
        #expect(rig.line(post) == "received v2 n2")
        #expect(rig.line(read).hasSuffix("of 1 v1 n1"))
        #expect(rig.journal.kept.map(\.version) == [0, 1, 2])
        #expect(session.version == 2)
        #expect(rig.journal.keptBatch.snapshots.count == 1)
        for _ in 1...6 { rig.table.tick() }
        rig.settleAll()
        #expect(rig.journal.keptBatch.snapshots.last?.number == 2)
    }

    @Test func `a subscription that waited begins at the committed position`() throws {
        let (rig, session) = try begun()
        try rig.act(Post.set(1), on: session)
        let reader = rig.subscribe(session)
        rig.settle(.full)
        #expect(rig.lines(reader) == [#"snapshot 0 {"a":0,"b":0,"filling":""}"#])
        try rig.act(Post.set(5), on: session)
        rig.settle()
        #expect(rig.lines(reader).last == "a 1 5")
    }

    @Test func `a creation that fails leaves nothing`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        let post = try rig.post(Post.set(1), to: session)
        let read = rig.read(session)
        let reader = rig.subscribe(session)
        rig.endRound()
        rig.settle(.full)
        #expect(
            [1, post, read, reader].map(rig.line) == Array(repeating: "failed full v0 n0", count: 4)
        )
        #expect(rig.output.bytes(of: reader).isEmpty)
        #expect(rig.table.count == 0)
        #expect(rig.table.subscriberCount == 0)
        let id = try #require(SessionID("s"))
        guard case .nothing = rig.table.find(id) else {
            Issue.record("there is something left of the session")
            return
        }
        try rig.create("s", .ledger())
        rig.settleAll()
        #expect(rig.table.count == 1)
    }

    @Test func `a deleted session whose second creation fails is still deleted`() throws {
        let (rig, session) = try begun()
        _ = rig.end(session)
        rig.settleAll()
        try rig.create("s", .ledger())
        rig.settle(.full)
        let id = try #require(SessionID("s"))
        guard case .ended = rig.table.find(id) else {
            Issue.record("it is forgotten that the session had been deleted")
            return
        }
    }

    @Test func `an end that fails leaves the session alive`() throws {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .allPulses, .now)
        let end = rig.end(session)
        rig.endRound()
        rig.settle(.unavailable)
        #expect(rig.line(end) == "failed unavailable v0 n0")
        try rig.act(Post.set(1), on: session)
        rig.settle()
        #expect(rig.lines(reader) == ["a 1 1"])
    }

    @Test func `waiting replies are counted down again`() throws {
        let rig = Rig(slow: true, rules: [], unanswered: 3)
        let session = try rig.create("s", .ledger())
        rig.settle()
        for _ in 0..<50 {
            try rig.act(Post.set(1), on: session)
            try rig.act(Post.set(2), on: session)
            rig.settle(.full)
            rig.settle()
        }
        try rig.act(Post.set(1), on: session)
        try rig.act(Post.set(2), on: session)
        try rig.act(Post.set(3), on: session)
        #expect(throws: ActionRefusal.self) { try rig.act(Post.set(4), on: session) }
        rig.settleAll()
        #expect(session.version == 3)
    }

    private func begun(
        _ rules: ScriptedEnds.Rules = .all
    ) throws -> (Rig, Session) {
        let rig = Rig(slow: true, rules: rules)
        let session = try rig.create("s", .ledger())
        rig.settle()
        return (rig, session)
    }
}
