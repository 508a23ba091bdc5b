import Feeds
import JSONCoding
import Sessions
import Storage
import Testing

@Suite(
    "Contract §3 — the action log has every event, in one order",
    .timeLimit(.minutes(60)))
struct ActionLogTests {
    @Test func `each entry has position, time, action, content and kind`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .log, .start)
        try rig.act(Post.both(1, 2), on: session)
        let heard = rig.transcript(reader).events
        #expect(heard.map(\.name) == ["action.received", "mutation"])
        let bare = "\(session.generation.text).1"
        #expect(heard.map(\.id) == ["\(bare).1", bare])
        let time = #""time":"2024-02-29T23:59:59.999Z","action":1"#
        #expect(
            heard.map(\.data) == [
                #"{"position":"\#(bare).1",\#(time),"kind":"action.received","#
                    + #""content":{"received":{"type":"both","a":1,"b":2}}}"#,
                #"{"position":"\#(bare)",\#(time),"version":1,"kind":"mutation","#
                    + #""content":{"type":"set","a":1,"b":2}}"#,
            ])
    }

    @Test(arguments: [
        (#"{"type":"leave","text":"a text that lies on the heap"}"#, nil),
        // Other bits, but the same encoding.
        (#"{"type":"renew","text":"a text that lies on the heap"}"#, nil),
        (#"{"type":"shout","text":"a"}"#, #"{"type":"shout","text":"A"}"#),
    ])
    func `it shows the action that a hook produced, if it differs`(
        received: String, transformed: String?
    ) throws {
        let rig = Rig()
        let session = try rig.create("s", .of { Rewriter() })
        let reader = rig.subscribe(session, .log, .start)
        try rig.act(received, on: session)
        let rest = transformed.map { #","transformed":\#($0)"# } ?? ""
        #expect(
            rig.transcript(reader).events[0].data.hasSuffix(
                #""content":{"received":\#(received)\#(rest)}}"#))
    }

    @Test(arguments: [
        // As received, including unknown members and white space.
        (#" {"type": "set", "a": 1, "why":"x"} "#, #"{"type": "set", "a": 1, "why":"x"}"#),
        ("{\"type\":\"set\",\n\"a\":1}", #"{"type":"set","a":1}"#),
        ("{\"type\":\"set\",\r\"a\":1}\n", #"{"type":"set","a":1}"#),
        (#"[{"type": "set", "a": 1}]"#, #"{"type":"set","a":1}"#),
    ])
    func `an action that came alone and on one line is shown as received`(
        body: String, received: String
    ) throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .log, .start)
        try rig.act(body, on: session)
        #expect(
            rig.transcript(reader).events[0].data.hasSuffix(
                #""content":{"received":\#(received)}}"#))
    }

    @Test func `notes do not change the numbers of records`() throws {
        let (read, unread) = (Rig(keepsRecords: false), Rig(keepsRecords: false))
        let one = try read.create("s", .ledger())
        let other = try unread.create("s", .ledger())
        read.subscribe(one, .log)
        for body in [Post.nothing, Post.several(3), Post.refuse, Post.say("a"), Post.touch] {
            let answer = read.line(try read.act(body, on: one))
            #expect(answer == unread.line(try unread.act(body, on: other)))
        }
        let streams = [(read, one), (unread, other)].map { rig, session in
            rig.lines(rig.subscribe(session, .everything, .start))
        }
        #expect(streams[0] == streams[1])
    }

    @Test func `it is built from its first reading on; older records are there too`() throws {
        let rig = Rig(keepsRecords: false)
        let session = try rig.create("s", .ledger())
        try rig.act(Post.all(Post.set(1), Post.say("a")), on: session)
        let reader = rig.subscribe(session, .log, .start)
        try rig.act(Post.set(2), on: session)
        #expect(
            rig.transcript(reader).events.map(\.name) == [
                "mutation", "activity", "action.received", "mutation",
            ])
    }

    @Test func `a journal that keeps records keeps notes, each before its record`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.all(Post.nothing, Post.several(1)), on: session)
        try rig.act(Post.refuse, on: session)
        let all = rig.journal.all
        #expect(
            all.map { "\($0.number).\($0.part)" } == [
                "0.0", "1.1", "1.2", "1.0", "2.0", "3.0", "4.1",
            ])
        #expect(all.map(\.action) == [0, 1, 2, 2, 2, 2, 3])
        #expect(all.map(\.version) == [0, 0, 0, 1, 2, 3, 3])
        #expect(all.allSatisfy { $0.time == rig.clock.milliseconds })
        #expect(
            all.last.map { String(decoding: $0.content, as: UTF8.self) }
                == #"{"kind":"action.rejected","content":{"received":{"type":"refuse"}}}"#)
    }

    @Test func `an entry is visible after its commit only, and a failed commit removes it`() throws
    {
        let rig = Rig(slow: true, keepsRecords: false)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let reader = rig.subscribe(session, .log, .now)
        try rig.act(Post.nothing, on: session)
        try rig.act(Post.set(1), on: session)
        #expect(rig.lines(reader) == [])
        rig.settle()
        #expect(rig.places(reader) == ["action.received 1.1"])
        rig.settle(.full)
        #expect(rig.places(reader) == ["action.received 1.1"])
        try rig.act(Post.say("again"), on: session)
        rig.settleAll()
        #expect(rig.places(reader) == ["action.received 1.1", "action.received 1.2", "activity 1"])
    }

    @Test func `a position of a note ahead of the records is valid on the log alone`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.all(Post.set(1), Post.nothing, Post.refuse), on: session)
        let place = "\(session.generation.text).2"
        let log = rig.subscribe(session, .log, .after("\(place).1"))
        #expect(rig.places(log) == ["action.rejected 2.2"])
        let last = rig.subscribe(session, .log, .after("\(place).2"))
        #expect(rig.lines(last) == [])
        let ahead = rig.subscribe(session, .log, .after("\(place).3"))
        #expect(rig.lines(ahead) == [#"reset 2.2 {"reason":"ahead"}"#])
        let pulses = rig.subscribe(session, .allPulses, .after("\(place).1"))
        #expect(rig.lines(pulses).first == #"reset  {"reason":"ahead"}"#)
        try rig.act(Post.touch, on: session)
        for reader in [log, last, ahead] {
            #expect(
                rig.places(reader).suffix(2) == ["action.received 2.3", "mutation 2"])
        }
    }

    @Test func `a stream from now begins after the existing notes`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.act(Post.nothing, on: session)
        rig.settleAll()
        let early = rig.subscribe(session, .log, .now)
        try rig.post(Post.nothing, to: session)
        let late = rig.subscribe(session, .log, .now)
        try rig.post(Post.set(1), to: session)
        rig.settleAll()
        #expect(
            rig.places(early) == ["action.received 1.2", "action.received 1.3", "mutation 1"])
        #expect(rig.places(late) == ["action.received 1.3", "mutation 1"])
        #expect(
            String(decoding: rig.output.bytes(of: late), as: UTF8.self)
                .hasPrefix("id: \(session.generation.text).1.2\n\n"))
    }

    @Test func `notes are bounded, and a position that was dropped gets a reset`() throws {
        let rig = Rig(keepsRecords: false, retention: Retention(records: 10, bytes: 2_000))
        let session = try rig.create("s", .ledger())
        let stalled = rig.subscribe(session, .log, .now, capacity: 400)
        for _ in 1...200 { try rig.act(Post.nothing, on: session) }
        let all = rig.page(session)
        #expect(all.entries.count == 10)
        #expect(all.entries.first == "action.received 1.191")
        let trimmed = rig.subscribe(session, .log, .after("\(session.generation.text).1.3"))
        #expect(rig.lines(trimmed) == [#"reset 1.200 {"reason":"trimmed"}"#])
        #expect(rig.page(session, after: "\(session.generation.text).1.3").reset == "trimmed")
        rig.output.setCapacity(nil, of: stalled)
        let heard = rig.transcript(stalled).events.map(\.name)
        #expect(heard == Array(repeating: "action.received", count: 3) + ["reset"])
        try rig.act(Post.touch, on: session)
        #expect(rig.places(trimmed).suffix(2) == ["action.received 1.201", "mutation 1"])
        #expect(rig.places(stalled).suffix(2) == ["action.received 1.201", "mutation 1"])
    }

    @Test func `trimming a record trims its notes`() throws {
        let rig = Rig(retention: Retention(records: 3))
        let session = try rig.create("s", .ledger())
        for number in 1...8 { try rig.act(Post.set(number), on: session) }
        let entries = rig.page(session).entries
        #expect(entries.last == "mutation 8")
        #expect(entries.first == "action.received 6.1")
    }

    @Test func `pages followed by next show the same log as the stream`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        for number in 1...5 {
            try rig.act(Post.all(Post.several(number), Post.nothing, Post.say("a")), on: session)
        }
        let stream = rig.places(rig.subscribe(session, .log, .start))
        var walked: [String] = []
        var after: String?
        repeat {
            let page = rig.page(session, after: after, limit: 7)
            #expect(page.reset == nil)
            walked += page.entries
            after = page.next
        } while after != nil
        #expect(walked == stream)
        #expect(stream.count == 5 * 7)
    }

    @Test func `a page shows the state of the log when it is sent`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.post(Post.set(1), to: session)
        let token = rig.nextToken()
        session.readLog(LogPageRequest(token: token, after: nil, limit: 10))
        #expect(rig.line(token) == "-")
        rig.endRound()
        rig.settle()
        #expect(rig.page(of: token).entries == ["action.received 1.1", "mutation 1"])
        try rig.post(Post.set(2), to: session)
        let second = rig.nextToken()
        session.readLog(LogPageRequest(token: second, after: nil, limit: 10))
        rig.endRound()
        rig.settle(.unavailable)
        #expect(rig.page(of: second).entries == ["action.received 1.1", "mutation 1"])
    }

    @Test func `a page after an unknown position reports it and begins with the oldest entry`()
        throws
    {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        for (after, reason) in [
            ("nonsense", "malformed"), ("zzzzzzzz.1", "generation"),
            ("\(session.generation.text).2", "ahead"),
        ] {
            let page = rig.page(session, after: after)
            #expect(page.reset == reason)
            #expect(page.entries == ["action.received 1.1", "mutation 1"])
        }
    }

    @Test func `after a restart the log continues where it was, in pages and on the stream`() throws
    {
        let rig = Rig(answers: true)
        let first = try rig.create("s", .ledger())
        for number in 1...3 { try rig.act(Post.set(number), on: first) }
        try rig.act(Post.all(Post.nothing, Post.refuse), on: first)
        let before = rig.page(first).entries
        #expect(before.count == 8)
        let (later, session) = try restarted(rig)
        #expect(later.page(session).entries == before)
        let place = session.generation.text
        #expect(later.page(session, after: "\(place).4.1").entries == ["action.rejected 4.2"])
        #expect(later.page(session, after: "\(place).2", limit: 3).next == "\(place).4.1")
        let reader = later.subscribe(session, .log, .after("\(place).2.1"))
        later.drainInbox()
        try later.act(Post.set(4), on: session)
        #expect(
            later.places(reader) == before.dropFirst(3) + ["action.received 4.3", "mutation 4"])
        #expect(later.page(session).entries == before + ["action.received 4.3", "mutation 4"])
    }

    @Test func `any number of notes between two records is no gap for a reader of the journal`()
        throws
    {
        let rig = Rig(answers: true)
        let first = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: first)
        for _ in 1...5_000 { try rig.act(Post.nothing, on: first) }
        try rig.act(Post.set(2), on: first)
        try rig.act(Post.set(3), on: first)
        let (later, session) = try restarted(rig)
        for selection in [Selection.allPulses, .allStates] {
            let reader = later.subscribe(session, selection, .after("\(first.generation.text).0"))
            for _ in 1...20 { later.drainInbox() }
            #expect(
                later.transcript(reader).events.map(\.id).map { String($0.dropFirst(9)) } == [
                    "1", "2", "3",
                ])
        }
        let state = later.read(session, version: 2)
        for _ in 1...20 { later.drainInbox() }
        later.settleAll()
        #expect(later.line(state).hasPrefix(#"state {"a":2,"#))
    }

    private func restarted(_ rig: Rig) throws -> (Rig, Session) {
        rig.table.stop()
        let later = Rig(journal: rig.journal, registrations: [try .ledger()])
        guard case .session(let session) = try later.wake("s") else {
            throw Rig.NoSession(id: "s")
        }
        return (later, session)
    }

    @Test func `the end of a session ends its log`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let reader = rig.subscribe(session, .log, .now)
        try rig.act(Post.nothing, on: session)
        _ = rig.end(session)
        rig.endRound()
        #expect(rig.places(reader) == ["action.received 1.1", "end 1"])
        #expect(rig.output.finished == [reader])
    }
}

