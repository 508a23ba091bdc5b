import Feeds
import JSONCoding
import Sessions
import Storage
import Testing

@Suite("Contract §3.1 — posting actions", .timeLimit(.minutes(60)))
struct ActionTests {
    @Test(arguments: [
        "", "{", #"{"type":"set"}"#, #"{"type":"set","a":"x"}"#, #"{"type":"unknown"}"#, "3",
        #"[{"type":"set","a":1},{"type":"unknown"}]"#, #"[{"type":"set","a":1},"#,
        #"{"type":"set","a":1} x"#,
    ])
    func `case 57: a body that is no action leaves no trace`(body: String) throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .everything, .now)
        #expect(throws: ActionRefusal.self) { try rig.act(body, on: session) }
        #expect(rig.output.answers.count == 2, "the refusal is the caller's to answer")
        try rig.act(Post.set(1), on: session)
        #expect(session.position.number == 1)
        #expect(rig.lines(reader).first == "a 1.1 1")
    }

    @Test func `a batch is applied in order and gets one reply`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .allPulses, .now)
        let token = try rig.act(Post.all(Post.set(1), Post.touch, Post.several(2)), on: session)
        #expect(rig.line(token) == "received v5 n5")
        #expect(rig.lines(reader) == ["a 1 1", "a 3 2", "b 5 2"])
    }

    @Test func `a batch that is empty or too large is refused`() throws {
        let rig = Rig(batch: 2)
        let session = try rig.create("s", .ledger())
        #expect {
            try rig.act("[]", on: session)
        } throws: {
            if case ActionRefusal.empty? = $0 as? ActionRefusal { true } else { false }
        }
        #expect {
            try rig.act(Post.all(Post.touch, Post.touch, Post.touch), on: session)
        } throws: {
            if case ActionRefusal.tooMany(limit: 2)? = $0 as? ActionRefusal { true } else { false }
        }
        try rig.act(Post.all(Post.touch, Post.touch), on: session)
        #expect(session.version == 2)
    }

    @Test func `case 92: an action that a hook rejects is reported and leaves nothing`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let one = try rig.act(Post.refuse, on: session)
        #expect(rig.line(one) == "rejected [0] v0 n0")
        let some = try rig.act(Post.all(Post.set(1), Post.refuse, Post.refuse), on: session)
        #expect(rig.line(some) == "rejected [1, 2] v1 n1")
    }

    @Test func `case 24: an action without a mutation leaves no record`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .everything, .now)
        #expect(rig.line(try rig.act(Post.nothing, on: session)) == "received v0 n0")
        try rig.act(Post.set(1), on: session)
        #expect(rig.lines(reader).first == "a 1.1 1")
    }

    @Test func `case 137: an If-Match with another position changes nothing`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        let present = session.position.text
        let old = "\(session.generation.text).0"
        let refused = try rig.post(Post.set(2), to: session, condition: .oneOf([old, "x"]))
        #expect(rig.line(refused) == "conditionFailed v1 n1")
        let taken = try rig.post(Post.set(3), to: session, condition: .oneOf([old, present]))
        let late = try rig.post(Post.set(4), to: session, condition: .oneOf([present]))
        let any = try rig.post(Post.set(5), to: session, condition: .any)
        rig.endRound()
        #expect(rig.line(taken) == "received v2 n2")
        #expect(rig.line(late) == "conditionFailed v2 n2")
        #expect(rig.line(any) == "received v3 n3")
    }

    @Test func `at the limit of replies that wait for the journal, an action is refused`() throws {
        let rig = Rig(slow: true, unanswered: 3)
        let session = try rig.create("s", .ledger())
        rig.settle()
        for a in 1...3 { try rig.act(Post.set(a), on: session) }
        #expect {
            try rig.act(Post.set(4), on: session)
        } throws: {
            if case ActionRefusal.overloaded? = $0 as? ActionRefusal { true } else { false }
        }
        rig.settle()
        try rig.act(Post.set(5), on: session)
        rig.settleAll()
        #expect(session.version == 4)
        #expect(rig.state(session).hasPrefix(#"{"a":5,"#))
    }

    @Test func `case 153: at the limit of bytes that wait for the journal, an action is refused`()
        throws
    {
        let rig = Rig(slow: true, uncommittedBytes: 1)
        let session = try rig.create("s", .ledger())
        rig.settle()
        try rig.act(Post.set(1), on: session)
        #expect {
            try rig.act(Post.set(2), on: session)
        } throws: {
            if case ActionRefusal.overloaded? = $0 as? ActionRefusal { true } else { false }
        }
        rig.settle()
        try rig.act(Post.set(3), on: session)
        rig.settle(.full)
        try rig.act(Post.set(4), on: session)
        rig.settleAll()
        #expect(rig.state(session).hasPrefix(#"{"a":4,"#))
    }

    @Test func `creating an existing session acknowledges it`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        session.acknowledgeExisting(for: 77)
        #expect(rig.line(77) == "-")
        rig.settle()
        #expect(rig.line(77) == "greeted v0 n0")
    }
}
