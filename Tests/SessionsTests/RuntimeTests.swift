import Reactors
import Storage
import TestStreams
import Testing

@testable import Feeds
@testable import Sessions

@Suite("A look at a session shows its activity, and wakes nobody", .timeLimit(.minutes(60)))
struct RuntimeTests {
    /// The reply as one line; `nothing` and `ended` for a session without one.
    private func look(_ rig: Rig, _ id: String = "s") throws -> String {
        let (token, line) = try ask(rig, id)
        rig.drainInbox()
        rig.settleAll()
        guard case .runtime(let body)? = rig.answer(token)?.kind else { return line() }
        return String(decoding: body.dropLast(), as: UTF8.self)
    }

    /// - Returns: the token of an awake session's reply, and any other reply.
    private func ask(_ rig: Rig, _ id: String) throws -> (UInt64, () -> String) {
        let name = try #require(SessionID(id))
        let token = rig.nextToken()
        var line = "-"
        rig.table.inspect(name, for: .anybody) { inspection in
            switch inspection {
            case .awake(let session, let head): session.readRuntime(head, for: token)
            case .asleep(_, let runtime):
                line = String(decoding: runtime.line(hasActions: true).dropLast(), as: UTF8.self)
            case .absent(let found): line = "\(found)".prefix { $0 != "(" }.description
            }
        }
        return (token, { line })
    }

    private func awake(
        effects: String = "", sources: String = "", subscribers: Int = 0, stubbed: Bool = false,
        _ kept: String
    ) -> String {
        #"{"awake":true,"subscribers":\#(subscribers),"effects":[\#(effects)],"#
            + #""sources":[\#(sources)],"stubbed":\#(stubbed),"kept":\#(kept),"timers":[]}"#
    }

    private func kept(_ session: Session, after number: Int, version: Int, records: Int) -> String {
        #"{"from":{"version":\#(version),"position":"\#(session.generation.text).\#(number)"},"#
            + #""records":\#(records)}"#
    }

    private func tick(_ rig: Rig, _ count: Int = 6) {
        for _ in 0..<count {
            rig.table.tick()
            rig.settleAll()
        }
    }

    // MARK: Effects

