import Cyclers
import Feeds
import Reactors
import Sessions
import Storage
import TestStreams
import Testing

@Suite("Case 153 — waiting actions of a Cycler are bounded", .timeLimit(.minutes(60)))
struct RunningActionsTests {
    private let gate = Gate()

    private func registration(_ stream: AsyncStream<Cashier.Action>? = nil) throws -> Registration {
        let gate = gate
        return try Registration(
            name: "cashier", activities: ["said"], examples: [],
            makeCycler: { Cashier(gate: gate, stream: stream) })
    }

    private func refusal(_ body: String, _ session: Session, _ rig: Rig) throws -> Int? {
        do {
            try rig.act(body, on: session)
            return nil
        } catch let refusal as ActionRefusal {
            guard case .tooManyRunning(let limit) = refusal else { throw refusal }
            return limit
        }
    }

    @Test func `1000 actions may wait, and one more is refused without a trace`() async throws {
        let rig = Rig()
        let session = try rig.create("s", try registration())
        for _ in 1...999 { try rig.act(Cashier.addLater(1), on: session) }
        let last = try rig.post(Cashier.addLater(1), to: session, waits: true)
        rig.endRound()
        let position = session.position
        #expect(try refusal(Cashier.addLater(1), session, rig) == 1_000)
        #expect(try refusal(Cashier.add(1), session, rig) == 1_000)
        #expect(session.position == position)
        #expect(rig.state(session) == #"{"sum":1000,"text":null}"#)
        gate.open()
        await rig.work { rig.answer(last) != nil }
        #expect(rig.state(session) == #"{"sum":2000,"text":null}"#)
        #expect(try refusal(Cashier.add(1), session, rig) == nil)
    }

    @Test func `actions of a batch that find the session full are rejected`() throws {
        let rig = Rig(runningActions: 2)
        let session = try rig.create("s", try registration())
        let batch = Post.all(
            Cashier.addLater(1), Cashier.add(1), Cashier.addLater(1), Cashier.add(1))
        #expect(rig.line(try rig.act(batch, on: session)) == "rejected [3] v3 n3")
        #expect(rig.state(session) == #"{"sum":3,"text":null}"#)
        #expect(try refusal(batch, session, rig) == 2)
    }

    @Test func `an element of a source for a full session becomes a failure record`() async throws {
        let (stream, feed) = AsyncStream<Cashier.Action>.makeStream()
        let rig = Rig(runningActions: 1)
        let session = try rig.create("s", try registration(stream))
        try rig.act(Cashier.addLater(1), on: session)
        feed.yield(.add(number: 5))
        await rig.work { session.position.number == 2 }
        #expect(rig.journal.kept.map(\.kind) == [.created, .mutation, .failure])
        #expect(rig.state(session) == #"{"sum":1,"text":null}"#)
    }
}

@Suite("The subscribers of a session are bounded", .timeLimit(.minutes(60)))
struct SubscriberLimitTests {
    @Test func `one beyond the limit is refused until another leaves, whatever it selects`() throws
    {
        let rig = Rig(subscribers: 2)
        let session = try rig.create("s", .ledger())
        let first = rig.subscribe(session, try .part("/x1"))
        rig.subscribe(session, try .part("/x2"))
        for path in ["/x1", "/x3"] {
            let surplus = rig.subscribe(session, try .part(path))
            #expect(rig.line(surplus) == "tooManySubscribers 2 v0 n0")
        }
        rig.output.disconnect(first)
        #expect(rig.line(rig.subscribe(session, try .part("/x3"))) == "subscribed v0 n0")
        let other = try rig.create("t", .ledger())
        #expect(rig.line(rig.subscribe(other, try .part("/x1"))) == "subscribed v0 n0")
    }

    @Test func `subscribers that wait for the same commit are counted too`() throws {
        let rig = Rig(slow: true, subscribers: 2)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.act(Post.set(1), on: session)
        let readers = try (0..<3).map { _ in rig.subscribe(session, try .part("/x")) }
        rig.settleAll()
        #expect(readers.prefix(2).allSatisfy { rig.line($0) == "subscribed v1 n1" })
        #expect(rig.line(readers[2]) == "tooManySubscribers 2 v1 n1")
    }

