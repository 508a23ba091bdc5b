import Cluster
import EngineSuite
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

@Suite("the owner of a session in PostgreSQL", .timeLimit(.minutes(60)))
struct OwnershipTests {
    private struct Rig {
        let server: PostgresServer
        let schema: String

        init() throws {
            server = try PostgresServer.shared.get()
            schema = server.newSchema()
        }

        func node(
            _ number: Int64, reactors: [String: Int] = ["alerts": 5],
            lease: Duration = .seconds(3_600), respite: Duration = .seconds(1)
        ) throws -> ClusterNode {
            try ClusterNode(
                number, server, schema, reactors: reactors, lease: lease, respite: respite)
        }

        /// The last beat of a node was a while ago, by the clock of the database.
        func age(_ node: ClusterNode, bySeconds seconds: Int) throws {
            try server.execute(
                """
                UPDATE \(schema).nodes SET seen = seen - interval '\(seconds) s'
                WHERE node = \(node.node.number)
                """)
        }

        /// Moves the time at which sessions were taken.
        func moveTakings(_ interval: String) throws {
            try server.execute(
                "UPDATE \(schema).sessions SET taken = taken + interval '\(interval)'")
        }

        func row(_ session: String) throws -> (node: Int64, epoch: Int64) {
            let found = try server.query(
                "SELECT node, epoch FROM \(schema).sessions WHERE id = '\(session)'")
            return (found.integer(0, 0), found.integer(0, 1))
        }
    }

    // MARK: Claims

    @Test func `the creator is the first owner, and others leave the session to it`() async throws {
        let rig = try Rig()
        let (a, b) = (try rig.node(1), try rig.node(2))
        try await a.create("s", 1)
        #expect(try rig.row("s") == (1, 1))
        #expect(try await b.claim("s") == .elsewhere(a.node, .alerts))
        #expect(await a.commit(.mutation("s", 2), epoch: 1) == .committed)
        // Its owner may claim it again, and gets what is there.
        let saved = try await a.own("s")
        #expect(saved.epoch == 2)
        #expect(saved.end.number == 2)
        await a.close()
        await b.close()
    }

