import Feeds
import Sessions
import Storage
import Testing

@Suite(
    "Work has a bound — bytes that somebody asked for count until they are sent",
    .timeLimit(.minutes(60)))
struct WorkBudgetTests {
    private static let size = 200_000

    private func rig(_ limit: Int, client: Int = .max / 4) throws -> (Rig, Session, WorkBudget) {
        let work = WorkBudget(limit: limit, clientLimit: client)
        let rig = Rig(answers: true, work: work)
        let session = try rig.create("s", .sized())
        rig.settleAll()
        return (rig, session, work)
    }

    private func grow(_ rig: Rig, _ session: Session, to size: Int = WorkBudgetTests.size) throws {
        try rig.act(#"{"size":\#(size)}"#, on: session)
        rig.settleAll()
    }

    @Test func `readers of one version share its bytes, and another version needs room of its own`()
        throws
    {
        let (rig, session, work) = try rig(300_000)
        try grow(rig, session)
        let first = [rig.read(session), rig.read(session)]
        #expect(first.allSatisfy { rig.line($0).hasPrefix("state") })
        #expect((Self.size..<250_000).contains(work.used))
        try grow(rig, session, to: Self.size + 1)
        #expect(rig.line(rig.read(session)).hasPrefix("overBudget"))
        rig.output.releaseAnswers()
        #expect(work.used == 0)
        #expect(rig.line(rig.read(session)).hasPrefix("state"))
    }

    // Before, the readers of two idle streams kept half of the budget, so a large state was never
    // rebuilt.
    @Test func `bytes that streams keep do not refuse a large request for ever`() throws {
        let work = WorkBudget(limit: 1_000)
        var kept = work.charge(400, for: nil, mayBeDropped: true)
        #expect(kept?.resize(to: 500) == true)
        var large = work.charge(600, for: nil)
        #expect(large != nil)
        #expect(large?.resize(to: 700) == true)
        #expect(work.charge(100, for: nil) == nil, "it is not alone")
        #expect(kept?.resize(to: 300) == true)
        #expect(kept?.resize(to: 301) == false)
        kept = nil
        #expect(work.used == 700)
        #expect(work.charge(400, for: nil) == nil, "nothing else may be dropped")
        large = nil
        #expect(work.used == 0)
    }

    @Test func `one client gets its share, and others have room`() throws {
        let (rig, session, work) = try rig(1_000_000, client: 300_000)
        try grow(rig, session)
        let mine = WorkClient(subject: "ada")
        func read() -> String {
            let token = rig.nextToken()
            rig.output.clients[token] = mine
            session.read(version: nil, for: token)
            return rig.line(token)
        }
        #expect(read().hasPrefix("state"))
        try grow(rig, session, to: Self.size + 1)
        #expect(read().hasPrefix("overBudget"))
        #expect(rig.line(rig.read(session)).hasPrefix("state"))
        rig.output.releaseAnswers()
        #expect(work.used == 0)
    }

    @Test func `a snapshot counts until its reader has accepted it or has left`() throws {
        let (rig, session, work) = try rig(500_000)
        try grow(rig, session)
        let stalled = rig.subscribe(session, .allStates, capacity: 10)
        let other = rig.subscribe(session, .allStates, capacity: 10)
        rig.output.releaseAnswers()
        #expect((Self.size..<250_000).contains(work.used))
        rig.output.disconnect(other)
        #expect(work.used > 0)
        rig.output.setCapacity(nil, of: stalled)
        #expect(work.used == 0)
    }

    @Test func `a stream without room for its snapshot is refused and leaves nothing`() throws {
        let (rig, session, work) = try rig(100_000)
        let other = work.charge(1, for: nil)
        try grow(rig, session)
        let refused = rig.subscribe(session, .allStates)
        #expect(rig.line(refused).hasPrefix("overBudget"))
        #expect(rig.table.subscriberCount == 0)
        #expect(work.used == 1)
        _ = consume other
    }

    @Test
    func `states that streams keep give way, and a blocked reader continues from the journal`()
        throws
    {
        let (rig, session, work) = try rig(4_000_000)
        let blocked = rig.subscribe(session, .allStates, .now, capacity: 0)
        for number in 0..<16 { try grow(rig, session, to: Self.size + number) }
        // The bytes that streams keep leave half of it free.
        #expect(work.used <= 2_000_000)
        rig.output.setCapacity(nil, of: blocked)
        rig.settleAll()
        rig.drainInbox()
        rig.settleAll()
        #expect(rig.lines(blocked).filter { $0.hasPrefix("state") }.count == 16)
        rig.output.disconnect(blocked)
        rig.output.releaseAnswers()
        #expect(work.used == 0)
    }

    /// Memory keeps few records, which may be large.
    private func slowRig() throws -> (Rig, Session) {
        let rig = Rig(
            slow: true, answers: true, retention: Retention(records: 300, bytes: 64 << 20))
        let session = try rig.create("s", .sized())
        rig.settleAll()
        return (rig, session)
    }

    private func batch(of count: Int) -> String {
        "[" + (1...count).map { #"{"size":\#(Self.size + $0)}"# }.joined(separator: ",") + "]"
    }

    /// The streams of `session` have framed a part of what is committed.
    private func lag(_ rig: Rig, _ session: Session, batch count: Int) throws {
        // Enough streams that a pass frames only one or two versions.
        for number in 1...12 {
            rig.subscribe(session, Selection(pulses: UInt64(number), states: .whole), .now)
        }
        try rig.post(batch(of: count), to: session)
        rig.table.commit()
        rig.journal.endNext(nil)
        for job in rig.inbox.drain() { job(rig.table) }
        #expect(session.feed.isFraming)
    }

    @Test
    func `a reader of the journal that overtakes its stream gets each version once`() throws {
        let (rig, session) = try slowRig()
        // More records than the journal gives at once, and than memory keeps.
        let small = (1...600).map { #"{"size":\#($0)}"# }.joined(separator: ",")
        try rig.post("[\(small)]", to: session)
        rig.settleAll()
        rig.subscribe(session, try .part("/size"), .now)
        let token = rig.subscribe(
            session, try .part("/size"), .after("\(session.position.generation.text).1"))
        try lag(rig, session, batch: 20)
        rig.drainInbox()
        rig.settleAll()
        let ids = rig.transcript(token).events.map(\.id)
        #expect(ids.count == 619)
        #expect(Set(ids).count == ids.count)
    }

    @Test func `a stream is opened at the newest version, however much is not framed`() throws {
        let (rig, session) = try slowRig()
        let reader = rig.subscribe(session, try .part("/size"), .now)
        try lag(rig, session, batch: 20)
        let second = rig.subscribe(session, try .part("/size"))
        rig.settleAll()
        rig.drainInbox()
        rig.settleAll()
        try grow(rig, session, to: 1)
        #expect(rig.lines(second).filter { $0.hasPrefix("state") }.count == 1)
        let sizes = rig.lines(reader).filter { $0.hasPrefix("state") }
        #expect(sizes.count == 21)
        #expect(Set(sizes).count == sizes.count)
    }

    @Test func `the charge of an answer ends with a commit that fails`() throws {
        let work = WorkBudget(limit: 1_000_000, clientLimit: 1_000_000)
        let rig = Rig(slow: true, answers: true, work: work)
        let session = try rig.create("s", .sized())
        rig.settleAll()
        try grow(rig, session)
        try rig.post(#"{"size":1}"#, to: session)
        try rig.post(#"{"size":\#(Self.size)}"#, to: session)
        _ = rig.read(session)
        #expect(work.used > Self.size)
        rig.endRound()
        rig.settle(JournalFailure(reason: .full, detail: "full"))
        rig.output.releaseAnswers()
        #expect(work.used == 0)
    }

    @Test func `a batch that makes too many bytes is refused without a trace`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        rig.table.limits.turnBytes = 2_000
        let before = rig.state(session)
        let long = Post.name(String(repeating: "x", count: 600))
        let batch = Post.all(long, long, long, long)
        guard case .tooMuchOutput(limit: 2_000)? = try rig.refusal(of: batch, on: session) else {
            Issue.record("the batch is not refused")
            return
        }
        #expect(session.version == 0)
        #expect(rig.state(session) == before)
        // Each turn has the whole limit.
        for _ in 0..<3 { try rig.act(long, on: session) }
        #expect(session.version == 3)
    }

    @Test func `a version is encoded once for all streams, however many they are`() throws {
        func encodings(streams count: Int) throws -> Int {
            let (rig, session, _) = try rig(10_000_000)
            try grow(rig, session)
            let readers = try (0..<count).map {
                rig.subscribe(session, try .part("/none\($0)"), .now)
            }
            let size = rig.subscribe(session, try .part("/size"), .now)
            rig.drainInbox()
            return try Sized.State.$encoded.withValue(CallCounter()) {
                for number in 1...2 { try grow(rig, session, to: Self.size + number) }
                #expect(rig.lines(size).filter { $0.hasPrefix("state") }.count == 2)
                #expect(readers.allSatisfy { rig.lines($0).allSatisfy { !$0.hasPrefix("state") } })
                return Sized.State.encoded?.count ?? 0
            }
        }
        let one = try encodings(streams: 1)
        #expect(one > 0)
        #expect(try encodings(streams: 100) == one)
    }
}
