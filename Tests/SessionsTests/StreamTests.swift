import Feeds
import Sessions
import Storage
import Testing

@Suite("Contract §3.2 — where a stream begins", .timeLimit(.minutes(60)))
struct StreamStartTests {
    @Test func `case 21: a new connection begins with the present values`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        #expect(
            rig.lines(rig.subscribe(session)) == [#"snapshot 0 {"a":0,"b":0,"filling":""}"#])
        try rig.act(Post.both(1, 2), on: session)
        #expect(
            rig.lines(rig.subscribe(session)) == [#"snapshot 1 {"a":1,"b":2,"filling":""}"#])
        #expect(
            rig.lines(rig.subscribe(session, Selection(pulses: 0b10))) == [#"snapshot 1 {"b":2}"#])
    }

    @Test func `from=now sets the id and dispatches nothing`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        let reader = rig.subscribe(session, .allPulses, .now)
        #expect(rig.transcript(reader).lastEventID == session.position.text)
        #expect(rig.lines(reader) == [])
        try rig.act(Post.set(2), on: session)
        #expect(rig.lines(reader) == ["a 2 2"])
    }

    @Test func `from=start shows all kept events`() throws {
        let rig = Rig(retention: Retention(records: 2))
        let session = try rig.create("s", .ledger())
        for a in 1...4 { try rig.act(Post.set(a), on: session) }
        let reader = rig.subscribe(session, .allPulses, .start)
        #expect(rig.lines(reader) == ["a 3 3", "a 4 4"])
    }

    @Test func `case 39: resuming from the creation's id gives all events since`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let first = session.position.text
        for a in 1...3 { try rig.act(Post.set(a), on: session) }
        #expect(
            rig.lines(rig.subscribe(session, .allPulses, .after(first))) == [
                "a 1 1", "a 2 2", "a 3 3",
            ])
    }

    @Test func `case 32: resuming gives later events without a snapshot, then live ones`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        let seen = session.position.text
        for a in 2...4 { try rig.act(Post.set(a), on: session) }
        let reader = rig.subscribe(session, .allPulses, .after(seen))
        try rig.act(Post.set(5), on: session)
        #expect(rig.lines(reader) == ["a 2 2", "a 3 3", "a 4 4", "a 5 5"])
    }

    @Test func `the events of one record have parts, and only the last has the bare position`()
        throws
    {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let all = rig.subscribe(session, .everything, .now)
        let first = rig.subscribe(session, Selection(pulses: 0b01), .now)
        let second = rig.subscribe(session, Selection(pulses: 0b10), .now)
        try rig.act(Post.both(1, 2), on: session)
        #expect(
            rig.lines(all) == [
                "a 1.1 1", "b 1.2 2",
                #"state 1 {"a":1,"b":2,"touched":0,"filling":""}"#,
            ])
        #expect(rig.lines(first) == ["a 1 1"])
        #expect(rig.lines(second) == ["b 1 2"])
    }

    @Test(arguments: [true, false])
    func `a position between two events of a record loses and repeats nothing`(
        othersRead: Bool
    ) throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        if othersRead { rig.subscribe(session, .allPulses, .now) }
        try rig.act(Post.both(1, 2), on: session)
        try rig.act(Post.both(3, 4), on: session)
        let between = "\(session.generation.text).1.1"
        let reader = rig.subscribe(session, .allPulses, .after(between))
        #expect(rig.lines(reader) == ["b 1 2", "a 2.1 3", "b 2 4"])
    }

    @Test(arguments: [
        ("", "malformed"), ("nonsense", "malformed"), ("GENERATE.1", "malformed"),
        ("abcdefgh", "malformed"), ("abcdefgh.", "malformed"), ("abcdefgh.1.0", "malformed"),
        ("abcdefgh.0.1", "malformed"), ("abcdefgh.1", "generation"),
    ])
    func `case 35: an id that this session never wrote gets a reset`(
        text: String, reason: String
    ) throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(7), on: session)
        let reader = rig.subscribe(session, .allPulses, .after(text))
        try rig.act(Post.set(8), on: session)
        #expect(
            rig.lines(reader) == [
                #"reset  {"reason":"\#(reason)"}"#,
                #"snapshot 1 {"a":7,"b":0,"filling":""}"#, "a 2 8",
            ])
    }

    @Test(arguments: [
        "0.1", "0.65535", "00", "1.01", "18446744073709551616", "1.4294967296", "1.1.1",
    ])
    func `a number that this session cannot have written gets a reset`(
        rest: String
    ) throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(7), on: session)
        let reader = rig.subscribe(
            session, .allPulses, .after("\(session.generation.text).\(rest)"))
        #expect(rig.lines(reader).first == #"reset  {"reason":"malformed"}"#)
    }

    @Test(arguments: ["2", "1001", "18446744073709551615", "2.1"])
    func `a position ahead of the log gets a reset`(rest: String) throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(7), on: session)
        let reader = rig.subscribe(
            session, .allPulses, .after("\(session.generation.text).\(rest)"))
        #expect(rig.lines(reader).first == #"reset  {"reason":"ahead"}"#)
    }

    @Test func `case 34: a position whose records were trimmed gets a reset`() throws {
        let rig = Rig(retention: Retention(records: 10))
        let session = try rig.create("s", .ledger())
        let first = session.position.text
        for a in 1...50 { try rig.act(Post.set(a), on: session) }
        let old = rig.subscribe(session, .allPulses, .after(first))
        #expect(
            rig.lines(old) == [
                #"reset  {"reason":"trimmed"}"#, #"snapshot 50 {"a":50,"b":0,"filling":""}"#,
            ])
        let generation = session.generation.text
        let last = rig.subscribe(session, .allPulses, .after("\(generation).40"))
        #expect(rig.lines(last).count == 10, "the oldest position that can be continued")
        let gone = rig.subscribe(session, .allPulses, .after("\(generation).39"))
        #expect(rig.lines(gone).first == #"reset  {"reason":"trimmed"}"#)
    }

    @Test func `history that is too large to replay counts as trimmed`() throws {
        let rig = Rig(retention: Retention(records: 100, bytes: 2_000))
        let session = try rig.create("s", .ledger())
        // Encoded they are far below the limit, framed they exceed it.
        for a in 1...90 { try rig.act(Post.set(a % 10), on: session) }
        let reader = rig.subscribe(session, .allPulses, .start)
        try rig.act(Post.set(5), on: session)
        #expect(
            rig.lines(reader) == [
                #"reset  {"reason":"trimmed"}"#, #"snapshot 90 {"a":0,"b":0,"filling":""}"#,
                "a 91 5",
            ])
    }

    @Test func `a snapshot overtaken by a large commit becomes a reset`() throws {
        let rig = Rig(slow: true, retention: Retention(records: 100, bytes: 300))
        let session = try rig.create("s", .ledger())
        rig.settle()
        try rig.act(Post.touch, on: session)
        try rig.post(Post.touch, to: session)
        let reader = rig.subscribe(session)
        try rig.post(Post.all(Post.fill(200), Post.fill(201)), to: session)
        rig.endRound()
        rig.settle()
        try rig.act(Post.set(9), on: session)
        rig.settle()
        rig.settleAll()
        let full = String(repeating: "x", count: 201)
        #expect(
            rig.lines(reader) == [
                #"reset  {"reason":"trimmed"}"#,
                #"snapshot 4 {"a":0,"b":0,"filling":"\#(full)"}"#, "a 5 9",
            ])
    }
}
