import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "Work has a bound — each client that holds shared bytes has them in its share",
    .timeLimit(.minutes(60)))
struct SharedBytesTests {
    private static let size = 200_000
    private let ada = WorkClient(subject: "ada")
    private let bob = WorkClient(subject: "bob")

    /// A rig in which the share of a client has room for one state.
    private func rig(client: Int = 3 * SharedBytesTests.size / 2) throws -> (
        Rig, Session, WorkBudget
    ) {
        let work = WorkBudget(limit: 10_000_000, clientLimit: client)
        let rig = Rig(answers: true, work: work)
        let session = try rig.create("s", .sized())
        rig.settleAll()
        try grow(rig, session, to: Self.size)
        return (rig, session, work)
    }

    private func grow(_ rig: Rig, _ session: Session, to size: Int) throws {
        try rig.act(#"{"size":\#(size)}"#, on: session)
        rig.settleAll()
    }

    private func read(_ rig: Rig, _ session: Session, by client: WorkClient) -> UInt64 {
        let token = rig.nextToken()
        rig.output.clients[token] = client
        session.read(version: nil, for: token)
        return token
    }

    private func subscribe(
        _ rig: Rig, _ session: Session, by client: WorkClient, _ selection: Selection = .allStates,
        _ start: SubscriptionRequest.Start = .snapshot
    ) -> UInt64 {
        let token = rig.nextToken()
        rig.output.clients[token] = client
        return rig.subscribe(session, selection, start, capacity: 0, for: token)
    }

    @Test func `a state that two clients read counts once, and for the one that has not left`()
        throws
    {
        let (rig, session, work) = try rig()
        let first = read(rig, session, by: ada)
        for _ in 0..<3 { _ = read(rig, session, by: bob) }
        #expect((Self.size..<Self.size + 1_000).contains(work.used))
        rig.output.releaseAnswer(first)
        #expect(work.used >= Self.size)
        try grow(rig, session, to: Self.size + 1)
        #expect(rig.line(read(rig, session, by: ada)).hasPrefix("state"))
        #expect(rig.line(read(rig, session, by: bob)).hasPrefix("overBudget"))
        rig.output.releaseAnswers()
        #expect(work.used == 0)
        #expect(rig.line(read(rig, session, by: bob)).hasPrefix("state"))
    }

    @Test func `a snapshot that two clients get counts once, and for the one that has not left`()
        throws
    {
        let (rig, session, work) = try rig()
        let first = subscribe(rig, session, by: ada)
        let second = subscribe(rig, session, by: bob)
        rig.output.releaseAnswers()
        #expect((Self.size..<Self.size + 1_000).contains(work.used))
        rig.output.disconnect(first)
        #expect(work.used >= Self.size)
        // A third one shares the block that the second one holds.
        let third = subscribe(rig, session, by: ada)
        rig.output.releaseAnswers()
        #expect(work.used < Self.size + 1_000)
        rig.output.disconnect(third)
        try grow(rig, session, to: Self.size + 1)
        #expect(rig.line(read(rig, session, by: ada)).hasPrefix("state"))
        #expect(rig.line(read(rig, session, by: bob)).hasPrefix("overBudget"))
        rig.output.disconnect(second)
        rig.output.releaseAnswers()
        #expect(work.used == 0)
    }

    /// Where the readers' largest unsent pieces end in memory.
    private func ends(_ subscribers: [Subscriber]) throws -> Set<Int> {
        var ends: Set<Int> = []
        for subscriber in subscribers {
            let pieces = subscriber.unsent.pieces.map(\.bytes)
            let piece = try #require(pieces.max { $0.count < $1.count })
            #expect(piece.count > WorkBudget.smallestBytes)
            ends.insert(
                unsafe piece.withUnsafeBufferPointer {
                    Int(bitPattern: $0.baseAddress) + $0.count
                })
        }
        return ends
    }

    // Each had a copy, and the copies counted once.
    @Test func `a snapshot is in memory once, however many readers wait for it`() throws {
        let (rig, session, work) = try rig(client: 10_000_000)
        var states = Selection.allStates
        states.isChunked = true
        let tokens = (0..<3).map { _ in subscribe(rig, session, by: ada, states) }
        // Their texts are no positions: each gets a reset.
        let others = (0..<3).map { _ in subscribe(rig, session, by: bob, states, .after("x")) }
        let joints = (0..<3).map { _ in JointReader(["s"], .allStates, client: ada) }
        for joint in joints { _ = joint.connect(rig, capacity: 0) }
        rig.drainInbox()
        let single = (tokens + others).compactMap { rig.output.subscribers[$0] }
        let relays = rig.table.relays.subscribers
        #expect(single.count + relays.count == 9)
        #expect(try ends(single + relays).count == 1)
        rig.output.releaseAnswers()
        #expect((Self.size..<4 * Self.size).contains(work.used))
        // The bytes are those of the state.
        for token in tokens + others { rig.output.setCapacity(nil, of: token) }
        let state = try #require(rig.lines(tokens[0]).first)
        #expect(state.utf8.count > Self.size)
        for token in tokens { #expect(rig.lines(token) == [state]) }
        for token in others { #expect(rig.lines(token).last == state) }
    }

    @Test func `a reset after a gap copies no state for its reader`() throws {
        let rig = Rig(retention: Retention(records: 1, bytes: Self.size / 2))
        let session = try rig.create("s", .sized())
        rig.settleAll()
        let readers = (0..<3).map { _ in
            rig.subscribe(session, .allStates, .now, capacity: 0)
        }
        for number in 1...3 { try grow(rig, session, to: Self.size + number) }
        // Room for the id of the opening, and for the beginning of the reset.
        for reader in readers { rig.output.setCapacity(30, of: reader) }
        let subscribers = readers.compactMap { rig.output.subscribers[$0] }
        #expect(try ends(subscribers).count == 1)
        for reader in readers { rig.output.setCapacity(nil, of: reader) }
        for reader in readers {
            #expect(rig.transcript(reader).events.map(\.name) == ["reset", "snapshot"])
        }
    }

    /// A session with readers on two loops, one of which accepts nothing on the other loop.
    private func spread(limit: Int) throws -> (Rig, Session, WorkBudget, slow: UInt64) {
        let work = WorkBudget(limit: limit, clientLimit: limit)
        let rig = Rig(answers: true, work: work, replicasFrom: 1)
        let session = try rig.create("s", .sized())
        rig.settleAll()
        let readers = (0..<4).map { _ in rig.subscribe(session, .allStates, .now) }
        rig.settleAll()
        let slow = try #require(
            readers.first { rig.output.subscribers[$0]?.stream !== session.streams.all[0] })
        rig.output.setCapacity(0, of: slow)
        return (rig, session, work, slow)
    }

    @Test func `states for readers on other loops count until those loops have dropped them`()
        throws
    {
        let (rig, session, work, slow) = try spread(limit: 10_000_000)
        // Those of the session's own loop count besides.
        try grow(rig, session, to: 2 * Self.size)
        #expect((4 * Self.size..<5 * Self.size).contains(work.used))
        try grow(rig, session, to: 10)
        #expect(work.used < 3 * Self.size)
        rig.output.setCapacity(nil, of: slow)
        rig.settleAll()
        #expect(rig.transcript(slow).events.map(\.name) == ["state", "state"])
        #expect(rig.transcript(slow).events.last?.data == #"{"size":10,"text":"xxxxxxxxxx"}"#)
    }

    @Test
    func `without room for them another loop keeps no states, and a slow reader asks for them`()
        throws
    {
        // Half of it has room for the bytes of the session's own loop.
        let (rig, session, work, slow) = try spread(limit: 3 * Self.size)
        try grow(rig, session, to: Self.size)
        #expect(work.used < 2 * Self.size)
        #expect(rig.second?.lags == 0)
        rig.output.setCapacity(nil, of: slow)
        rig.settleAll()
        #expect(rig.second?.lags == 1)
        #expect(rig.transcript(slow).events.map(\.name) == ["state"])
        try grow(rig, session, to: 10)
        #expect(rig.transcript(slow).events.map(\.name) == ["state", "state"])
    }

    // Each has bytes of its own on the way to its loop. They counted as those of a slow reader on
    // the session's loop, which shares its bytes.
    @Test(arguments: [true, false])
    func `snapshots after a reset count for each slow reader on another loop`(
        isRoomForAll: Bool
    ) throws {
        let limit = (isRoomForAll ? 20 : 5) * Self.size
        let work = WorkBudget(limit: limit, clientLimit: limit)
        let rig = Rig(
            registrations: [try .sized()], retention: Retention(records: 1, bytes: 2_000),
            work: work, replicasFrom: 1)
        let session = try rig.create("s", .sized())
        rig.settleAll()
        let readers = (0..<8).map { _ in rig.subscribe(session, .allStates, .now) }
        rig.settleAll()
        let slow = readers.filter {
            rig.output.subscribers[$0]?.stream !== session.streams.all[0]
        }
        try #require(slow.count == 4)
        let own = try #require(readers.first { !slow.contains($0) })
        for reader in slow + [own] { rig.output.setCapacity(0, of: reader) }
        for number in 0..<3 { try grow(rig, session, to: Self.size + number) }
        // Room for the beginning of the reset.
        for reader in [own] + slow { rig.output.setCapacity(30, of: reader) }
        rig.settleAll()
        #expect(rig.second?.lags == 4)
        let waiting = slow.filter { rig.output.isStreaming($0) }
        #expect(isRoomForAll ? waiting.count == 4 : (1..<4).contains(waiting.count))
        #expect(work.used >= (waiting.count + 1) * Self.size)
        for reader in waiting { rig.output.setCapacity(nil, of: reader) }
        rig.settleAll()
        for reader in waiting {
            #expect(rig.transcript(reader).events.map(\.name) == ["reset", "snapshot"])
        }
    }

    @Test func `states that a stream keeps count for a client that has not left`() throws {
        // Half of a share has room for the states that one stream keeps.
        let (rig, session, work) = try rig(client: 3 * Self.size)
        let first = subscribe(rig, session, by: ada, .allStates, .now)
        let second = subscribe(rig, session, by: bob, .allStates, .now)
        try grow(rig, session, to: Self.size + 1)
        #expect(work.used >= Self.size)
        rig.output.disconnect(first)
        #expect(work.used >= Self.size)
        let other = try rig.create("t", .sized())
        rig.settleAll()
        let third = subscribe(rig, other, by: ada, .allStates, .now)
        try grow(rig, other, to: Self.size + 2)
        #expect(work.used >= 2 * Self.size)
        // The other one's share is used up.
        let last = try rig.create("u", .sized())
        rig.settleAll()
        let fourth = subscribe(rig, last, by: bob, .allStates, .now)
        try grow(rig, last, to: Self.size + 3)
        #expect(work.used < 3 * Self.size)
        for token in [second, third, fourth] { rig.output.disconnect(token) }
        #expect(work.used == 0)
    }

    @Test func `events of the journal count once, and for the client that has not left`() throws {
        let work = WorkBudget(limit: 10_000_000, clientLimit: 3 * Self.size / 2)
        let rig = Rig(
            answers: true, registrations: [try .ledger()], retention: Retention(records: 1),
            work: work)
        let session = try rig.create("s", .ledger())
        let text = String(repeating: "x", count: Self.size)
        for _ in 0..<3 { try rig.act(Post.say(text), on: session) }
        rig.settleAll()
        let start = SubscriptionRequest.Start.after("\(session.generation.text).0")
        let first = subscribe(rig, session, by: ada, .allActivities, start)
        let second = subscribe(rig, session, by: bob, .allActivities, start)
        rig.drainInbox()
        rig.output.releaseAnswers()
        #expect((Self.size..<Self.size + 1_000).contains(work.used))
        rig.output.disconnect(first)
        #expect(work.used >= Self.size)
        #expect(work.charge(Self.size, for: ada) != nil)
        #expect(work.charge(Self.size, for: bob) == nil)
        rig.output.disconnect(second)
        #expect(work.used == 0)
    }

    @Test func `a stream of several sessions counts what its connection does not accept`() throws {
        let work = WorkBudget(limit: 10_000_000, clientLimit: 10_000_000)
        let rig = Rig(registrations: [try .sized()], work: work)
        let names = ["s", "t", "u"]
        let sessions = try names.map { try rig.create($0, .sized()) }
        for session in sessions { try grow(rig, session, to: 60_000) }
        let reader = JointReader(names, .allStates, client: ada)
        let connection = try #require(reader.connect(rig, capacity: 0))
        rig.drainInbox()
        #expect((120_000...250_000).contains(work.used))
        connection.setCapacity(nil)
        rig.drainInbox()
        #expect(work.used == 0)
        connection.lose()
        // If there is no room, the client continues at the previous event.
        let other = work.charge(9_900_000, for: nil)
        let late = try #require(
            JointReader(names, .allStates, client: ada).connect(rig, capacity: 0))
        rig.drainInbox()
        #expect(late.howItEnded == .cut)
        #expect(work.used == 9_900_000)
        _ = consume other
    }

    @Test func `a share is given back once, however bytes are shared`() throws {
        let work = WorkBudget(limit: 1_000, clientLimit: 100)
        let first = try #require(work.charge(60, for: ada))
        var others = [try first.bytes.charge(for: bob), try first.bytes.charge(for: bob)]
        #expect(others[0] === others[1])
        #expect(try first.bytes.charge(for: ada) === first)
        #expect(work.used == 60)
        #expect(work.charge(60, for: bob) == nil)
        others = []
        #expect(work.charge(60, for: bob) != nil)
        #expect(work.charge(60, for: ada) == nil)
        #expect(work.used == 60)
    }

    @Test func `a client that comes back to shared bytes has one charge`() throws {
        let work = WorkBudget(limit: 1_000, clientLimit: 100)
        let first = try #require(work.charge(60, for: ada))
        var second: WorkCharge? = try first.bytes.charge(for: bob)
        second = nil
        second = try first.bytes.charge(for: bob)
        #expect(try first.bytes.charge(for: bob) === second)
    }

    @Test func `a client whose share is used up does not get shared bytes`() throws {
        let work = WorkBudget(limit: 1_000, clientLimit: 100)
        let first = try #require(work.charge(60, for: ada))
        var own = work.charge(50, for: bob)
        #expect(throws: WorkOverload.self) { try first.bytes.charge(for: bob) }
        // The refusal has left nothing in it.
        #expect(work.charge(50, for: bob) != nil)
        _ = own
        own = nil
        let second = try first.bytes.charge(for: bob)
        #expect(work.charge(41, for: bob) == nil)
        _ = consume second
    }

    @Test func `bytes that become more or fewer do so in the share of their client`() throws {
        let work = WorkBudget(limit: 1_000, clientLimit: 100)
        var first = work.charge(80, for: ada)
        #expect(first?.resize(to: 20) == true)
        #expect(work.used == 20)
        #expect(work.charge(80, for: ada) != nil)
        #expect(first?.resize(to: 90) == true)
        #expect(work.used == 90)
        #expect(work.charge(11, for: ada) == nil)
        first = nil
        #expect(work.used == 0)
        #expect(work.charge(100, for: ada) != nil)
    }

    @Test func `bytes that may be dropped grow within half of a share, and pass to another client`()
        throws
    {
        let work = WorkBudget(limit: 1_000, clientLimit: 100)
        var first = work.charge(40, for: ada, mayBeDropped: true)
        #expect(first?.resize(to: 51) == false)
        #expect(first?.resize(to: 50) == true)
        #expect(first?.passed(to: ada) === first)
        var second = first?.passed(to: bob)
        first = nil
        #expect(work.used == 50)
        #expect(work.charge(50, for: ada, mayBeDropped: true) != nil)
        #expect(work.charge(1, for: bob, mayBeDropped: true) == nil)
        // Other bytes have all of the share.
        let own = work.charge(100, for: bob)
        #expect(own != nil)
        #expect(second?.resize(to: 51) == false)
        second = nil
        #expect(work.used == 100)
        #expect(work.charge(50, for: bob, mayBeDropped: true) != nil)
        _ = consume own
    }
}