/// A page of the log, in the notation that tests compare.
struct LogPage {
    var entries: [String]
    var next: String?
    var reset: String?
}

extension Rig {
    /// `kind number[.part]` of each event that a reader has received.
    func places(_ subscriber: UInt64) -> [String] {
        transcript(subscriber).events.map { "\($0.name) \(Self.place($0.id))" }
    }

    func page(_ session: Session, after: String? = nil, limit: Int = 1_000) -> LogPage {
        let token = nextToken()
        session.readLog(LogPageRequest(token: token, after: after, limit: limit))
        settleAll()
        drainInbox()
        return page(of: token)
    }

    func page(of token: UInt64) -> LogPage {
        guard case .logPage(let body)? = answer(token)?.kind,
            let value = try? JSON.decode(JSONValue.self, from: body),
            case .array(let entries)? = value["entries"]
        else { return LogPage(entries: ["no page"]) }
        return LogPage(
            entries: entries.map {
                "\($0["kind"]?.text ?? "-") \(Self.place($0["position"]?.text ?? "-"))"
            }, next: value["next"]?.text, reset: value["reset"]?["reason"]?.text)
    }

    private static func place(_ id: String) -> String {
        id.split(separator: ".").dropFirst().joined(separator: ".")
    }
}

extension JSONValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}
