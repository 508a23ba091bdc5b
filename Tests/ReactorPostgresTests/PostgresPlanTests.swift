import EngineSuite
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

@Suite("Plans of statements in PostgreSQL", .timeLimit(.minutes(60)))
struct PostgresPlanTests {
    /// Every statement of a commit and of a read finds its rows by an index, whatever is
    /// in the tables.
    @Test func `no statement reads a whole table`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let journal = try PostgresJournal(PostgresAddress(server, schema), looksEvery: nil)
        await journal.close()
        let connection = try server.connection()
        try connection.execute(
            """
            SET search_path = \(schema); SET plan_cache_mode = force_generic_plan; SET jit = off;
            INSERT INTO sessions(session, id, reactor, generation, created, deleted)
                SELECT n, 's' || n, 'alerts', 'g1', 0, CASE WHEN n % 3 = 0 THEN n END
                FROM generate_series(1, 20000) n;
            INSERT INTO runs SELECT n / 3 + 1, n % 3, 4294967295, n % 3 + 1, 4294967295, 1, 1, 1, 1, ''
                FROM generate_series(1, 59997) n;
            INSERT INTO snapshots SELECT n / 3 + 1, n % 3, n % 3, 0, 0, n, NULL, '', n % 9 = 0
                FROM generate_series(1, 59997) n;
            INSERT INTO answers SELECT n / 3 + 1, 'k' || n, '', 200, n, ''
                FROM generate_series(1, 59997) n;
            INSERT INTO running SELECT n / 3 + 1, n, '', 1, NULL FROM generate_series(1, 59997) n;
            INSERT INTO timers SELECT n / 3 + 1, 't' || n, 1, n, '' FROM generate_series(1, 59997) n;
            INSERT INTO timers SELECT n, '', 0, n, '' FROM generate_series(1, 20000) n;
            INSERT INTO tags SELECT n, '', 'alerts', n FROM generate_series(1, 20000) n;
            INSERT INTO tags SELECT n, 'status', 's' || n % 50, n FROM generate_series(1, 20000) n;
            INSERT INTO nodes SELECT n, '', 1, '{}', '{}', 4000 FROM generate_series(1, 500) n;
            INSERT INTO depositions(node, id, generation, epoch)
                SELECT n / 100, 's' || n, 'g1', 1 FROM generate_series(1, 20000) n;
            ANALYZE
            """, within: .seconds(600))
        let integer = "bigint", text = "text"
        let integers = "bigint[]", texts = "text[]", blobs = "bytea[]"
        let places = [integers, texts, texts, integers, integers, integers]
        let runs = Array(repeating: integers, count: 8) + [blobs]
        let new = [integers, texts, texts, texts, integers, texts, integers, integers, integers]
        let others =
            Array(repeating: integers, count: 6) + [blobs]
            + [integers, integers, texts, blobs, integers, integers, blobs]
            + [integers, integers, blobs, integers, texts, integers, integers, texts]
            + [integers, integers, blobs]
            + [integers, texts, integers, integers, blobs, integers] + [integers, texts]
            + [integers, texts, texts, integers]
        let statements: [(String, [String])] = [
            (Append.short, [integer] + places + runs.dropFirst(3)),
            (Append.plain, [integer] + places + runs),
            (Append.whole, [integer] + places + runs + new + others),
            (
                Append.shortFenced,
                [integer] + places + runs.dropFirst(3) + [integer, integers]
            ),
            (Append.plainFenced, [integer] + places + runs + [integer, integers]),
            (
                Append.wholeFenced,
                [integer] + places + runs + new + others + [integer, integers]
            ),
            (Append.looking, places),
            (Claims.claim, [integer, texts, integers, integers, texts, integers, integer]),
            (Claims.looking, [texts, integers, integer]),
            (Claims.release, [integer, texts, texts, integers]),
            (Claims.leaving, [integer, texts]),
            (
                Confirmations.owned,
                [integers, texts, texts, integers, integers, integers, integer]
            ),
            (Confirmations.followed, [integers, texts, texts, integers, integers, integers]),
            (Membership.depositions, [integer]),
            (SessionRow.byID, [text]), (SessionRow.snapshotAt, [integer, integer]),
            (SessionRow.stateVersionAt, [integer, integer]),
            (SessionRow.runningActions, [integer]), (SessionRow.restOfSession, [integer]),
            (SessionRow.firstSlice, [integer, integer, integer, integer, integer]),
            (SessionRow.nextSlice, [integer, integer, integer, integer, integer]),
            (PostgresArchive.answer, [text, text, text]), (PostgresArchive.work, [integer]),
            (PostgresArchive.timers, [integer, integer, integer]), (SessionRow.timers, [integer]),
            (PostgresArchive.expiries, [integer, integer, integer]),
            (Sweeper.postponement, [texts, texts, integers]),
            (Sweeper.addition, [integer, texts, integers]),
            (
                PostgresArchive.tagged,
                [text, text, integer, integer, integer, text, texts, texts]
            ),
            (PostgresArchive.page, [text, text, text, integer]),
            (PostgresArchive.pageOfReactor, [text, text, text, integer, text]),
            (Trim.removal.statement, [integer, integer, integer, integer]),
            (Sweeper.answers.statement, [integer, integer, integer]),
            (Trim.weighing, [integer, integer, integer]),
        ]
        let removals = Sweeper.removals.map { ($0.statement, [integer, integer, integer]) }
        for (index, (sql, types)) in (statements + removals).enumerated() {
            try connection.execute(
                "PREPARE p\(index)(\(types.joined(separator: ", "))) AS \(sql)",
                within: .seconds(600))
            let nothing = types.map { _ in "NULL" }.joined(separator: ", ")
            let plan = try connection.run(
                "EXPLAIN EXECUTE p\(index)(\(nothing))", within: .seconds(600))
            let lines = (0..<plan.count).map { plan.text($0, 0) }
            #expect(!lines.contains { $0.contains("Seq Scan") }, "\(sql)\n\(lines)")
            #expect(lines.contains { $0.contains("Index") }, "\(sql)\n\(lines)")
        }
    }
}
