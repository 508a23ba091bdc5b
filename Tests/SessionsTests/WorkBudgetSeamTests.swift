import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "Work has a bound — a request that waits for room gets it when it is there",
    .timeLimit(.minutes(60)))
struct WorkBudgetSeamTests {
    private static let fill = 200_000
    /// About the bytes of a state that is filled: it has them twice.
    private static let size = 2 * fill

    // MARK: Streams

    @Test func `a stream of several sessions takes the share of its client`() throws {
        let work = WorkBudget(limit: 20 * Self.size, clientLimit: 3 * Self.size / 2)
        let rig = Rig(registrations: [try .ledger()], work: work)
        let sessions = try ["s", "t"].map { try rig.create($0, .ledger()) }
        for session in sessions { try rig.act(Post.fill(Self.fill), on: session) }
        let mine = WorkClient(subject: "ada")
        let reader = JointReader(["s", "t"], .allStates, client: mine)
        let connection = try #require(reader.connect(rig, capacity: 0))
        rig.drainInbox()
        #expect(connection.problems.count == 1)
        #expect(work.used < 2 * Self.size)
        // There is room for others.
        #expect(rig.line(rig.read(sessions[0])).hasPrefix("state"))
        connection.lose()
        rig.drainInbox()
        rig.output.releaseAnswers()
        #expect(work.used == 0)
    }

    @Test
    func `events that are committed and not framed reach their readers after a failed commit`()
        throws
    {
        let rig = Rig(
            slow: true, answers: true, registrations: [try .ledger()],
            retention: Retention(records: 300, bytes: 64 << 20))
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let reader = rig.subscribe(session, .allStates, .now)
        for number in 1...12 {
            rig.subscribe(session, Selection(pulses: UInt64(number), states: .whole), .now)
        }
        let fills = (1...10).map { Post.fill(Self.fill + $0) }
        try rig.post("[\(fills.joined(separator: ","))]", to: session)
        rig.table.commit()
        rig.journal.endNext(nil)
        for job in rig.inbox.drain() { job(rig.table) }
        #expect(session.feed.isFraming)
        try rig.post(Post.set(1), to: session)
        rig.table.commit()
        rig.journal.endNext(.full)
        rig.drainInbox()
        rig.settleAll()
        rig.drainInbox()
        #expect(rig.lines(reader).filter { $0.hasPrefix("state") }.count == 10)
    }

    @Test func `readers of the journal that share its bytes are counted once`() throws {
        let work = WorkBudget()
        let rig = Rig(
            answers: true, registrations: [try .ledger()], retention: Retention(records: 1),
            work: work)
        let session = try rig.create("s", .ledger())
        let text = String(repeating: "x", count: Self.fill)
        for _ in 0..<3 { try rig.act(Post.say(text), on: session) }
        let readers = (0..<5).map { _ in
            rig.subscribe(
                session, .allActivities, .after("\(session.generation.text).0"), capacity: 1)
        }
        rig.drainInbox()
        #expect((Self.fill..<2 * Self.fill).contains(work.used))
        for reader in readers { rig.output.setCapacity(nil, of: reader) }
        rig.drainInbox()
        for reader in readers {
            #expect(rig.lines(reader).filter { $0.hasPrefix("said") }.count == 3)
        }
        #expect(work.used == 0)
    }

    @Test func `a stream that shows a part of a state does not keep the rest`() throws {
        var state = Array("{\"a\":\"\(String(repeating: "x", count: 40_000))\",\"b\":1}".utf8)
        let address = unsafe state.withUnsafeBufferPointer { $0.baseAddress }
        var framer = EventFramer(try .part("/a"))
        let shown = framer.change(to: ShownVersion(state, PassMeter()))?.data.count
        #expect(shown == 40_002)
        #expect(framer.heldBytes == 40_002)
        // Bytes that nobody else has are changed where they are.
        state[0] = UInt8(ascii: " ")
        #expect(unsafe state.withUnsafeBufferPointer { $0.baseAddress } == address)
    }

