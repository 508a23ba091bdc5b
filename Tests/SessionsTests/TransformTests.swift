import Feeds
import Sessions
import Storage
import Testing

@Suite(
    "Contract §2 — hooks rewrite, drop and decorate, and can't end a session",
    .timeLimit(.minutes(60))
)
struct TransformTests {
    @Test func `case 98: transform(state) changes only what is shown`() throws {
        let (rig, session) = try begun()
        for number in 1...3 { try rig.act(Post.add(number), on: session) }
        #expect(rig.state(session) == #"{"sum":3,"shown":1}"#)
        #expect(rig.state(session, version: 2) == #"{"sum":2,"shown":1}"#)
        #expect(
            rig.lines(rig.subscribe(session, .allStates)) == [#"snapshot 3 {"sum":3,"shown":1}"#])
    }

    @Test func `case 94: a mutation is dropped or rewritten, and pulses follow the result`() throws
    {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .allPulses, .now)
        #expect(rig.line(try rig.act(Post.add(0), on: session)) == "received v0 n0")
        #expect(rig.line(try rig.act(Post.add(100), on: session)) == "received v1 n1")
        #expect(rig.lines(reader) == ["sum 1 1"])
        #expect(
            rig.journal.kept.last.map { String(decoding: $0.content, as: UTF8.self) }
                == Post.add(1))
    }

    @Test(arguments: [1, 2])
    func `case 89: a hook that fails is a record, and later actions work`(number: Int) throws {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .allStates, .now)
        let token = try rig.act(Post.poison(number), on: session)
        #expect(rig.line(token).hasSuffix("v0 n1"))
        #expect(rig.journal.kept.map(\.kind) == [.created, .failure])
        try rig.act(Post.add(5), on: session)
        #expect(rig.lines(reader) == [#"state 2 {"sum":5,"shown":1}"#])
        #expect(rig.lines(rig.subscribe(session, .allStates)).count == 1)
    }

    @Test(arguments: [true, false])
    func `case 89: a failing transform(state) shows the bare state and keeps the mutation`(
        isRead: Bool
    ) throws {
        let (rig, session) = try begun()
        if isRead { rig.subscribe(session, .everything, .now) }
        try rig.act(Post.add(-1), on: session)
        try rig.act(Post.add(4), on: session)
        let kept = rig.journal.kept
        #expect(kept.map(\.number) == Array(0..<UInt64(kept.count)))
        let mutations = kept.filter { $0.kind == .mutation }
        #expect(mutations.map { $0.events.map(\.name) } == [["sum"], ["sum"]])
        #expect(
            mutations.map { String(decoding: $0.content, as: UTF8.self) }
                == [Post.add(-1), Post.add(4)])
        #expect(kept.count { $0.kind == .failure } == 1, "recorded once for a version")
        let start = "\(session.generation.text).0"
        let reader = rig.subscribe(session, .everything, .after(start))
        #expect(
            rig.transcript(reader).events.map(\.data) == [
                "-1", #"{"sum":-1,"shown":0}"#, "4", #"{"sum":4,"shown":1}"#,
            ])
    }

    @Test func `a failure of the first transform(state) is recorded after the creation`() throws {
        let rig = Rig()
        let session = try rig.create("s", .of { Decorated(sum: -1) })
        #expect(rig.journal.kept.map(\.kind) == [.created, .failure])
        #expect(rig.journal.kept.map(\.number) == [0, 1])
        #expect(rig.state(session) == #"{"sum":0,"shown":-1}"#)
    }

    private func begun() throws -> (Rig, Session) {
        let rig = Rig()
        return (rig, try rig.create("s", .of { Decorated() }))
    }
}
