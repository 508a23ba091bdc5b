import Cluster
import EngineSuite
import PostgresRig
import Storage
import Synchronization
import Testing

@testable import ReactorPostgres

@Suite("ADR-0047 — PostgreSQL loses history, or is another one", .timeLimit(.minutes(60)))
struct PostgresLossTests {
    private final class Heard: Sendable {
        let eras = Mutex<[UInt64]>([])
        var all: [UInt64] { eras.withLock { $0 } }
    }

    /// As if this server were the standby that was promoted.
    private func promote(_ server: PostgresServer, _ schema: String) throws {
        try server.execute("UPDATE \(schema).cluster SET timeline = '00000000'")
        try server.cutConnections(to: schema)
    }

    @Test func `a loss is announced before anything of the new era is shown`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        let heard = Heard()
        journal.watchHistory { era in heard.eras.withLock { $0.append(era) } }
        #expect(await journal.verdict(on: .created("s")) == .committed)
        #expect(try await journal.head("s")?.key.generation == "g1")
        #expect(heard.all == [])
        try promote(server, schema)
        let head = try #require(try await journal.head("s"))
        #expect(head.key.generation != "g1")
        #expect(heard.all == [2])
        #expect(await journal.verdict(on: .mutation("s", 1)) == .partial([.of("s"): .absent]))
        #expect(journal.figures?.historyLosses == 1)
        await journal.close()
    }

    /// Two standbys were promoted, and this node has used the one that no other believes.
    @Test func `another branch of the same timeline begins another era`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        #expect(try await journal.head("s")?.key.generation == "g1")
        try server.cutConnections(to: schema)
        #expect(try await journal.head("s")?.key.generation == "g1", "it is the same branch")
        // As if this server were the other one.
        try server.execute("UPDATE \(schema).cluster SET branch = \(Int64.max)")
        try server.cutConnections(to: schema)
        #expect(try await journal.head("s")?.key.generation != "g1")
        #expect(journal.figures?.historyLosses == 1)
        await journal.close()
    }

    /// The reader's connection is alive, and the writer has begun another era.
    @Test func `a connection of an earlier era is not believed`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        for _ in 0..<2 { _ = try await journal.head("s") }
        let readers =
            "SELECT pid FROM pg_stat_activity WHERE application_name = '\(schema)/reader'"
        let before = try server.query(readers).count
        try server.execute("UPDATE \(schema).cluster SET timeline = '00000000'")
        try server.cutConnections(to: schema, for: "writer")
        let verdict = await journal.verdict(on: .mutation("s", 1))
        // Whether the server has received the part before it ended the connection is not certain.
        let isUnknown = verdict.failure(of: .of("s"))?.reason == .outcomeUnknown
        #expect(isUnknown || verdict == .partial([.of("s"): .absent]), "\(verdict)")
        #expect(before > 0)
        #expect(try await journal.head("s")?.key.generation != "g1")
        await journal.close()
    }

    /// A loop has loaded a session of the new era, and its writer still has the
    /// connection from before.
    @Test func `a part of the new era is let in over writers that have not met it`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        let committers = [("a", journal.takeCommitter()), ("b", journal.takeCommitter())]
        for (id, committer) in committers {
            #expect(
                await Pending(Batch(records: [.created(id)]), in: committer).value == .committed)
        }
        for _ in 0..<2 { _ = try await journal.head("a") }
        try server.execute("UPDATE \(schema).cluster SET timeline = '00000000'")
        try server.cutConnections(to: schema, for: "reader")
        for (id, committer) in committers {
            let key = try #require(try await journal.head(id)).key
            #expect(key.generation != "g1")
            let part = Batch(records: [.mutation(id, 1, generation: key.generation)])
            #expect(await Pending(part, in: committer).value == .committed)
        }
        #expect(journal.figures?.historyLosses == 1)
        await journal.close()
    }

    /// By then it has seen what a former primary would show.
    @Test func `a connection that looks while another one begins an era looks again`() async throws
    {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        try PostgresJournal.prepare(address)
        // The connection `slow` has read the row of its look, and waits for the gate.
        try server.execute(
            """
            SET search_path = \(schema); CREATE TABLE gate();
            CREATE FUNCTION pass(value bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
                WHILE current_setting('application_name') = '\(schema)/slow'
                    AND NOT EXISTS (SELECT FROM \(schema).gate)
                    LOOP PERFORM pg_sleep(0.005); END LOOP;
                RETURN value; END $$;
            ALTER TABLE cluster RENAME TO stored;
            CREATE VIEW cluster AS SELECT identity, system, timeline, era, is_synchronous, touched,
                branch, table_oid, adopted, pass(version) AS version FROM stored
            """)
        let connector = Connector(address, settling: .zero)
        _ = try connector.connect("first")
        let waiting =
            "SELECT 1 FROM pg_stat_activity WHERE application_name = '\(schema)/slow' "
            + "AND wait_event = 'PgSleep'"
        var found: Result<DatabaseMark?, PostgresFault>?
        // On a slow machine, the time for a statement may end at the gate.
        repeat {
            try server.execute("DELETE FROM \(schema).gate")
            let queue = ConnectionQueue(connector, "slow")
            let result = Mutex<Result<DatabaseMark?, PostgresFault>?>(nil)
            queue.async {
                let mark = Result { () throws(PostgresFault) in
                    try queue.run { connection throws(PostgresFault) in connection.mark }
                }
                result.withLock { $0 = mark }
            }
            while result.withLock({ $0 == nil }), try server.query(waiting).count == 0 {}
            let before = try #require(connector.mark)
            var lost = before
            (lost.timeline, lost.branch) = (0, 2)
            connector.hear(DatabaseStanding(lost))
            _ = try connector.connect("quick")
            #expect(connector.mark?.era == before.era + 1)
            try server.execute("INSERT INTO \(schema).gate DEFAULT VALUES")
            while result.withLock({ $0 == nil }) {}
            found = result.withLock { $0 }
            await queue.close()
        } while found?.isUnanswered == true
        #expect(try found?.get() == connector.mark)
    }

    /// The promotion is safe, so no era begins, and the former primary answers over the
    /// old connections.
    @Test func `a former primary is left, even if nothing was lost`() async throws {
        let primary = try PostgresServer()
        let relay = try PostgresRelay(to: primary)
        let schema = primary.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(primary.address(schema, by: relay.folder) + "&failover=safe"),
            commitLimit: .seconds(600), looksEvery: nil)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        // Each of the readers has its connection.
        for _ in 0..<2 { #expect(try await journal.head("s")?.end.number == 0) }
        let standby = try PostgresServer(standbyOf: primary, in: PostgresServer.newFolder())
        try standby.promote()
        relay.lead(to: standby)
        try primary.cutConnections(to: schema, for: "writer")
        #expect(await journal.verdict(on: .mutation("s", 1)) == .committed)
        for _ in 0..<2 { #expect(try await journal.head("s")?.end.number == 1) }
        #expect(journal.figures?.historyLosses == 0)
        await journal.close()
    }

    /// A pooler may continue a connection at a standby, which may lack what was committed.
    @Test func `no read of a session is believed that a standby has answered`() async throws {
        let primary = try PostgresServer()
        let schema = primary.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(primary, schema), commitLimit: .seconds(600), looksEvery: nil)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        await journal.close()
        let standby = try PostgresServer(standbyOf: primary, in: PostgresServer.newFolder())
        let connection = try primary.connection()
        try connection.execute("SET search_path = \(schema)", within: .seconds(600))
        let found = try #require(try SessionRow.find("s", connection))
        for (server, isBelieved) in [(primary, true), (standby, false)] {
            let connection = try server.connection()
            try connection.execute("SET search_path = \(schema)", within: .seconds(600))
            for id in ["s", "none"] {
                let found = Result { () throws(PostgresFault) in try SessionRow.find(id, connection)
                }
                switch found {
                case .success(let stored):
                    #expect(isBelieved && (stored?.key == .of("s")) == (id == "s"))
                case .failure(let fault): #expect(!isBelieved && fault.isBroken, "\(fault)")
                }
            }
            let answer = Result { () throws(PostgresFault) in
                try PostgresArchive.findAnswer(of: .of("s"), key: "k", connection)
            }
            switch answer {
            case .success(let answer): #expect(isBelieved && answer == nil)
            case .failure(let fault): #expect(!isBelieved && fault.isBroken, "\(fault)")
            }
            // The pooler may do so between the statement that finds the session and the next one.
            for read in Self.secondStatements(of: found) {
                do {
                    try read(connection)
                    #expect(isBelieved)
                } catch {
                    let fault = try #require(error as? PostgresFault)
                    #expect(!isBelieved && fault.isBroken, "\(fault)")
                }
            }
        }
    }

    private static func secondStatements(of stored: SessionRow) -> [(Connection) throws -> Void] {
        [
            { _ = try stored.snapshot(at: .max, $0) },
            { _ = try stored.stateVersion(at: .max, $0) },
            { try stored.each(after: nil, through: .max, $0) { _ in true } },
            // After the last record: there is no row.
            { try stored.each(after: HistoryPosition(9), through: .max, $0) { _ in true } },
        ]
    }

    /// Each writer has a part under way when the connections break, and one of them meets the
    /// new era first.
    @Test func `a part that was sent in an earlier era stays unknown, on each writer`() async throws
    {
        let server = try PostgresServer.shared.get()
        let relay = try PostgresRelay(to: server)
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema, by: relay.folder), commitLimit: .seconds(600),
            looksEvery: nil)
        let committers = [("a", journal.takeCommitter()), ("b", journal.takeCommitter())]
        for (id, committer) in committers {
            #expect(
                await Pending(Batch(records: [.created(id)]), in: committer).value == .committed)
            // The statement is prepared by now: nothing but the part itself is sent.
            #expect(
                await Pending(Batch(records: [.mutation(id, 1)]), in: committer).value == .committed
            )
        }
        relay.become(.swallowingAnswers)
        let pending = committers.map { id, committer in
            Pending(Batch(records: [.mutation(id, 2)]), in: committer)
        }
        while try server.query("SELECT 1 FROM \(schema).runs").count < 6 {}
        // Not sent: the writer waits for an answer.
        let creation = Pending(Batch(records: [.created("c")]), in: committers[0].1)
        try server.execute("UPDATE \(schema).cluster SET timeline = '00000000'")
        relay.become(.passing)
        relay.cut()
        for one in pending {
            guard case .failed(let failure) = await one.value else {
                Issue.record("its row has another generation: \(await one.value)")
                continue
            }
            #expect(failure.reason == .outcomeUnknown)
        }
        #expect(await creation.value == .committed)
        for (id, _) in committers {
            let head = try #require(try await journal.head(id))
            #expect(head.key.generation != "g1")
            #expect(head.end.version == 2, "it was not lost")
        }
        #expect(journal.figures?.historyLosses == 1)
        await journal.close()
    }

    /// The process was down when the standby was promoted.
    @Test func `a loss that is found at the start is counted`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        let first = try PostgresJournal(
            address, commitLimit: .seconds(600), looksEvery: nil)
        #expect(await first.verdict(on: .created("s")) == .committed)
        #expect(first.figures?.historyLosses == 0)
        await first.close()
        try server.waitForEnd(of: schema)
        try server.execute("UPDATE \(schema).cluster SET timeline = '00000000'")
        let second = try PostgresJournal(address, looksEvery: nil)
        #expect(second.figures?.historyLosses == 1)
        #expect(try await second.head("s")?.key.generation != "g1")
        await second.close()
        try server.waitForEnd(of: schema)
        let third = try PostgresJournal(address, looksEvery: nil)
        #expect(third.figures?.historyLosses == 0)
        await third.close()
    }

    /// The log of an older copy of the files ends before what was seen flushed.
    @Test func `an older copy of the same server has lost history`() {
        let now = Connector.Database(
            identity: "a", system: "1", timeline: "00000001", era: 1, isSynchronous: false,
            flushed: 100)
        var other = now
        #expect(!other.lacks(now))
        other.flushed = 99
        #expect(other.lacks(now))
        other.timeline = "00000002"
        #expect(!other.lacks(now), "another timeline is judged by itself")
    }

    @Test func `tables of a newer program are refused`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        await (try PostgresJournal(address, looksEvery: nil)).close()
        try server.execute("UPDATE \(schema).cluster SET version = version + 1")
        do {
            _ = try PostgresJournal(address, looksEvery: nil)
            Issue.record("it would write what it does not know")
        } catch {
            #expect(error.detail.contains("made by a newer program"), "\(error.detail)")
        }
    }

    /// Makes today's tables without the additions of versions 4 to 7.
    private func makeVersion3(_ server: PostgresServer, _ schema: String) throws {
        try server.waitForEnd(of: schema)
        try server.execute(
            """
            SET search_path = \(schema); DROP INDEX sessions_by_owner; DROP TABLE branches;
            DROP TABLE timers; DROP TABLE tags; ALTER TABLE sessions DROP input;
            ALTER TABLE running DROP attempt, DROP due, DROP step;
            ALTER TABLE cluster DROP branch, DROP table_oid, DROP adopted;
            UPDATE cluster SET version = 3
            """)
    }

    /// It has no link and no lock, and its connections are those of today.
    @Test func `tables that a server of an earlier release uses are left as they are`() async throws
    {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        await (try PostgresJournal(address, looksEvery: nil)).close()
        try makeVersion3(server, schema)
        var earlier: Connection? = try server.connection()
        try earlier?.execute("SET application_name = '\(schema)/writer'", within: .seconds(600))
        do {
            _ = try PostgresJournal(address, looksEvery: nil)
            Issue.record("both decide on all sessions")
        } catch {
            #expect(error.detail.contains("a server of an earlier release uses this journal"))
            #expect(error.isTemporary, "a successor may wait")
        }
        #expect(try server.query("SELECT version FROM \(schema).cluster").integer(0, 0) == 3)
        earlier = nil
        try server.waitForEnd(of: schema)
        await (try PostgresJournal(address, looksEvery: nil)).close()
    }

    @Test func `tables of version 3 are brought up to date, and nothing is lost`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        let first = try PostgresJournal(
            address, commitLimit: .seconds(600), looksEvery: nil)
        #expect(await first.verdict(on: .created("s"), .mutation("s", 1)) == .committed)
        await first.close()
        try makeVersion3(server, schema)
        for _ in 0..<2 {
            let next = try PostgresJournal(address, looksEvery: nil)
            #expect(try await next.head("s")?.key == .of("s"))
            #expect(next.figures?.historyLosses == 0)
            await next.close()
            try server.waitForEnd(of: schema)
        }
        let found = try server.query("SELECT version, branch, table_oid FROM \(schema).cluster")
        #expect(found.integer(0, 0) == Schema.version)
        #expect(found.integer(0, 1) > 0 && found.integer(0, 2) > 0)
    }

    /// A node of an earlier release ignores both a newer database and the lock of another server.
    @Test func `tables that nodes of an earlier release use are left as they are`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        await (try PostgresJournal(address, looksEvery: nil)).close()
        try makeVersion3(server, schema)
        try server.execute(
            """
            INSERT INTO \(schema).nodes(node, address, loops, reactors, state_versions, lease)
                VALUES (7, '10.0.0.7:7080', 1, '{}', '{}', 4000000)
            """)
        do {
            _ = try PostgresJournal(address, looksEvery: nil)
            Issue.record("they were changed")
        } catch {
            #expect(error.detail.contains("10.0.0.7:7080"), "\(error.detail)")
        }
        try server.execute("DELETE FROM \(schema).nodes")
        await (try PostgresJournal(address, looksEvery: nil)).close()
    }

    /// A trigger that warns, with the code of a cancelled wait.
    @Test func `another warning is no lost commit`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        try server.execute(
            """
            CREATE FUNCTION \(schema).warn() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE WARNING 'canceling wait' USING ERRCODE = '01000'; RETURN NEW; END $$;
            CREATE TRIGGER warn BEFORE INSERT ON \(schema).runs FOR EACH ROW
                EXECUTE FUNCTION \(schema).warn()
            """)
        let touched = "SELECT touched FROM \(schema).cluster"
        let before = try server.query(touched).integer(0, 0)
        #expect(await journal.verdict(on: .mutation("s", 1)) == .committed)
        #expect(try server.query(touched).integer(0, 0) == before, "it is no new connection")
        await journal.close()
    }

    /// Each attempt waits half a second: halves of many parts would be tried for minutes.
    @Test func `a table that somebody has locked fails all parts in time`() async throws {
        // Its own, because its statements are counted.
        let server = try PostgresServer()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        let ids = (0..<200).map { "s\($0)" }
        #expect(await journal.verdict(on: Batch(records: ids.map { .created($0) })) == .committed)
        _ = try await journal.head("s0")
        let other = try server.connection()
        try other.execute(
            "BEGIN; LOCK TABLE \(schema).runs IN ACCESS EXCLUSIVE MODE", within: .seconds(600))
        let rollbacks = "SELECT xact_rollback FROM pg_stat_database WHERE datname = 'postgres'"
        let before = try server.query(rollbacks).integer(0, 0)
        let verdict = await journal.verdict(on: Batch(records: ids.map { .mutation($0, 1) }))
        guard case .failed(let failure) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(failure.reason == .unavailable)
        // Halves down to each part would be 399 attempts.
        #expect(try server.query(rollbacks).integer(0, 0) - before < 100)
        await #expect(throws: JournalFailure.self) { try await journal.head("s0") }
        try other.execute("ROLLBACK", within: .seconds(600))
        #expect(await journal.verdict(on: .mutation("s0", 1)) == .committed)
        await journal.close()
    }
}

extension Result<DatabaseMark?, PostgresFault> {
    /// Whether the time for a statement has ended.
    fileprivate var isUnanswered: Bool {
        guard case .failure(let fault) = self else { return false }
        return fault.isUnanswered
    }
}
