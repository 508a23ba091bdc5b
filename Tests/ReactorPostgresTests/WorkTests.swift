import Cluster
import EngineSuite
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

@Suite("Sessions that act without a request are found in PostgreSQL", .timeLimit(.minutes(60)))
struct WorkTests {
    private func find(_ node: ClusterNode) async throws -> FoundWork {
        guard let finder = node.journal.work else {
            throw PostgresServer.Failure(description: "no search")
        }
        return try await withCheckedThrowingContinuation { continuation in
            finder.findWork(after: 0) { continuation.resume(with: $0) }
        }
    }

    private func timers(
        _ node: ClusterNode, _ kind: TimerKind = .actions, before end: Int64
    ) async throws -> FoundTimers {
        guard let finder = node.journal.work else {
            throw PostgresServer.Failure(description: "no search")
        }
        return try await withCheckedThrowingContinuation { continuation in
            finder.findTimers(kind, after: .start, before: end) { continuation.resume(with: $0) }
        }
    }

    @Test func `the timers of nodes that have ended are found`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = "\(server.newSchema())_timers"
        let (a, b) = (try ClusterNode(1, server, schema), try ClusterNode(2, server, schema))
        var batch = Batch(records: [.created("s")])
        let timers = [("later", 60_005), ("soon", 7), ("also", 7)].map { name, due in
            SessionTimer(name: ExactText(name), number: 1, due: due, content: Array("{}".utf8))
        }
        batch.timers = timers.map { TimerChange(of: .of("s"), $0.name, $0) }
        #expect(await a.journal.verdict(on: batch) == .committed)
        #expect(try await self.timers(b, before: .max).sessions.isEmpty, "its owner fires them")
        await a.close()
        let found = try await self.timers(b, before: .max).sessions
        #expect(found.map(\.session.session) == ["s", "s"])
        #expect(found.map(\.due) == [7, 60_005])
        #expect(try await self.timers(b, before: 8).sessions.count == 1)
        #expect(try await b.own("s").timers == [timers[2], timers[1], timers[0]])
        await b.close()
    }

    @Test func `the clock of a node includes that of the database, and not its own`() async throws {
        let server = try PostgresServer.shared.get()
        let node = try ClusterNode(1, server, "\(server.newSchema())_clock")
        for _ in 0..<50 {
            let before = node.journal.clock(5)
            let now = try server.query("SELECT \(Schema.now)").integer(0, 0)
            let after = node.journal.clock(5)
            #expect(before.lowerBound <= now && now <= after.upperBound)
            #expect(after.upperBound < now + 60_000)
        }
        await node.close()
    }

    @Test func `sessions that expire: of all nodes, with their owner; any node postpones`()
        async throws
    {
        let server = try PostgresServer.shared.get()
        let schema = "\(server.newSchema())_expiries"
        let (a, b) = (try ClusterNode(1, server, schema), try ClusterNode(2, server, schema))
        var batch = Batch()
        for id in ["s", "t", "u"] { batch.append(Batch(records: [.created(id)])) }
        for id in ["s", "t"] {
            let timer = SessionTimer.expiry(at: 60_000)
            batch.timers.append(TimerChange(of: .of(id), timer.name, timer))
        }
        #expect(await a.journal.verdict(on: batch) == .committed)
        func due(_ node: ClusterNode) async throws -> [String: Int64] {
            let found = try await timers(node, .expiries, before: .max).sessions
            return Dictionary(uniqueKeysWithValues: found.map { ($0.session.session, $0.due) })
        }
        let first = try await due(b)
        #expect(Set(first.keys) == ["s", "t"])
        #expect(first.values.allSatisfy { $0 == 60_000 })
        #expect(try await timers(b, .actions, before: .max).sessions.isEmpty)
        let owners = try await timers(b, .expiries, before: .max).sessions.map(\.session.owner)
        #expect(owners.allSatisfy { $0?.number == 1 })
        for id in ["s", "u", "nobody"] { b.journal.expiries?.postpone(.of(id), until: 500_000) }
        await b.journal.keepHouse()
        let second = try await due(a)
        #expect(Set(second.keys) == ["s", "t"])
        #expect(second == ["s": 500_000, "t": 60_000])
        // A commit of the owner does not take it back, and sessions of before get a row.
        var later = Batch()
        let timer = SessionTimer.expiry(at: 1_000)
        later.timers = [TimerChange(of: .of("s"), timer.name, timer)]
        later.expected = [ExpectedEnd(.of("s"), at: HistoryPosition(0), lineage: 0)]
        later.expected[0].epoch = 1
        #expect(await a.journal.verdict(on: later) == .committed)
        let before = a.journal.clock(5).lowerBound
        a.journal.expiries?.addMissing(["alerts": 900_000, "other": 5])
        await a.journal.keepHouse()
        let third = try await due(b)
        #expect(third["s"] == second["s"] && third["t"] == first["t"])
        #expect(try #require(third["u"]) >= before + 900_000)
        #expect(a.journal.expiries?.isEmpty == true)
        await a.close()
        let free = try await timers(b, .expiries, before: .max).sessions
        #expect(free.allSatisfy { $0.session.owner == nil })
        #expect(free.count == 3)
        await b.close()
    }

    @Test func `those of nodes that have ended, and nobody's`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = "\(server.newSchema())_work"
        let (a, b) = (try ClusterNode(1, server, schema), try ClusterNode(2, server, schema))
        for id in ["idle", "running", "listening", "ended", "formerly"] {
            var batch = Batch(records: [.created(id)])
            var snapshot = Snapshot.of(id, 0)
            snapshot.listens = id == "listening" || id == "formerly"
            batch.snapshots = [snapshot]
            if id == "running" || id == "ended" {
                batch.started = [
                    RunningAction(
                        session: id, generation: "g1", action: 1, content: Array("{}".utf8))
                ]
            }
            #expect(await a.journal.verdict(on: batch) == .committed)
        }
        #expect(await a.commit(.deleted("ended", 1), epoch: 1) == .committed)
        // Another snapshot of the same record says otherwise.
        var part = Batch()
        part.snapshots = [.of("formerly", 0)]
        part.expected = [ExpectedEnd(.of("formerly"), at: HistoryPosition(0), lineage: 0)]
        part.expected[0].epoch = 1
        #expect(await a.journal.verdict(on: part) == .committed)
        #expect(try await find(b) == FoundWork())
        // Nobody's: given up with running effects.
        try await a.release(OwnedSession(.of("running"), epoch: 1))
        let version = Snapshot.of("running", 0).stateVersion
        let running = WorkingSession(
            session: "running", reactor: "alerts", stateVersion: version)
        let listening = WorkingSession(
            session: "listening", reactor: "alerts", stateVersion: version)
        #expect(try await find(b).sessions == [running])
        await a.close()
        #expect(
            try await find(b).sessions.sorted { $0.session < $1.session } == [listening, running])
        #expect(try await b.own("listening").snapshot?.listens == true)
        #expect(try await find(b).sessions == [running])
        await b.close()
    }
}