    @Test func `a lower limit ends no stream and admits none`() throws {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let readers = try (0..<3).map { _ in rig.subscribe(session, try .part("/x")) }
        rig.table.limits.subscribers = 2
        #expect(readers.allSatisfy { rig.line($0) == "subscribed v0 n0" })
        rig.output.disconnect(readers[0])
        let surplus = rig.subscribe(session, try .part("/x"))
        #expect(rig.line(surplus) == "tooManySubscribers 2 v0 n0")
    }
}

@Suite(
    "Case 153 — concurrent selections of a session are bounded", .timeLimit(.minutes(60)))
struct SelectionLimitTests {
    /// An endless supply of distinct selections.
    private func selection(_ number: Int) throws -> Selection { try .part("/x\(number)") }

    @Test func `256 selections are read, and one more is refused until another has no reader`()
        throws
    {
        let rig = Rig()
        let session = try rig.create("s", .ledger())
        let first = rig.subscribe(session, try selection(0))
        for number in 1..<256 { rig.subscribe(session, try selection(number)) }
        let surplus = rig.subscribe(session, try selection(256))
        #expect(rig.line(surplus) == "tooManySelections 256 v0 n0")
        let same = rig.subscribe(session, try selection(255))
        #expect(rig.line(same) == "subscribed v0 n0")
        rig.output.disconnect(first)
        #expect(rig.line(rig.subscribe(session, try selection(256))) == "subscribed v0 n0")
        #expect(rig.line(rig.subscribe(session, try selection(0))) == "tooManySelections 256 v0 n0")
    }

    @Test func `selections that wait for the same commit are counted too`() throws {
        let rig = Rig(slow: true)
        let session = try rig.create("s", .ledger())
        rig.settleAll()
        try rig.act(Post.set(1), on: session)
        let readers = try (0...256).map { rig.subscribe(session, try selection($0)) }
        rig.settleAll()
        #expect(readers.dropLast().allSatisfy { rig.line($0) == "subscribed v1 n1" })
        #expect(rig.line(readers[256]) == "tooManySelections 256 v1 n1")
    }

    @Test(arguments: [16, 64])
    func `many selections together keep no more than 16 do`(count: Int) throws {
        let rig = Rig(retention: Retention(records: 1_000, bytes: 8_000))
        let session = try rig.create("s", .ledger())
        // Bits of pulses that the reactor does not have make the selections distinct.
        let selections = (0..<count).map { Selection(pulses: 1 | UInt64($0) << 32) }
        for selection in selections.dropLast() { rig.subscribe(session, selection, .now) }
        let stalled = rig.subscribe(session, selections[count - 1], .now, capacity: 0)
        for a in 1...100 { try rig.act(Post.set(a), on: session) }
        rig.output.setCapacity(nil, of: stalled)
        let seen = rig.lines(stalled)
        if count == 16 {
            #expect(seen == (1...100).map { "a \($0) \($0)" })
        } else {
            // 2 000 bytes each: less than 100 events.
            #expect(seen.first == #"reset 0 {"reason":"trimmed"}"#)
        }
    }
}

@Suite(
    "Case 153 — sessions in memory are bounded, including woken ones", .timeLimit(.minutes(60)))
struct SessionLimitTests {
    /// Creates `count` sessions that are all asleep.
    private func asleep(
        _ count: Int, limit: Int, slow: Bool = false, of registration: Registration? = nil
    ) throws -> Rig {
        let registration = try registration ?? .ledger()
        let rig = Rig(answers: true, registrations: [registration], sessions: limit)
        for number in 0..<count {
            try rig.create("s\(number)", registration)
            for _ in 0..<6 {
                rig.table.tick()
                rig.endRound()
            }
        }
        #expect(rig.table.awakeCount == 0)
        rig.journal.setImmediate(!slow)
        return rig
    }

