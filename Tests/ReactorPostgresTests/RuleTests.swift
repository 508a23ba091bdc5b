import EngineSuite
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

/// Each rule is tried with it, and without it: a trial that does not notice that a rule is missing
/// proves nothing.
@Suite("The rules of a journal in PostgreSQL", .timeLimit(.minutes(60)))
struct RuleTests {
    private typealias Trial = (Rules) async throws -> Bool

    private func check(_ rule: Rules, _ holds: Trial) async throws {
        #expect(try await holds(.all))
        #expect(try await !holds(Rules.all.subtracting(rule)))
    }

    /// A server whose settings the trials of one test change.
    private static let own = Result { try PostgresServer() }

    @Test func `a batch that was not answered is handed in again until it is decided`() async throws
    {
        try await check(.handsInAgain) { rules in
            let server = try PostgresServer.shared.get()
            let (schema, relay) = (server.newSchema(), try PostgresRelay(to: server))
            let journal = try PostgresJournal(
                PostgresAddress(server, schema, by: relay.folder), commitLimit: .seconds(600),
                rules: rules, looksEvery: nil)
            #expect(await journal.verdict(on: .created("s")) == .committed)
            // The first use of a statement prepares it.
            #expect(await journal.verdict(on: .mutation("s", 1)) == .committed)
            relay.become(.swallowingAnswers)
            let pending = Pending(Batch(records: [.mutation("s", 2)]), in: journal)
            await relay.untilSwallowed()
            relay.become(.passing)
            relay.cut()
            let verdict = await pending.value
            let isThere = try await journal.records("s").map(\.number) == [1, 2]
            await journal.close()
            #expect(isThere)
            return verdict == .committed
        }
    }

    @Test func `a row at the position of a batch may be another's`() async throws {
        try await check(.recognisesItsOwn) { rules in
            let server = try PostgresServer.shared.get()
            let (schema, relay) = (server.newSchema(), try PostgresRelay(to: server))
            let journal = try PostgresJournal(
                PostgresAddress(server, schema, by: relay.folder), commitLimit: .seconds(600),
                rules: rules.subtracting(.locksUse), looksEvery: nil)
            let other = try PostgresJournal(
                PostgresAddress(server, schema), commitLimit: .seconds(600),
                rules: .all.subtracting(.locksUse), looksEvery: nil)
            #expect(await journal.verdict(on: .created("s")) == .committed)
            relay.become(.swallowingRequests)
            let pending = Pending(
                Batch(records: [.mutation("s", 1, content: "1")]), in: journal)
            await relay.untilSwallowed()
            #expect(await other.verdict(on: .mutation("s", 1, content: "2")) == .committed)
            relay.become(.passing)
            relay.cut()
            let verdict = await pending.value
            let contents = try await other.records("s").map { $0.content }
            #expect(contents == [Array("2".utf8)])
            await journal.close()
            await other.close()
            return verdict == .partial([.of("s"): .endsAt(HistoryPosition(1))])
        }
    }

    @Test func `a schema with another journal is not written to`() async throws {
        try await check(.comparesDatabases) { rules in
            let server = try PostgresServer.shared.get()
            let schema = server.newSchema()
            let address = try PostgresAddress(server, schema)
            let journal = try PostgresJournal(
                address, commitLimit: .seconds(600), rules: rules.subtracting(.locksUse),
                looksEvery: nil)
            #expect(await journal.verdict(on: .created("s")) == .committed)
            try server.execute("DROP SCHEMA \(schema) CASCADE")
            let other = try PostgresJournal(
                address, commitLimit: .seconds(600), rules: .all.subtracting(.locksUse),
                looksEvery: nil)
            #expect(await other.verdict(on: .created("s")) == .committed)
            try server.cutConnections(to: schema)
            let verdict = await journal.verdict(on: .mutation("s", 1))
            let count = try await other.records("s").count
            await journal.close()
            await other.close()
            guard case .failed = verdict else { return false }
            return count == 0
        }
    }