    @Test func `a session that was released belongs to the next claimant`() async throws {
        let rig = try Rig()
        let (a, b) = (try rig.node(1), try rig.node(2))
        try await a.create("s", 3)
        // Of another epoch or generation: nothing is released.
        try await a.release(
            OwnedSession(.of("s"), epoch: 2), OwnedSession(.of("s", "g2"), epoch: 1))
        try await b.release(OwnedSession(.of("s"), epoch: 1))
        #expect(try rig.row("s") == (1, 1))
        try await a.release(OwnedSession(.of("s"), epoch: 1))
        #expect(try rig.row("s") == (0, 2))
        #expect(
            await a.commit(.mutation("s", 4), epoch: 1) == .partial([.of("s"): .moved(nil)]))
        let saved = try await b.own("s")
        #expect((saved.epoch, saved.end.number) == (3, 3))
        #expect(await b.commit(.mutation("s", 4), epoch: 3) == .committed)
        #expect(
            await a.commit(.mutation("s", 5), epoch: 1) == .partial([.of("s"): .moved(b.node)]))
        await a.close()
        await b.close()
    }

    @Test func `what is not there cannot be claimed`() async throws {
        let rig = try Rig()
        let a = try rig.node(1)
        try await a.create("s")
        #expect(try await a.claim("t") == .nothing)
        #expect(await a.commit(.deleted("s", 1), epoch: 1) == .committed)
        #expect(try await a.claim("s") == .ended)
        #expect(try rig.row("s") == (0, 2))
        // The id is used again.
        let again = Batch(records: [.created("s", "g2")])
        #expect(await a.journal.verdict(on: again) == .committed)
        #expect(try rig.row("s") == (1, 1))
        await a.close()
    }

    @Test func `what was decided without an epoch, or in an earlier one, is refused`() async throws
    {
        let rig = try Rig()
        let a = try rig.node(1)
        try await a.create("s")
        #expect(try await a.own("s").epoch == 2)
        for epoch: Int64 in [0, 1, 3] {
            #expect(
                await a.commit(.mutation("s", 1), epoch: epoch)
                    == .partial([.of("s"): .moved(nil)]))
            var part = Batch()
            part.snapshots = [.of("s", 0)]
            part.expected = [ExpectedEnd(.of("s"), at: HistoryPosition(0), lineage: 0)]
            part.expected[0].epoch = epoch
            #expect(await a.journal.verdict(on: part) == .partial([.of("s"): .moved(nil)]))
        }
        #expect(await a.commit(.mutation("s", 1), epoch: 2) == .committed)
        await a.close()
    }

    /// A creation names no epoch; what follows in the same statement is in the first one.
    @Test func `a creation and what follows go in together`() async throws {
        let rig = try Rig()
        let a = try rig.node(1)
        let batches = [
            Batch.of([.created("s")], epoch: 0, lineage: 7),
            .of([.mutation("s", 1)], epoch: 1, lineage: 7),
            .of([.mutation("s", 2)], epoch: 1, lineage: 7),
        ]
        for pending in batches.map({ Pending($0, in: a.journal) }) {
            #expect(await pending.value == .committed)
        }
        #expect(try rig.row("s") == (1, 1))
        await a.close()
    }

    /// Many nodes claim the same sessions over and over, and append.
    @Test func `of racing claims one wins, and no history forks`() async throws {
        let rig = try Rig()
        let nodes = try (1...3).map { try rig.node($0) }
        let ids = (0..<4).map { "s\($0)" }
        for id in ids { try await nodes[0].create(id) }
        let epochs = try await withThrowingTaskGroup(of: [Int64].self) { group in
            for node in nodes {
                group.addTask { try await Self.race(node, ids) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        // No epoch of a session was given twice.
        #expect(Set(epochs).count == epochs.count)
        #expect(epochs.count > 40)
        for (index, id) in ids.enumerated() {
            let records = try await nodes[0].journal.records(id)
            let wins = epochs.filter { $0 % 4 == Int64(index) }
            #expect(records.map(\.number) == Array(1..<UInt64(records.count + 1)))
            let there = records.map { String(decoding: $0.content, as: UTF8.self) }
            #expect(Set(there) == Set(wins.map { "\"\($0 / 4)\"" }))
        }
        for node in nodes { await node.close() }
    }

    /// - Returns: the epochs in which an append was let in, times four, plus the session.
    private static func race(_ node: ClusterNode, _ ids: [String]) async throws -> [Int64] {
        var won: [Int64] = []
        for _ in 0..<20 {
            for (index, id) in ids.enumerated() {
                guard case .owned(let saved) = try await node.claim(id) else { continue }
                let next = HistoryEntry.mutation(
                    id, saved.end.number + 1, content: "\"\(saved.epoch)\"")
                if await node.commit(next, epoch: saved.epoch) == .committed {
                    won.append(saved.epoch * 4 + Int64(index))
                }
                try await node.release(OwnedSession(.of(id), epoch: saved.epoch))
            }
        }
        return won
    }

    // MARK: Force

    @Test func `an owner that is no member is no owner`() async throws {
        let rig = try Rig()
        let (a, b) = (try rig.node(1), try rig.node(2))
        try await a.create("s")
        try rig.age(a, bySeconds: 1_800)
        #expect(try await b.claim("s") == .elsewhere(a.node, .alerts))
        try rig.age(a, bySeconds: 1_801)
        #expect(try await b.own("s").epoch == 2)
        #expect(
            await a.commit(.mutation("s", 1), epoch: 1) == .partial([.of("s"): .moved(b.node)]))
        await a.close()
        await b.close()
    }

    /// The respite is longer than a test.
    @Test func `a session is taken by force, and not again within the respite`() async throws {
        let rig = try Rig()
        let nodes = try (1...3).map { try rig.node($0, respite: .seconds(3_600)) }
        let (a, b, c) = (nodes[0], nodes[1], nodes[2])
        try await a.create("s")
        // Another one is suspected.
        #expect(try await b.claim("s", deposing: c) == .elsewhere(a.node, .alerts))
        #expect(try await b.own("s", deposing: a).epoch == 2)
        #expect(try await a.claim("s", deposing: b) == .elsewhere(b.node, .alerts))
        #expect(try await c.claim("s", deposing: b) == .elsewhere(b.node, .alerts))
        try rig.moveTakings("-3601 s")
        #expect(try await a.own("s", deposing: b).epoch == 3)
        // By the clock of a former primary.
        try rig.moveTakings("10 h")
        #expect(try await b.own("s", deposing: a).epoch == 4)
        for node in [a, b, c] { await node.close() }
    }

    @Test func `a node that ends leaves its sessions to the others at once`() async throws {
        let rig = try Rig()
        let (a, b) = (try rig.node(1), try rig.node(2))
        try await a.create("s")
        await a.close()
        #expect(try await b.own("s").epoch == 2)
        // A process that was killed, and begins again at its address.
        try await b.create("t")
        let c = try ClusterNode(2, rig.server, rig.schema)
        #expect(c.node == b.node)
        await b.close()
        await c.close()
    }

    /// The row names the node that leaves, although that does not have the session in memory: a
    /// release was lost. Without the rule, each of the two nodes refers to the other.
    @Test func `a node that leaves gives up a session that it is asked for`() async throws {
        let rig = try Rig()
        let (a, b) = (try rig.node(1), try rig.node(2))
        try await a.create("s", 1)
        try await a.journal.beat()
        try a.ownership.leave()
        #expect(try await b.claim("s") == .elsewhere(a.node, .alerts))
        #expect(try await a.claim("s") == .elsewhere(b.node, .alerts))
        #expect(try rig.row("s") == (0, 2))
        #expect(try await b.own("s").epoch == 3)
        // A session of another node stays there.
        #expect(try await a.claim("s") == .elsewhere(b.node, .alerts))
        #expect(try rig.row("s") == (2, 3))
        // One that there is not is created at its home.
        #expect(try await a.claim("t") == .elsewhere(b.node, nil))
        await a.close()
        await b.close()
    }

    @Test func `a session that cannot be loaded after its claim belongs to nobody`() async throws {
        let rig = try Rig()
        let a = try rig.node(1)
        try await a.create("s", 1)
        let other = try rig.server.connection()
        try other.execute(
            "BEGIN; LOCK TABLE \(rig.schema).runs IN ACCESS EXCLUSIVE MODE", within: .seconds(600))
        await #expect(throws: JournalFailure.self) { try await a.claim("s") }
        // Releases are carried out in their order.
        try await a.release(OwnedSession(.of("t"), epoch: 1))
        #expect(try rig.row("s") == (0, 3))
        try other.execute("ROLLBACK", within: .seconds(600))
        #expect(try await a.own("s").epoch == 4)
        await a.close()
    }

    // MARK: Versions

    @Test func `a session goes to no node that cannot read it`() async throws {
        let rig = try Rig()
        let a = try rig.node(1, reactors: ["alerts": 3])
        let old = try rig.node(2, reactors: ["alerts": 2])
        let other = try rig.node(3, reactors: ["others": 9])
        try await a.create("s")
        var part = Batch()
        // Of the version 3.
        part.snapshots = [.of("s", 0)]
        part.expected = [ExpectedEnd(.of("s"), at: HistoryPosition(0), lineage: 0)]
        part.expected[0].epoch = 1
        #expect(await a.journal.verdict(on: part) == .committed)
        #expect(try rig.row("s") == (1, 1))
        try await a.release(OwnedSession(.of("s"), epoch: 1))
        for node in [old, other] {
            try await node.journal.beat()
            #expect(try await node.claim("s") == .elsewhere(a.node, .alerts))
        }
        // Nobody else is left. It is claimed by nobody, and only to be deleted.
        await a.close()
        for node in [old, other] {
            try await node.journal.beat()
            #expect(try await node.claim("s") == .noNode(.alerts, stateVersion: 3))
        }
        #expect(try rig.row("s") == (0, 2))
        #expect(try await other.claimForDeletion("s").epoch == 3)
        await old.close()
        await other.close()
    }

    @Test func `a node that leaves serves a session that no other can read`() async throws {
        let rig = try Rig()
        let new = try rig.node(1, reactors: ["alerts": 3])
        let old = try rig.node(2, reactors: ["alerts": 2])
        var batch = Batch(records: [.created("s")])
        // Of the version 3.
        batch.snapshots = [.of("s", 0)]
        #expect(await new.journal.verdict(on: batch) == .committed)
        try await new.release(OwnedSession(.of("s"), epoch: 1))
        try await new.journal.beat()
        try new.ownership.leave()
        // No home is known that can read it.
        #expect(try await new.own("s").epoch == 3)
        try await old.journal.beat()
        #expect(try await old.claim("s") == .elsewhere(new.node, .alerts))
        await new.close()
        await old.close()
    }

    /// Without the rule the node asks without end, and without a pause.
    @Test func `a session that nobody can read is waited for, to be deleted, while it is locked`()
        async throws
    {
        let rig = try Rig()
        let a = try rig.node(1, reactors: ["alerts": 5])
        try await a.create("s")
        try await a.release(OwnedSession(.of("s"), epoch: 1))
        await a.close()
        let member = Member(
            node: Node(number: 2), address: "10.0.0.2:7080", loops: 1, reactors: ["others": 1])
        let other = try PostgresJournal(
            PostgresAddress(rig.server, rig.schema), member: member, lease: .seconds(3_600),
            lockLimit: .milliseconds(200), looksEvery: nil)
        let holder = try rig.server.connection()
        try holder.execute(
            "BEGIN; SELECT 1 FROM \(rig.schema).sessions WHERE id = 's' FOR UPDATE",
            within: .seconds(600))
        let ownership = try #require(other.ownership)
        let claim = await withCheckedContinuation { continuation in
            ownership.claimForDeletion("s") { continuation.resume(returning: $0) }
        }
        guard case .failure(let failure) = claim else {
            Issue.record("\(claim)")
            return
        }
        #expect(failure.detail.contains("another transaction holds the session's row"))
        try holder.execute("ROLLBACK", within: .seconds(600))
        await other.close()
    }

    @Test func `a snapshot in the commit of the creation states its version`() async throws {
        let rig = try Rig()
        let a = try rig.node(1)
        var batch = Batch(records: [.created("s")])
        batch.snapshots = [.of("s", 0)]
        #expect(await a.journal.verdict(on: batch) == .committed)
        #expect(try rig.row("s") == (1, 1))
        await a.close()
    }

    // MARK: Looks

    @Test func `a look finds what others have done, and nothing else`() async throws {
        let rig = try Rig()
        let (a, b) = (try rig.node(1), try rig.node(2))
        for id in ["same", "gone", "more", "other", "new"] { try await a.create(id, 2) }
        func here(_ id: String, _ epoch: Int64? = 1) -> Storage.Confirmation {
            Storage.Confirmation(.of(id), at: HistoryPosition(2), epoch: epoch)
        }
        #expect(try await a.confirm(here("same"), here("more"), here("other", nil)) == [:])
        #expect(await a.commit(.deleted("gone", 3), epoch: 1) == .committed)
        #expect(await a.commit(.mutation("more", 3), epoch: 1) == .committed)
        #expect(try await b.own("other", deposing: a).epoch == 2)
        let found = try await a.confirm(
            here("same"), here("gone"), here("more"), here("other"), here("never"),
            Storage.Confirmation(.of("new", "g0"), at: HistoryPosition(2)))
        #expect(found.keys.sorted() == ["gone", "more", "never", "new", "other"])
        #expect(found["gone"] == Change(head: nil, owner: nil))
        #expect(found["never"] == Change(head: nil, owner: nil))
        #expect(found["more"]?.head?.end == HistoryEnd(number: 3, version: 3))
        #expect(found["more"]?.owner == a.node)
        #expect(found["other"]?.owner == b.node)
        #expect(found["other"]?.head?.end.number == 2)
        #expect(found["new"]?.head?.key == .of("new"))
        // A copy of it does not depend on its owner.
        #expect(try await a.confirm(here("other", nil)) == [:])
        await a.close()
        await b.close()
    }

    @Test func `a node that follows sessions learns of records, owners and ends`() async throws {
        let rig = try Rig()
        let (a, b) = (try rig.node(1), try rig.node(2))
        for id in ["same", "gone", "more", "other", "new"] { try await a.create(id, 2) }
        func here(_ id: String, _ epoch: Int64? = 1) -> Storage.Confirmation {
            Storage.Confirmation(.of(id), at: HistoryPosition(2), epoch: epoch)
        }
        #expect(try await b.changes(of: here("same"), here("other"), here("gone")) == [:])
        #expect(
            try await b.changes(of: here("same", nil))["same"]?.owner == a.node,
            "an unknown epoch is always another one")
        #expect(await a.commit(.mutation("more", 3), epoch: 1) == .committed)
        #expect(await a.commit(.deleted("gone", 3), epoch: 1) == .committed)
        try await a.release(OwnedSession(.of("other"), epoch: 1))
        let found = try await b.changes(
            of: here("same"), here("gone"), here("more"), here("other"), here("never"),
            Storage.Confirmation(.of("new", "g0"), at: HistoryPosition(2), epoch: 1))
        #expect(found.keys.sorted() == ["gone", "more", "never", "new", "other"])
        #expect(found["more"]?.head?.end == HistoryEnd(number: 3, version: 3))
        #expect(found["more"]?.epoch == 1)
        #expect(found["other"]?.owner == nil)
        #expect(found["other"]?.epoch == 2)
        #expect(found["gone"]?.head == nil)
        #expect(found["gone"]?.end == 3)
        #expect(found["never"] == Change(head: nil, owner: nil))
        #expect(found["new"]?.head?.key == .of("new"))
        await a.close()
        await b.close()
    }

    @Test func `the records of an ended session can be read, and no other's`() async throws {
        let rig = try Rig()
        let a = try rig.node(1)
        var batch = Batch.of(HistoryEntry.life("s", 2), epoch: 0)
        batch.snapshots = [.of("s", 0)]
        #expect(await a.journal.verdict(on: batch) == .committed)
        #expect(try await a.endedRecords(of: .of("s"), after: 0) == [])
        #expect(try await a.endedSnapshot(of: .of("s"), at: 2) == nil)
        #expect(await a.commit(.deleted("s", 3), epoch: 1) == .committed)
        #expect(try await a.endedRecords(of: .of("s"), after: 0).map(\.number) == [1, 2, 3])
        #expect(try await a.endedRecords(of: .of("s"), after: 1).map(\.kind).last == .deleted)
        #expect(
            try await a.endedRecords(of: .of("s"), after: 0, limitBytes: 1).map(\.number) == [1])
        #expect(try await a.endedRecords(of: .of("s", "g0"), after: 0) == [])
        #expect(try await a.endedSnapshot(of: .of("s"), at: 2)?.version == 0)
        await a.close()
    }

    // A state may have megabytes, and the question comes with each slice of states.
    @Test func `the form of a state is read without the state`() async throws {
        let rig = try Rig()
        let a = try rig.node(1)
        for id in ["s", "ended"] {
            var batch = Batch.of(HistoryEntry.life(id, 2), epoch: 0)
            batch.snapshots = [.of(id, 0), .of(id, 2)]
            batch.snapshots[1].stateVersion = 9
            #expect(await a.journal.verdict(on: batch) == .committed)
        }
        #expect(await a.commit(.deleted("ended", 3), epoch: 1) == .committed)
        try rig.server.execute("ALTER TABLE \(rig.schema).snapshots DROP COLUMN state")
        #expect(try await a.stateVersion(of: .of("s"), at: 1) == Snapshot.of("s", 0).stateVersion)
        #expect(try await a.stateVersion(of: .of("s"), at: 2) == 9)
        #expect(try await a.stateVersion(of: .of("s", "g0"), at: 2) == nil)
        #expect(try await a.stateVersion(of: .of("none"), at: 2) == nil)
        #expect(try await a.stateVersion(of: .of("ended"), at: 2) == nil)
        #expect(try await a.stateVersion(of: .of("ended"), at: 2, isEnded: true) == 9)
        await a.close()
    }

    @Test func `looks of many sessions are gathered`() async throws {
        let rig = try Rig()
        let a = try rig.node(1)
        let ids = (0..<300).map { "s\($0)" }
        #expect(
            await a.journal.verdict(on: Batch(records: ids.map { .created($0) })) == .committed)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, id) in ids.enumerated() {
                group.addTask {
                    let number = UInt64(index % 2)
                    let found = try await a.confirm(
                        Storage.Confirmation(.of(id), at: HistoryPosition(number), epoch: 1))
                    #expect(found.keys.sorted() == (number == 0 ? [] : [id]))
                }
            }
            try await group.waitForAll()
        }
        await a.close()
    }

    // MARK: One node

    @Test func `a server without links does not begin where nodes are members`() async throws {
        let rig = try Rig()
        let address = try PostgresAddress(rig.server, rig.schema)
        let a = try rig.node(1)
        try await a.create("s", 1)
        #expect(throws: JournalFailure.self) { try PostgresJournal(address, looksEvery: nil) }
        await a.close()
        try rig.server.waitForEnd(of: rig.schema)
        let alone = try PostgresJournal(address, commitLimit: .seconds(600), looksEvery: nil)
        #expect(alone.ownership == nil)
        #expect(await alone.verdict(on: .mutation("s", 2), .created("t")) == .committed)
        #expect(try await alone.load("t")?.epoch == 0, "it ignores owners")
        await alone.close()
        try rig.server.waitForEnd(of: rig.schema)
        let b = try rig.node(2)
        #expect(try await b.own("s").end.number == 2)
        #expect(try await b.own("t").epoch == 2)
        await b.close()
    }
}
