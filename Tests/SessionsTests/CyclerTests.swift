import Cyclers
import Feeds
import Reactors
import Sessions
import Storage
import TestStreams
import Testing

@Suite("Contract §2 — a Cycler is hosted like a reactor", .timeLimit(.minutes(60)))
struct CyclerTests {
    private let gate = Gate()

    private func begun(
        slow: Bool = false, answers: Bool = false
    ) throws -> (Rig, Session) {
        let rig = Rig(slow: slow, answers: answers, registrations: [try registration()])
        let session = try rig.create("s", try registration())
        rig.settleAll()
        return (rig, session)
    }

    private func registration() throws -> Registration {
        let gate = gate
        return try Registration(
            name: "cashier", activities: ["said"], examples: [],
            makeCycler: { Cashier(gate: gate) })
    }

    @Test func `cases 107, 109: a commit is one version and one event, even with an equal state`()
        throws
    {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .everything, .now)
        #expect(rig.line(try rig.act(Cashier.add(3), on: session)) == "received v1 n1")
        #expect(rig.line(try rig.act(Cashier.add(0), on: session)) == "received v2 n2")
        #expect(rig.line(try rig.act(Cashier.twice(1), on: session)) == "received v4 n4")
        #expect(
            rig.lines(reader).map { String($0.prefix(17)) } == [
                #"state 1 {"sum":3,"#, #"state 2 {"sum":3,"#, #"state 3 {"sum":4,"#,
                #"state 4 {"sum":5,"#,
            ])
    }

    @Test func `the record of a version is its whole state, and pulses are events`() throws {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .allPulses, .now)
        try rig.act(Cashier.shout("a"), on: session)
        try rig.act(Cashier.add(1), on: session)
        try rig.act(Cashier.shout("a"), on: session)
        #expect(rig.lines(reader) == [#"text 1 "a""#, #"text 3 "a""#])
        let contents = rig.journal.kept.dropFirst().map {
            String(decoding: $0.content, as: UTF8.self)
        }
        #expect(
            contents == [
                #"{"sum":0,"text":"a"}"#, #"{"sum":1,"text":"a"}"#, #"{"sum":1,"text":"a"}"#,
            ])
    }

    @Test func `case 116: an action that fails at once is refused without a trace`() throws {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .everything, .now)
        let refusal = try rig.refusal(of: Cashier.addThenFail(7), on: session)
        #expect(refusal?.description == "Fault()")
        #expect(rig.journal.kept.map(\.kind) == [.created])
        #expect(rig.state(session) == #"{"sum":0,"text":null}"#)
        #expect(rig.line(try rig.act(Cashier.add(1), on: session)) == "received v1 n1")
        #expect(rig.lines(reader) == [#"state 1 {"sum":1,"text":null}"#])
        let entries = rig.page(session).entries
        #expect(
            entries == [
                "action.received 1.1", "cycler.willMutate 1.2", "action.rejected 1.3",
                "action.received 1.4", "cycler.willMutate 1.5", "cycler.didChange 1.6",
                "mutation 1", "cycler.didMutate 2.1",
            ])
    }

    @Test func `a batch reports the indices of failed actions and applies the others`() throws {
        let (rig, session) = try begun()
        let token = try rig.act(
            Post.all(Cashier.add(1), Cashier.addThenFail(5), Cashier.add(2)), on: session)
        #expect(rig.line(token) == "rejected [1] v2 n2")
        #expect(rig.state(session) == #"{"sum":3,"text":null}"#)
    }

    @Test func `an action of a batch that makes too many bytes of states fails alone`() throws {
        let (rig, session) = try begun()
        // Each action makes a state of 22 bytes, and no pulse.
        rig.table.limits.turnBytes = 50
        let adding = Cashier.add(1)
        let token = try rig.act(Post.all(adding, adding, adding), on: session)
        #expect(rig.line(token) == "rejected [2] v2 n2")
        #expect(rig.state(session) == #"{"sum":2,"text":null}"#)
        // Each request has the whole limit.
        #expect(rig.line(try rig.act(adding, on: session)) == "received v3 n3")
    }

    @Test
    func `the part after a wait is an effect: the reply comes before it, or waits on request`()
        async throws
    {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .everything, .now)
        let posted = try rig.act(Cashier.addLater(2), on: session)
        let waiting = try rig.post(Cashier.addLater(10), to: session, waits: true)
        rig.endRound()
        #expect(rig.line(posted) == "received v1 n1")
        #expect(rig.line(waiting) == "-")
        #expect(rig.line(try rig.act(Cashier.add(100), on: session)) == "received v3 n3")
        gate.open()
        await rig.work { rig.line(waiting) != "-" && rig.places(reader).count == 7 }
        #expect(rig.state(session) == #"{"sum":124,"text":null}"#)
        let kinds = rig.page(session).entries.map { $0.split(separator: " ")[0] }
        #expect(kinds.count { $0 == "effect.started" } == 2)
        #expect(kinds.count { $0 == "effect.ended" } == 2)
        #expect(rig.journal.keptBatch.started.map(\.action) == [1, 2])
        #expect(Set(rig.journal.keptBatch.settled.map(\.action)) == [1, 2])
    }

    // Before, all parts counted as one turn, so an action that commits now and then failed in the
    // end.
    @Test func `each part of an action that waits has a turn of its own`() async throws {
        let (rig, session) = try begun()
        for _ in 0..<3 { try rig.act(Cashier.addLater(1), on: session) }
        // Less than the output of two parts. A part makes a state of 22 bytes and an activity of
        // 30.
        rig.table.limits.turnBytes = 80
        gate.open()
        await rig.work { rig.journal.keptBatch.settled.count == 3 }
        #expect(rig.state(session) == #"{"sum":6,"text":null}"#)
        #expect(!rig.journal.kept.contains { $0.kind == .failure })
    }

    @Test func `a part that makes too much ends its action, and no other request fails`()
        async throws
    {
        let (rig, session) = try begun()
        try rig.act(Cashier.addLater(1), on: session)
        rig.table.limits.turnBytes = 40
        gate.open()
        await rig.work { rig.journal.keptBatch.settled.count == 1 }
        #expect(rig.journal.kept.last?.kind == .failure)
        let token = try rig.act(Cashier.add(1), on: session)
        #expect(rig.line(token) == "received v2 n3")
        #expect(rig.state(session) == #"{"sum":2,"text":null}"#)
    }

    @Test func `entries after a wait name their own action`() async throws {
        let (rig, session) = try begun()
        try rig.act(Cashier.addLater(2), on: session)
        try rig.act(Cashier.add(1), on: session)
        gate.open()
        await rig.work { rig.journal.kept.contains { $0.kind == .activity } }
        #expect(rig.journal.kept.map(\.action) == [0, 1, 2, 1, 1])
    }

    @Test func `a failure after a wait is a record, and earlier commits stay`() async throws {
        let (rig, session) = try begun()
        let token = try rig.post(Cashier.failLater, to: session, waits: true)
        rig.endRound()
        gate.open()
        await rig.work { rig.line(token) != "-" }
        #expect(rig.line(token) == "received v0 n1")
        #expect(rig.journal.kept.map(\.kind) == [.created, .failure])
        #expect(rig.line(try rig.act(Cashier.add(1), on: session)) == "received v1 n2")
    }

    @Test func `a failed commit restores the state and discards waiting actions`() async throws {
        let (rig, session) = try begun(slow: true)
        try rig.act(Cashier.add(1), on: session)
        rig.settleAll()
        let waiting = try rig.post(Cashier.addLater(10), to: session, waits: true)
        let other = try rig.act(Cashier.add(5), on: session)
        rig.settle(.full)
        #expect(rig.line(waiting) == "failed full v1 n1")
        #expect(rig.line(other) == "failed full v1 n1")
        gate.open()
        rig.journal.setImmediate(true)
        let next = try rig.act(Cashier.add(2), on: session)
        await rig.inbox.hasJob()
        rig.drainInbox()
        rig.settleAll()
        #expect(rig.line(next) == "received v2 n2")
        #expect(rig.state(session) == #"{"sum":3,"text":null}"#)
        #expect(rig.state(session, version: 1) == #"{"sum":1,"text":null}"#)
    }

    @Test func `case 130: the end of a session cancels waiting actions, and nothing follows`()
        async throws
    {
        let (rig, session) = try begun()
        let reader = rig.subscribe(session, .everything, .now)
        try rig.act(Cashier.addLater(1), on: session)
        let end = rig.end(session)
        rig.endRound()
        #expect(rig.line(end) == "ended v1 n2")
        gate.open()
        await rig.inbox.hasJob()
        rig.drainInbox()
        rig.settleAll()
        #expect(rig.lines(reader).map { $0.prefix(5) } == ["state", "end 2"])
        #expect(rig.journal.kept.map(\.kind) == [.created, .mutation, .deleted])
    }

    @Test func `after a restart it continues from its state and reports abandoned actions`()
        throws
    {
        let (rig, session) = try begun(answers: true)
        for number in 1...3 { try rig.act(Cashier.add(number), on: session) }
        try rig.act(Cashier.addLater(4), on: session)
        rig.table.stop()
        let later = Rig(journal: rig.journal, registrations: [try registration()])
        guard case .session(let woken) = try later.wake("s") else { throw Rig.NoSession(id: "s") }
        later.endRound()
        #expect(later.state(woken) == #"{"sum":10,"text":null}"#)
        #expect(later.journal.kept.last?.kind == .failure)
        #expect(later.line(try later.act(Cashier.add(1), on: woken)) == "received v5 n6")
        let second = later.read(woken, version: 2)
        for _ in 1...5 { later.drainInbox() }
        later.settleAll()
        #expect(later.line(second).hasPrefix(#"state {"sum":3,"text":null} of 2"#))
    }

    @Test func `old states are readable as long as they are kept`() throws {
        let rig = Rig(retention: Retention(records: 5))
        let session = try rig.create("s", try registration())
        for number in 1...20 { try rig.act(Cashier.add(number), on: session) }
        #expect(rig.state(session, version: 17) == #"{"sum":153,"text":null}"#)
        #expect(rig.state(session, version: 3).hasPrefix("versionUnknown"))
    }
}

extension Cashier {
    static func add(_ number: Int) -> String { #"{"type":"add","number":\#(number)}"# }
    static func addLater(_ number: Int) -> String { #"{"type":"addLater","number":\#(number)}"# }
    static func twice(_ number: Int) -> String { #"{"type":"twice","number":\#(number)}"# }
    static func shout(_ text: String) -> String { #"{"type":"shout","text":"\#(text)"}"# }
    static func addThenFail(_ number: Int) -> String {
        #"{"type":"addThenFail","number":\#(number)}"#
    }
    static let failLater = #"{"type":"failLater"}"#
}
