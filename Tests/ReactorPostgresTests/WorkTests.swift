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

    private func timers(_ node: ClusterNode, before end: Int64) async throws -> FoundTimers {
        guard let finder = node.journal.work else {
            throw PostgresServer.Failure(description: "no search")
        }
        return try await withCheckedThrowingContinuation { continuation in
            finder.findTimers(after: .start, before: end) { continuation.resume(with: $0) }
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