    private func isAwake(_ number: Int, _ rig: Rig) -> Bool {
        guard let id = SessionID("s\(number)"), case .session = rig.table.find(id) else {
            return false
        }
        return true
    }

    private func wake(_ number: Int, _ rig: Rig) throws -> Bool {
        defer { rig.endRound() }
        switch try rig.wake("s\(number)") {
        case .session: return true
        case .noRoom: return false
        default: throw Rig.NoSession(id: "s\(number)")
        }
    }

    @Test(arguments: [1, 2, 5, 40]) func `no more sessions are awake than the limit`(limit: Int)
        throws
    {
        let rig = try asleep(3 * limit, limit: limit)
        for _ in 1...3 {
            for number in 0..<(3 * limit) {
                #expect(try wake(number, rig))
                #expect(isAwake(number, rig))
                #expect(rig.table.awakeCount == min(limit, rig.table.awakeCount))
            }
        }
        #expect(rig.table.awakeCount == limit)
    }

    @Test func `the least recently used session is evicted`() throws {
        let rig = try asleep(5, limit: 4)
        for number in 0..<4 { #expect(try wake(number, rig)) }
        rig.table.tick()
        for number in [0, 1, 3] { _ = rig.read(try rig.session("s\(number)")) }
        rig.endRound()
        #expect(try wake(4, rig))
        #expect((0...4).map { isAwake($0, rig) } == [true, true, false, true, true])
    }

    @Test func `an unsaved session is saved first, and nothing of it is lost`() throws {
        let rig = try asleep(2, limit: 1)
        #expect(try wake(0, rig))
        try rig.act(Post.set(7), on: try rig.session("s0"))
        #expect(try !wake(1, rig))
        #expect(isAwake(0, rig))
        #expect(try wake(1, rig))
        #expect(!isAwake(0, rig))
        #expect(try wake(0, rig))
        #expect(rig.state(try rig.session("s0")).contains(#""a":7"#))
    }

    @Test func `a busy session stays, and one that would wake is refused`() throws {
        let rig = try asleep(2, limit: 1, slow: true)
        _ = try rig.wake("s0")
        let session = try rig.session("s0")
        let posted = try rig.act(Post.set(1), on: session)
        guard case .noRoom = try rig.wake("s1") else { throw Rig.NoSession(id: "s1") }
        #expect(rig.table.awakeCount == 1)
        rig.settleAll()
        #expect(rig.line(posted) == "received v1 n1")
        guard case .noRoom = try rig.wake("s1") else { throw Rig.NoSession(id: "s1") }
        rig.settleAll()
        guard case .session = try rig.wake("s1") else { throw Rig.NoSession(id: "s1") }
        #expect(rig.table.awakeCount == 1)
    }

    @Test func `creating more is refused, and reading sleeping sessions does not count`() throws {
        let rig = try asleep(1, limit: 1)
        #expect(try wake(0, rig))
        let reader = rig.subscribe(try rig.session("s0"), .allPulses, .now)
        #expect(!rig.table.hasRoomForSession)
        for _ in 0..<6 {
            rig.table.tick()
            rig.endRound()
        }
        #expect(rig.table.count == 1)
        #expect(rig.table.awakeCount == 0)
        #expect(rig.table.hasRoomForSession)
        #expect(try wake(0, rig))
        #expect(rig.table.awakeCount == 1)
        rig.output.disconnect(reader)
        let ended = rig.end(try rig.session("s0"))
        rig.settleAll()
        #expect(rig.line(ended) == "ended v0 n1")
        #expect(rig.table.awakeCount == 0)
        #expect(rig.table.count == 0)
    }

    @Test func `a load keeps few requests whose clients have left`() throws {
        let rig = try asleep(1, limit: 1)
        let id = try #require(SessionID("s0"))
        var (wanted, left) = (0, 0)
        rig.table.wake(id) { _ in wanted += 1 }
        for _ in 0..<10_000 { rig.table.wake(id, while: { false }) { _ in left += 1 } }
        rig.drainInbox()
        #expect(wanted == 1)
        #expect(left < 100)
    }
}