    @Test(arguments: [false, true])
    func `an effect is shown from its beginning to its end`(isArchived: Bool) async throws {
        let gate = Gate()
        let rig = Rig(answers: isArchived)
        let session = try rig.create("s", .of { Worker(gate: gate) })
        rig.settleAll()
        #expect(
            try look(rig) == awake(kept(session, after: 0, version: 0, records: 0)))
        try rig.act(Post.start("a"), on: session)
        rig.clock.milliseconds += 1
        try rig.act(Post.quiet("b"), on: session)
        await gate.hasArrivals(2)
        let a = #"{"step":1,"id":"a","action":1,"since":"2024-02-29T23:59:59.999Z"}"#
        let b = #"{"step":2,"id":"b","action":2,"since":"2024-03-01T00:00:00.000Z"}"#
        let one = kept(session, after: 0, version: 0, records: 1)
        rig.clock.milliseconds += 60_000
        #expect(try look(rig) == awake(effects: "\(a),\(b)", one))
        try rig.act(Post.cancel("a"), on: session)
        #expect(try look(rig) == awake(effects: b, one))
        gate.open()
        await rig.work { session.version == 2 && session.tasks.isIdle }
        #expect(
            try look(rig) == awake(kept(session, after: 0, version: 0, records: 2)))
    }

    @Test func `an effect that is not committed is not shown, and the look waits for its commit`()
        async throws
    {
        let gate = Gate()
        let rig = Rig(slow: true)
        let session = try rig.create("s", .of { Worker(gate: gate) })
        rig.settle()
        for failure in [JournalFailure(reason: .full, detail: "test"), nil] {
            try rig.act(Post.start("a"), on: session)
            let (token, _) = try ask(rig, "s")
            #expect(rig.answer(token) == nil)
            rig.settle(failure)
            guard let failure else {
                guard case .runtime(let body)? = rig.answer(token)?.kind else {
                    Issue.record("\(rig.line(token))")
                    continue
                }
                #expect(String(decoding: body, as: UTF8.self).contains(#""effects":[]"#))
                continue
            }
            #expect(rig.line(token).hasPrefix("failed \(failure.reason)"))
            #expect(try look(rig).contains(#""effects":[]"#))
        }
        await gate.hasArrivals(1)
        #expect(try look(rig).contains(#""effects":[{"step":"#))
        gate.open()
        await rig.work { session.tasks.isIdle }
    }

    @Test func `a Cycler's action that waits is shown without a number of a step`() async throws {
        let gate = Gate()
        let rig = Rig()
        let session = try rig.create(
            "s",
            Registration(
                name: "cashier", activities: ["said"], examples: [],
                makeCycler: { Cashier(gate: gate) }))
        rig.settleAll()
        try rig.act(Cashier.add(1), on: session)
        try rig.act(Cashier.addLater(2), on: session)
        let waiting = #"{"action":2,"since":"2024-02-29T23:59:59.999Z"}"#
        let line = try look(rig)
        #expect(
            line
                == awake(effects: waiting, kept(session, after: 0, version: 0, records: 2)))
        gate.open()
        await rig.work { session.version == 3 }
        #expect(try look(rig).contains(#""effects":[]"#))
    }

    // MARK: Sources, the stub, subscribers

    @Test func `a source is shown until it ends`() async throws {
        let (stream, feed) = AsyncStream<Worker.Mutation>.makeStream()
        let rig = Rig()
        let gate = Gate()
        let session = try rig.create("s", .of { Worker(gate: gate, source: stream) })
        rig.settleAll()
        #expect(
            try look(rig)
                == awake(
                    sources: #""mutations""#, kept(session, after: 0, version: 0, records: 0)))
        feed.finish()
        await rig.work { session.tasks.isIdle }
        #expect(try look(rig).contains(#""sources":[]"#))
    }

    @Test func `the stub and the subscribers are shown`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        rig.subscribe(session)
        let reader = rig.subscribe(session, .everything)
        try session.putStub(Array(#"{"enabled":true}"#.utf8), for: rig.nextToken())
        let none = kept(session, after: 0, version: 0, records: 0)
        #expect(try look(rig) == awake(subscribers: 2, stubbed: true, none))
        try session.putStub(Array(#"{"enabled":false}"#.utf8), for: rig.nextToken())
        rig.output.disconnect(reader)
        #expect(try look(rig) == awake(subscribers: 1, none))
    }

    // MARK: The kept history

    @Test func `without an archive the range is that of memory`() throws {
        let rig = Rig(retention: Retention(records: 3))
        let session = try rig.create("s", .ledger())
        for number in 1...10 { try rig.act(Post.set(number), on: session) }
        rig.settleAll()
        #expect(
            try look(rig) == awake(kept(session, after: 7, version: 7, records: 3)))
    }

    @Test func `with an archive the range is the journal's, which trims by itself`() throws {
        let rig = Rig(
            answers: true, registrations: [try .ledger()], retention: Retention(records: 3),
            snapshotEvery: 4)
        let session = try rig.create("s", .ledger())
        for number in 1...10 { try rig.act(Post.set(number), on: session) }
        rig.settleAll()
        #expect(
            try look(rig) == awake(kept(session, after: 0, version: 0, records: 10)))
        let snapshot = try #require(
            rig.journal.keptBatch.snapshots.last { $0.number > 0 && $0.number < 10 })
        rig.journal.trim(to: snapshot)
        let number = Int(snapshot.number)
        let range = kept(session, after: number, version: number, records: 10 - number)
        #expect(try look(rig) == awake(range))
    }

    // MARK: Sleep

    @Test func `a session that sleeps is not woken, and has its subscribers`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        let session = try rig.create("s", .ledger())
        try rig.act(Post.set(1), on: session)
        rig.subscribe(session)
        tick(rig, 8)
        try #require(rig.table.awakeCount == 0)
        let range = kept(session, after: 0, version: 0, records: 1)
        let rest = #""effects":[],"sources":[],"stubbed":false,"kept":\#(range),"timers":[]}"#
        #expect(try look(rig) == #"{"awake":false,"subscribers":1,"# + rest)
        #expect(rig.table.awakeCount == 0)
        let later = Rig(journal: rig.journal, registrations: [try .ledger()])
        #expect(try look(later) == #"{"awake":false,"subscribers":0,"# + rest)
        #expect(later.table.count == 0)
    }

    @Test func `a session that is only looked at falls asleep`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        try rig.create("s", .ledger())
        rig.settleAll()
        for _ in 1...8 {
            _ = try look(rig)
            tick(rig, 1)
        }
        #expect(rig.table.awakeCount == 0)
    }

    @Test(arguments: [false, true])
    func `a session that is unknown or deleted has no runtime`(isArchived: Bool) throws {
        let rig = Rig(answers: isArchived, registrations: [try .ledger()])
        #expect(try look(rig) == "nothing")
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        _ = rig.end(session)
        rig.settleAll()
        #expect(try look(rig) == "ended")
        guard isArchived else { return }
        // Only the journal knows it.
        let later = Rig(journal: rig.journal, registrations: [try .ledger()])
        #expect(try look(later) == "ended")
        #expect(try look(later, "t") == "nothing")
    }

    @Test func `a session that wakes during the look replies`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        try rig.create("s", .ledger())
        rig.settleAll()
        let later = Rig(journal: rig.journal, registrations: [try .ledger()])
        later.journal.setLate(true)
        let (token, _) = try ask(later, "s")
        later.table.wake(try #require(SessionID("s"))) { _ in }
        // The load first, then the look, which began earlier.
        for index in [1, 0] {
            later.journal.answer(at: index)
            later.drainInbox()
        }
        later.settleAll()
        #expect(later.line(token).hasPrefix(#"runtime {"awake":true,"#))
    }

    @Test func `a journal that cannot be read has no runtime to show`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()])
        try rig.create("s", .ledger())
        rig.settleAll()
        rig.journal.setLate(true)
        let (_, line) = try ask(rig, "s")
        rig.journal.look(at: 0, .unavailable)
        rig.journal.answer(at: 0)
        rig.drainInbox()
        #expect(line() == "unreadable")
    }
}

extension RebuildQueue.Request {
    /// A request that waits for its result in any case.
    static var anybody: RebuildQueue.Request { RebuildQueue.Request(client: nil) { true } }
}
