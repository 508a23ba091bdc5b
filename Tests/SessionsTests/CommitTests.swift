import Feeds
import Sessions
import Storage
import Testing

@Suite("Contract §3.1 — nothing is visible before it is committed", .timeLimit(.minutes(60)))
struct CommitTests {
    @Test func `a session's creation is answered when it is committed`() throws {
        let rig = Rig(slow: true)
        try rig.create("s", .ledger())
        #expect(rig.line(1) == "-")
        rig.settle()
        #expect(rig.line(1) == "created v0 n0")
        #expect(rig.journal.kept.map(\.kind) == [.created])
        #expect(rig.journal.kept.map(\.number) == [0])
    }

    @Test func `replies come after their commit and in their order`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settle()
        let first = try rig.act(Post.set(1), on: session)
        let second = try rig.act(Post.set(2), on: session)
        let third = try rig.act(Post.set(3), on: session)
        #expect(rig.journal.pendingCount == 3)
        #expect([first, second, third].map(rig.line) == ["-", "-", "-"])
        rig.settle()
        #expect([first, second, third].map(rig.line) == ["received v1 n1", "-", "-"])
        rig.settle()
        rig.settle()
        #expect(rig.output.answers.map(\.token) == [1, first, second, third])
        #expect(rig.line(third) == "received v3 n3")
    }

    @Test func `a read waits for the commit of the state that it shows`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settle()
        try rig.act(Post.set(1), on: session)
        let read = rig.read(session)
        try rig.post(Post.set(2), to: session)
        rig.endRound()
        #expect(rig.line(read) == "-")
        rig.settle()
        #expect(rig.line(read).contains(#""a":1"#))
        #expect(rig.line(read).hasSuffix("of 1 v1 n1"))
        rig.settle()
    }

    @Test func `a read without a pending commit is answered at once`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settle()
        let read = rig.read(session)
        #expect(rig.line(read).hasSuffix("of 0 v0 n0"))
    }

    @Test func `an action without a record waits for the commits it was decided upon`() throws {
        let rig = Rig(slow: true, keepsRecords: false)
        let session = try rig.create("s", .ledger())
        rig.settle()
        try rig.act(Post.set(1), on: session)
        let nothing = try rig.act(Post.nothing, on: session)
        #expect(rig.line(nothing) == "-")
        rig.settle()
        #expect(rig.line(nothing) == "received v1 n1")
    }

    @Test func `events are written after their commit, step by step`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settle()
        let reader = rig.subscribe(session, .allPulses, .now)
        try rig.act(Post.set(1), on: session)
        try rig.act(Post.set(2), on: session)
        #expect(rig.lines(reader) == [])
        rig.settle()
        #expect(rig.lines(reader) == ["a 1 1"])
        rig.settle()
        #expect(rig.lines(reader) == ["a 1 1", "a 2 2"])
    }

    @Test func `the replies of a batch come before its events`() throws {
        let rig = Rig(slow: true)
        let first = try rig.create("s", .ledger())
        let second = try rig.create("t", .ledger())
        rig.settleAll()
        let reader = rig.subscribe(first, .allPulses, .now)
        try rig.post(Post.set(1), to: first)
        let other = try rig.post(Post.set(2), to: second)
        rig.endRound()
        #expect(rig.journal.pendingCount == 1, "the steps of one round are one batch")
        rig.settle()
        #expect(rig.line(other) == "received v1 n1")
        #expect(rig.lines(reader) == ["a 1 1"])
    }

    @Test func `a snapshot requested during a commit has that state and comes after the commit`()
        throws
    {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settle()
        try rig.act(Post.set(1), on: session)
        let reader = rig.subscribe(session)
        try rig.post(Post.set(2), to: session)
        #expect(rig.output.bytes(of: reader).isEmpty)
        rig.endRound()
        rig.settle()
        #expect(rig.lines(reader) == [#"snapshot 1 {"a":1,"b":0,"filling":""}"#])
        rig.settle()
        #expect(rig.lines(reader).dropFirst() == ["a 2 2"])
    }

    @Test func `case 73: a reader that joins others gets no event that its snapshot contains`()
        throws
    {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settle()
        let early = rig.subscribe(session)
        try rig.post(Post.set(1), to: session)
        let late = rig.subscribe(session)
        try rig.post(Post.set(2), to: session)
        rig.endRound()
        rig.settle()
        #expect(
            rig.lines(late) == [#"snapshot 1 {"a":1,"b":0,"filling":""}"#, "a 2 2"])
        #expect(rig.lines(early).dropFirst() == ["a 1 1", "a 2 2"])
    }

    @Test func `an end is sent when it is committed, and nothing follows it`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settle()
        let reader = rig.subscribe(session, .allPulses, .now)
        try rig.post(Post.set(1), to: session)
        let end = rig.end(session)
        let late = try rig.post(Post.set(2), to: session)
        rig.endRound()
        #expect(rig.line(end) == "-")
        #expect(rig.line(late) == "-")
        #expect(rig.lines(reader) == [])
        rig.settle()
        #expect(rig.line(end) == "ended v1 n2")
        #expect(rig.line(late) == "gone v1 n2")
        #expect(rig.lines(reader) == ["a 1 1", #"end 2 {"reason":"deleted"}"#])
        #expect(rig.output.finished == [reader])
        let id = try #require(SessionID("s"))
        guard case .ended = rig.table.find(id) else {
            Issue.record("the session's end is not remembered")
            return
        }
    }

    @Test func `records hold everything that a journal needs to rebuild the session`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.all(Post.both(1, 2), Post.say("hi")), on: session)
        let records = rig.journal.kept
        #expect(records.map(\.kind) == [.created, .mutation, .activity])
        #expect(records.map(\.number) == [0, 1, 2])
        #expect(records.map(\.version) == [0, 1, 1])
        #expect(records.allSatisfy { $0.session == "s" && $0.reactor == "ledger" })
        #expect(Set(records.map(\.generation)) == [session.generation.text])
        #expect(records[1].events.map(\.name) == ["a", "b"])
        #expect(records[1].events.map { String(decoding: $0.data, as: UTF8.self) } == ["1", "2"])
        #expect(
            String(decoding: records[1].content, as: UTF8.self) == #"{"type":"set","a":1,"b":2}"#)
        #expect(
            String(decoding: records[2].content, as: UTF8.self) == #"{"type":"said","text":"hi"}"#)
    }

    @Test func `the traceparent of a request is in the records that it leaves`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        var post = ActionPost(body: ActionBody(Array(Post.several(1).utf8)), token: rig.nextToken())
        post.traceparent = parent
        try session.post(post)
        try rig.post(Post.touch, to: session)
        rig.endRound()
        #expect(rig.journal.kept.map(\.traceparent) == [nil, parent, parent, parent, nil])
    }

    @Test func `a journal that keeps no records receives none`() throws {
        let rig = Rig(slow: true, keepsRecords: false)
        let session = try rig.create("s", .ledger())
        let post = try rig.act(Post.set(1), on: session)
        rig.settleAll()
        #expect(rig.journal.kept.isEmpty)
        #expect(rig.line(post) == "received v1 n1")
    }
}
