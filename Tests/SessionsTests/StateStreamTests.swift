import Feeds
import Sessions
import Testing

@Suite("Contract §3 — streams of states, of one part, and of activities", .timeLimit(.minutes(60)))
struct StateStreamTests {
    @Test func `cases 49 and 50: the latest state, then one event for each mutation`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.touch, on: session)
        try rig.act(Post.touch, on: session)
        let reader = rig.subscribe(session, .allStates)
        try rig.act(Post.name(nil), on: session)
        try rig.act(Post.say("x"), on: session)
        try rig.act(Post.several(4), on: session)
        #expect(
            rig.lines(reader) == [
                #"snapshot 2 {"a":0,"b":0,"touched":2,"filling":""}"#,
                #"state 3 {"a":0,"b":0,"touched":2,"filling":""}"#,
                #"state 5 {"a":4,"b":0,"touched":2,"filling":""}"#,
                #"state 6 {"a":4,"b":0,"touched":3,"filling":""}"#,
                #"state 7 {"a":4,"b":4,"touched":3,"filling":""}"#,
            ])
    }

    @Test func `states made without a reader are shown the same`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let early = rig.subscribe(session, .allStates, .now)
        for a in 1...3 { try rig.act(Post.both(a, a), on: session) }
        rig.output.disconnect(early)
        for a in 4...6 { try rig.act(Post.both(a, a), on: session) }
        let late = rig.subscribe(session, .allStates, .start)
        try rig.act(Post.touch, on: session)
        #expect(rig.transcript(late).events.count == 7)
        #expect(rig.transcript(late).events.prefix(3) == rig.transcript(early).events[...])
        #expect(
            rig.lines(late)[4] == #"state 5 {"a":5,"b":5,"touched":0,"filling":""}"#)
    }

    @Test func `case 51: a part is shown at first, then when it changes`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, try .part("/name"))
        try rig.act(Post.touch, on: session)
        try rig.act(Post.name("x"), on: session)
        try rig.act(Post.name("x"), on: session)
        try rig.act(Post.touch, on: session)
        try rig.act(Post.name(nil), on: session)
        #expect(rig.lines(reader) == [#"snapshot 0 null"#, #"state 2 "x""#, "state 5 null"])
    }

    @Test func `a missing part is null until it appears`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, try .part("/nowhere/0"))
        try rig.act(Post.touch, on: session)
        #expect(rig.lines(reader) == ["snapshot 0 null"])
    }

    @Test func `a part resumed at any position continues as if never interrupted`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let whole = rig.subscribe(session, try .part("/name"), .now)
        for text in ["x", "x", "y", nil, nil, "x", "y", "y"] {
            try rig.act(Post.name(text), on: session)
            try rig.act(Post.touch, on: session)
        }
        let uncut = rig.transcript(whole).events
        #expect(uncut.count == 5)
        for hasReaders in [true, false] {
            if !hasReaders { rig.output.disconnect(whole) }
            for number in 0...16 {
                let position = "\(session.generation.text).\(number)"
                let reader = rig.subscribe(session, try .part("/name"), .after(position))
                let rest = uncut.filter { (Position($0.id)?.number ?? 0) > number }
                #expect(rig.transcript(reader).events == rest, "after \(number)")
                rig.output.disconnect(reader)
            }
        }
    }

    @Test func `in a stream of pulses and a part the last event of a record has the bare position`()
        throws
    {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        var selection = try Selection.part("/a")
        selection.pulses = 0b11
        let reader = rig.subscribe(session, selection)
        try rig.act(Post.both(1, 2), on: session)
        try rig.act(Post.both(1, 3), on: session)
        #expect(
            rig.lines(reader) == [
                #"snapshot 0 {"pulses":{"a":0,"b":0},"state":0}"#,
                "a 1.1 1", "b 1.2 2", "state 1 1", "a 2.1 1", "b 2 3",
            ])
    }

    @Test
    func `case 128: an activity is not replayed to a new reader, and equal ones are all sent`()
        throws
    {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let early = rig.subscribe(session, .allActivities)
        try rig.act(Post.say("x"), on: session)
        let late = rig.subscribe(session, .allActivities)
        try rig.act(Post.say("x"), on: session)
        try rig.act(Post.set(1), on: session)
        #expect(rig.lines(late) == [#"said 2 {"type":"said","text":"x"}"#])
        #expect(rig.lines(early).count == 2)
    }

    @Test func `an activity is resumed like other events`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let start = session.position.text
        try rig.act(Post.say("x"), on: session)
        try rig.act(Post.set(1), on: session)
        try rig.act(Post.say("y"), on: session)
        let reader = rig.subscribe(session, .allActivities, .after(start))
        #expect(
            rig.lines(reader) == [
                #"said 1 {"type":"said","text":"x"}"#, #"said 3 {"type":"said","text":"y"}"#,
            ])
    }

    @Test func `case 125: an activity is a record and no version`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let post = try rig.act(Post.say("x"), on: session)
        #expect(rig.line(post) == "received v0 n1")
        #expect(!rig.state(session).contains("x"))
    }
}