    @Test func `another timeline gives every session another generation`() async throws {
        try await check(.comparesDatabases) { rules in
            let server = try PostgresServer.shared.get()
            let schema = server.newSchema()
            let journal = try PostgresJournal(
                PostgresAddress(server, schema), commitLimit: .seconds(600), rules: rules,
                looksEvery: nil)
            #expect(await journal.verdict(on: .created("s")) == .committed)
            // As if this server were the standby that was promoted.
            try server.execute("UPDATE \(schema).cluster SET timeline = '0000000A'")
            try server.cutConnections(to: schema)
            let verdict = await journal.verdict(on: .mutation("s", 1))
            let generation = try await journal.head("s")?.key.generation
            await journal.close()
            guard verdict != .committed else { return false }
            #expect(generation?.utf8.count == 8)
            return true
        }
    }

    @Test func `nothing is believed before a synchronous commit`() async throws {
        for rule in [Rules.beginsWithCommit, .heedsWarnings] {
            // A row that is found would be proved.
            try await check(rule) { rules in
                try await isPatient(rules.subtracting(.provesReads))
            }
        }
    }

    /// Whether a commit is not believed whose wait for a standby was cancelled: there is none.
    private func isPatient(_ rules: Rules) async throws -> Bool {
        let server = try Self.own.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), rules: rules,
            looksEvery: nil)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        let wait = try await CommitWait(of: journal, in: schema, at: server)
        defer { wait.end() }
        try wait.cancel()
        // Either it is believed, or another connection waits for the standby.
        while wait.pending.present == nil, try !wait.hasAnother() {}
        let isPatient = wait.pending.present == nil
        wait.end()
        #expect(await wait.pending.value == .committed)
        #expect(try await journal.records("s").map(\.number) == Array(1...wait.number))
        await journal.close()
        return isPatient
    }

    /// During a split, the former primary no longer has a standby. Commits that wait for one there
    /// are about to be lost.
    @Test func `what waits for a standby is shown to nobody when its connection is lost`()
        async throws
    {
        let server = try PostgresServer()
        let (schema, relay) = (server.newSchema(), try PostgresRelay(to: server))
        let writer = try PostgresJournal(
            PostgresAddress(server, schema, by: relay.folder), commitLimit: .seconds(600),
            rules: .all.subtracting(.locksUse), looksEvery: nil)
        let reader = try PostgresJournal(
            PostgresAddress(server, schema), rules: .all.subtracting(.locksUse), looksEvery: nil)
        #expect(await writer.verdict(on: .created("s")) == .committed)
        #expect(try await reader.records("s").isEmpty)
        let wait = try await CommitWait(of: writer, in: schema, at: server)
        defer { wait.end() }
        relay.cut()
        // The next connection waits for the standby as well.
        while try !wait.hasAnother() {}
        #expect(try await reader.records("s").map(\.number) == Array(1..<wait.number))
        #expect(wait.pending.present == nil)
        wait.end()
        #expect(await wait.pending.value == .committed)
        #expect(try await reader.records("s").map(\.number) == Array(1...wait.number))
        await writer.close()
        await reader.close()
    }

    /// Two runs of different lengths continue one position: one of them is refused. The other is
    /// not visible yet when the statement begins.
    @Test(arguments: [true, false])
    func `the key is the position that a run continues`(_ isKeyedByStart: Bool) async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(
            PostgresAddress(server, schema), commitLimit: .seconds(600), looksEvery: nil)
        #expect(await journal.verdict(on: .created("s")) == .committed)
        if !isKeyedByStart {
            try server.execute(
                """
                ALTER TABLE \(schema).runs DROP CONSTRAINT runs_pkey;
                ALTER TABLE \(schema).runs ADD PRIMARY KEY (session, number, part)
                """)
        }
        let other = try server.connection()
        try other.execute(
            """
            BEGIN; INSERT INTO \(schema).runs
            SELECT session, 0, 4294967295, 2, 4294967295, 2, 2, 1, 1, ''
            FROM \(schema).sessions WHERE id = 's'
            """, within: .seconds(600))
        let pending = Pending(Batch(records: [.mutation("s", 1)]), in: journal)
        let waiting =
            "SELECT 1 FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM "
            + "pg_stat_activity WHERE application_name = '\(schema)/writer')"
        while pending.present == nil, try server.query(waiting).count == 0 {}
        try other.execute("COMMIT", within: .seconds(600))
        let verdict = await pending.value
        if isKeyedByStart {
            #expect(verdict == .partial([.of("s"): .endsAt(HistoryPosition(2))]))
        } else {
            #expect(verdict == .committed, "two rows continue one position")
        }
        await journal.close()
    }
}