    @Test func `a large event makes no reader of another loop lag`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()], replicasFrom: 1)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        let readers = (0..<2).map { _ in rig.subscribe(session, .allStates) }
        rig.settleAll()
        try rig.act(Post.set(1), on: session)
        rig.settleAll()
        for reader in readers { rig.output.setCapacity(0, of: reader) }
        try rig.act(Post.fill(StreamReplicas.unreceivedLimit / 2 + 1), on: session)
        rig.settleAll()
        let second = try #require(rig.second)
        #expect(second.moves == 1)
        #expect(second.lags == 0)
    }

    @Test(arguments: [100, 4])
    func `a stream that is extended for a reader counts what it keeps`(sizes: Int) throws {
        let work = WorkBudget(limit: sizes * Self.size)
        let rig = Rig(
            answers: true, registrations: [try .ledger()],
            retention: Retention(records: 1_000, bytes: 64 << 20), work: work)
        let session = try rig.create("s", .ledger())
        for number in 1...5 {
            try rig.act(Post.fill(Self.fill + number), on: session)
            rig.settleAll()
        }
        let reader = rig.subscribe(
            session, .allStates, .after("\(session.generation.text).1"), capacity: 0)
        // Four versions, or none without room for them.
        #expect(sizes == 100 ? work.used > 4 * Self.size : work.used <= 2 * Self.size)
        rig.output.setCapacity(nil, of: reader)
        rig.drainInbox()
        #expect(rig.lines(reader).filter { $0.hasPrefix("state") }.count == 4)
        rig.output.disconnect(reader)
        rig.output.releaseAnswers()
        #expect(work.used == 0)
    }

    // MARK: Answers

    @Test func `a page of the log counts until it is sent`() throws {
        let work = WorkBudget(limit: 3 * Self.fill)
        for records in [1_000, 1] {
            let rig = Rig(
                answers: true, registrations: [try .ledger()],
                retention: Retention(records: records), work: work)
            let session = try rig.create("s", .ledger())
            let text = String(repeating: "x", count: Self.fill / 4)
            for _ in 0..<4 { try rig.act(Post.say(text), on: session) }
            let tokens = (0..<4).map { _ in
                let token = rig.nextToken()
                session.readLog(LogPageRequest(token: token, after: nil, limit: 100))
                rig.drainInbox()
                return token
            }
            #expect(work.used > Self.fill)
            #expect(rig.line(tokens[0]).hasPrefix("page"))
            // It has one entry, with so few bytes that they do not count.
            let short = rig.line(tokens[3])
            #expect(short.hasPrefix("page") && short.utf8.count < Self.fill / 2)
            #expect(rig.line(tokens[3]).contains("next"))
            rig.output.releaseAnswers()
            #expect(work.used == 0)
        }
    }

    // MARK: Limits

    @Test func `what exceeds a limit is admitted alone`() throws {
        let work = WorkBudget(limit: 100, clientLimit: 50)
        let (ada, bob) = (WorkClient(subject: "ada"), WorkClient(subject: "bob"))
        var first = work.charge(80, for: ada)
        #expect(first != nil)
        #expect(work.charge(1, for: ada) == nil)
        #expect(work.charge(30, for: bob) == nil)
        let small = work.charge(20, for: bob)
        #expect(small != nil)
        #expect(first?.resize(to: 81) == false)
        #expect(first?.resize(to: 80) == true)
        _ = consume small
        #expect(first?.resize(to: 200) == true)
        first = nil
        #expect(work.used == 0)
        // Bytes that may be dropped have no such right.
        #expect(work.charge(51, for: nil, mayBeDropped: true) == nil)
    }

    @Test func `bytes that may be dropped take nothing of a client's share`() throws {
        let work = WorkBudget(limit: 1_000, clientLimit: 100)
        let ada = WorkClient(subject: "ada")
        let kept = work.charge(50, for: ada, mayBeDropped: true)
        #expect(kept != nil)
        #expect(work.charge(1, for: ada, mayBeDropped: true) == nil)
        let first = work.charge(50, for: ada)
        #expect(first != nil)
        #expect(work.charge(50, for: ada) != nil)
        #expect(work.used == 100)
    }
}
