import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite(
    "Work has a bound — each client that holds shared bytes has them in its share",
    .timeLimit(.minutes(15)))
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
}
