import Storage
import Testing

@testable import Feeds
@testable import Sessions

@Suite("Several sessions on one stream: changes while a relay waits", .timeLimit(.minutes(60)))
struct JointSeamTests {
    private static let kept = Retention(records: 100_000, bytes: 3_000_000)

    private func connect(
        _ rig: Rig, _ reader: JointReader, capacity: Int? = nil
    ) throws -> JointReader.Connection {
        let connection = try #require(reader.connect(rig, capacity: capacity))
        rig.drainInbox()
        return connection
    }

    private func names(_ connection: JointReader.Connection, _ session: String) -> [String] {
        connection.blocks.filter { $0.session == session }.map { $0.name ?? "-" }
    }

    /// Posts more than a connection that accepts nothing may hold.
    private func fill(_ rig: Rig, _ session: Session) throws {
        for _ in 1...40 {
            try rig.act(Post.fill(9_000), on: session)
            rig.settleAll()
            rig.drainInbox()
        }
    }

    @Test func `a session that is deleted sends the rest of its events, then its end`() throws {
        let rig = Rig(retention: Self.kept)
        let sessions = try ["a", "b"].map { try rig.create($0, .ledger()) }
        let reader = JointReader(["a", "b"], .allPulses)
        let connection = try connect(rig, reader, capacity: 0)
        try fill(rig, sessions[0])
        _ = rig.end(sessions[0])
        rig.endRound()
        rig.drainInbox()
        #expect(!connection.stream.vector.isOver(at: 0))
        connection.setCapacity(nil)
        rig.drainInbox()
        let filled = Array(repeating: "a/filling", count: 40)
        #expect(names(connection, "a") == ["a/snapshot"] + filled + ["a/end"])
        #expect(names(connection, "b") == ["b/snapshot"])
        #expect(rig.table.subscriberCount == 1)
        #expect(rig.table.relays.count == 1)
    }

    @Test func `a session whose relay waits stays awake, and sleeps when all is sent`() throws {
        let rig = Rig(answers: true, registrations: [try .ledger()], retention: Self.kept)
        let session = try rig.create("a", .ledger())
        rig.settleAll()
        let connection = try connect(rig, JointReader(["a"], .allPulses), capacity: 0)
        try fill(rig, session)
        tick(rig)
        #expect(rig.table.awakeCount == 1)
        connection.setCapacity(nil)
        rig.drainInbox()
        let filled = Array(repeating: "a/filling", count: 40)
        #expect(names(connection, "a") == ["a/snapshot"] + filled)
        tick(rig)
        #expect(rig.table.awakeCount == 0)
        #expect(rig.table.subscriberCount == 1)
        try rig.act(Post.set(7), on: try #require(try wake(rig, "a")))
        rig.settleAll()
        rig.drainInbox()
        #expect(names(connection, "a").last == "a/a")
    }

    private func tick(_ rig: Rig) {
        for _ in 1...10 {
            rig.table.tick()
            rig.settleAll()
            rig.drainInbox()
        }
    }

    private func wake(_ rig: Rig, _ id: String) throws -> Session? {
        guard case .session(let session) = try rig.wake(id) else { return nil }
        return session
    }

    @Test func `a stream that ends while its relays wait leaves nothing`() throws {
        let rig = Rig(retention: Self.kept)
        let session = try rig.create("a", .ledger())
        let reader = JointReader(["a", "nobody"], .allPulses)
        let connection = try connect(rig, reader, capacity: 0)
        try fill(rig, session)
        #expect(connection.stream.heldBytes > 0)
        connection.lose()
        rig.drainInbox()
        #expect(connection.stream.heldBytes == 0)
        #expect(rig.table.subscriberCount == 0)
        #expect(rig.table.relays.count == 0)
        // Its credit comes too late.
        connection.setCapacity(nil)
        rig.drainInbox()
        #expect(connection.bytes.isEmpty)
    }

    @Test func `a subscription that comes late does not belong to the next relay`() throws {
        let rig = Rig(slow: true)
        let sessions = try ["a", "b"].map { try rig.create($0, .ledger()) }
        rig.settleAll()
        // The commit is pending, and the subscription waits for it.
        try rig.act(Post.set(1), on: sessions[0])
        try connect(rig, JointReader(["a"], .allPulses)).lose()
        rig.drainInbox()
        let connection = try connect(rig, JointReader(["b"], .allPulses))
        rig.settleAll()
        rig.drainInbox()
        #expect(rig.table.subscriberCount == 1)
        try rig.act(Post.set(2), on: sessions[0])
        try rig.act(Post.set(3), on: sessions[1])
        rig.settleAll()
        rig.drainInbox()
        #expect(connection.blocks.map(\.name) == ["b/snapshot", "b/a"])
        #expect(connection.blocks.last?.data == "3")
    }

    @Test func `a session whose end is being committed ends`() throws {
        let rig = Rig(slow: true)
        let sessions = try ["a", "b"].map { try rig.create($0, .ledger()) }
        rig.settleAll()
        _ = rig.end(sessions[0])
        rig.endRound()
        let reader = JointReader(["a", "b"], .allPulses)
        let connection = try connect(rig, reader)
        rig.settleAll()
        rig.drainInbox()
        #expect(names(connection, "a").last == "a/end")
        #expect(connection.blocks.last { $0.name == "a/end" }?.data == #"{"reason":"deleted"}"#)
        #expect(reader.lastID?.hasPrefix("x,") == true)
        #expect(rig.table.subscriberCount == 1)
    }

    @Test func `nothing is written while the connection sends other bytes first`() throws {
        let rig = Rig()
        let session = try rig.create("a", .ledger())
        let connection = try connect(rig, JointReader(["a"], .allPulses))
        let count = connection.bytes.count
        connection.stream.waitForRoom()
        #expect(connection.stream.isBlocked)
        try rig.act(Post.set(1), on: session)
        rig.drainInbox()
        #expect(connection.bytes.count == count)
        connection.stream.resume()
        #expect(!connection.stream.isBlocked)
        #expect(connection.blocks.map(\.name) == ["a/snapshot", "a/a"])
        try rig.act(Post.set(2), on: session)
        rig.drainInbox()
        #expect(connection.blocks.last?.data == "2")
    }

    @Test func `an event of which a part waits is sent whole by the next relay`() throws {
        let rig = Rig(retention: Self.kept)
        let sessions = try ["a", "b", "c"].map { try rig.create($0, .ledger()) }
        let reader = JointReader(["a", "b", "c"], .allPulses)
        let connection = try connect(rig, reader, capacity: 0)
        for _ in 1...3 {
            try rig.act(Post.fill(40_000), on: sessions[0])
            rig.drainInbox()
        }
        for subscriber in rig.table.relays.subscribers { subscriber.abandon() }
        rig.drainInbox()
        connection.setCapacity(nil)
        rig.drainInbox()
        let filled = Array(repeating: "a/filling", count: 3)
        #expect(names(connection, "a") == ["a/snapshot"] + filled)
        #expect(rig.table.subscriberCount == 3)
        #expect(connection.howItEnded == nil)
    }
}
