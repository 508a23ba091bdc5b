import EngineSuite
import Foundation
import PostgresRig
import Storage
import Testing

@testable import ReactorPostgres

@Suite("Moving between a file and PostgreSQL", .timeLimit(.minutes(60)))
struct PostgresToolTests {
    /// The lines of a text, without those that count.
    private final class Text {
        var lines: [String] = []
        private(set) lazy var writer = JournalTextWriter { [unowned self] bytes in
            lines += String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    private static func export(_ address: PostgresAddress) throws -> [String] {
        let text = Text()
        try PostgresContents(address).visit(text.writer)
        try text.writer.finish()
        return text.lines
    }

    /// A file with a random history, trimmed in part.
    private static func withFile(_ act: (String) async throws -> Void) async throws {
        let folder = "/tmp/reactor-move-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/journal.sqlite"
        let journal = try FileJournal(
            path: path, retention: JournalRetention(records: 20, age: 1_000_000_000_000),
            now: { 3_000_000 }, looksEvery: nil)
        var (model, maker) = (JournalModel(), BatchMaker(seed: 5, sessions: 8))
        for round in 0..<121 {
            var batch =
                round == 120
                ? Batch(records: [.created("over"), .deleted("over", 1)])
                : maker.batch(model, records: 1...8)
            model.apply(batch)
            for run in batch.runs.prefix(1) where round % 3 == 0 {
                let (session, generation) = (run.key.session, run.key.generation)
                batch.answers.append(
                    StoredAnswer(
                        session: session, generation: generation, key: "k\(round)",
                        bodyDigest: [1, 2], status: 202, body: Array("{}".utf8), time: 2_900_000))
                batch.started.append(
                    RunningAction(
                        session: session, generation: generation, action: UInt64(round),
                        content: Array("{\"a\":1}".utf8), subject: "ada", begun: 2))
                let timer = SessionTimer(
                    name: ExactText("t\(round)"), number: UInt64(round), due: 3_000_000,
                    content: Array("{\"a\":2}".utf8))
                batch.timers.append(
                    TimerChange(
                        of: SessionKey(session: session, generation: generation), timer.name, timer)
                )
                batch.tags.append(
                    TagChange(
                        of: SessionKey(session: session, generation: generation), run.reactor,
                        SessionTags([SessionTag("round", "é\(round)")], changed: 3_000_000)))
            }
            let verdict: Verdict = await withCheckedContinuation { continuation in
                _ = journal.commit(batch) { continuation.resume(returning: $0) }
            }
            #expect(verdict == .committed)
        }
        await journal.close()
        try await act(path)
    }

    @Test func `a file moves in with everything, and out again`() async throws {
        try await Self.withFile { path in
            let server = try PostgresServer.shared.get()
            let address = try PostgresAddress(server, server.newSchema())
            let before = Text()
            try JournalExport(path).visit(before.writer)
            try before.writer.finish()
            #expect(before.lines.contains { $0.hasPrefix("{\"running\"") })
            #expect(before.lines.contains { $0.hasPrefix("{\"tombstone\"") })
            #expect(before.lines.contains { $0.hasPrefix("{\"timer\"") })
            #expect(before.lines.contains { $0.hasPrefix("{\"tags\"") })
            let filler = try PostgresFiller(address)
            try JournalExport(path).visit(filler)
            try filler.finish()
            #expect(try Self.export(address) == before.lines)
            #expect(try PostgresContents(address).rowProblems() == [])
            // It continues, and new sessions get rows of their own.
            let journal = try PostgresJournal(
                address, commitLimit: .seconds(600), looksEvery: nil)
            #expect(await journal.verdict(on: .created("another")) == .committed)
            let first = before.lines.first { $0.hasPrefix("{\"session\"") } ?? ""
            let id = String(first.split(separator: "\"")[3])
            let saved = try #require(try await journal.load(id))
            let next = HistoryEntry.mutation(
                id, saved.end.number + 1, version: saved.end.version + 1,
                generation: saved.key.generation)
            let batch = Batch(records: [next], after: [saved.key: saved.end.position])
            #expect(await journal.verdict(on: batch) == .committed)
            await journal.close()
            // There are sessions now.
            #expect(throws: JournalFailure.self) { try PostgresFiller(address) }
        }
    }

    @Test func `a text that ends early leaves nothing`() async throws {
        try await Self.withFile { path in
            let server = try PostgresServer.shared.get()
            let address = try PostgresAddress(server, server.newSchema())
            do {
                let filler = try PostgresFiller(address)
                try JournalExport(path).visit(filler)
            }
            #expect(try Self.export(address).count == 2)
        }
    }

    @Test func `rows that do not continue one another are found`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let address = try PostgresAddress(server, schema)
        let journal = try PostgresJournal(
            address, commitLimit: .seconds(600), looksEvery: nil)
        for entry in HistoryEntry.life("s", 4) {
            #expect(await journal.verdict(on: entry) == .committed)
        }
        await journal.close()
        #expect(try PostgresContents(address).rowProblems() == [])
        try server.execute("DELETE FROM \(schema).runs WHERE number = 2")
        try server.execute("INSERT INTO \(schema).running VALUES(99, 1, '', 1, NULL)")
        #expect(
            try PostgresContents(address).rowProblems() == [
                "running: 1 rows belong to no session",
                "session s g1: the row after 2 does not continue the one before it",
            ])
    }

    // MARK: Addresses

    @Test func `an address has settings of its own, and the others are libpq's`() throws {
        let plain = try PostgresAddress("postgres://ada:secret@db1,db2/reactor")
        #expect(plain.schema == "reactor")
        #expect(plain.durability == .on)
        #expect(plain.failover == .auto)
        #expect(plain.lanes == 2)
        let full = try PostgresAddress(
            "postgresql://h/d?schema=two&sslmode=require&durability=remote_apply&failover=safe"
                + "&lanes=4")
        #expect(full.schema == "two")
        #expect(full.durability == .remoteApply)
        #expect(full.failover == .safe)
        #expect(full.lanes == 4)
        #expect(full.connection == "postgresql://h/d?sslmode=require")
        for text in [
            "file:x", "postgres:/h", "postgres://h/d?schema=A", "postgres://h/d?schema=",
            "postgres://h/d?schema=pg_x", "postgres://h/d?schema=a;b",
            "postgres://h/d?durability=off", "postgres://h/d?failover=",
            "postgres://h/d?lanes=0", "postgres://h/d?lanes=17", "postgres://h/d?lanes=",
        ] {
            #expect(throws: PostgresAddress.Fault.self) { try PostgresAddress(text) }
        }
    }

    @Test(
        arguments: [
            ("postgres://u:pw1234@h/db", "postgres://u:***@h/db"),
            ("postgres://u@h/db", "postgres://u@h/db"),
            ("postgres://u:@h/db", "postgres://u:***@h/db"),
            (
                "postgres://u:p%40w1@h1,h2:5433/db?schema=x&pooler=session&sslmode=require",
                "postgres://u:***@h1,h2:5433/db?schema=x&pooler=session&sslmode=require"
            ),
            ("postgres://h/db?password=p w&user=u", "postgres://h/db?password=***&user=u"),
            ("postgresql://h/db?sslpassword=abc", "postgresql://h/db?sslpassword=***"),
            ("postgres://h/db?user=a@b", "postgres://h/db?user=a@b"),
            // Texts that libpq cannot read, or splits at another place than the author meant.
            ("postgres://u:p@w1234@h/db", nil), ("postgres://u:pw/1234@h/db", nil),
            ("postgres://u:pw?1234@h/db", nil), ("postgres://h/db?PASSWORD=pw1234", nil),
            ("postgres:/u:pw1234@h/db", nil), ("postgres://u:pw1234@h:x/db?port=y&z", nil),
            ("postgres://u:p%w1234@h/db", nil),
        ] as [(String, String?)])
    func `an address is shown without its secrets, or not at all`(text: String, shown: String?) {
        #expect(PostgresAddress.masked(text) == shown)
    }

    /// As a libpq finds them that knows them all.
    @Test(arguments: [
        "password", "sslpassword", "passfile", "oauth_client_secret", "scram_client_key",
        "scram_server_key",
    ])
    func `the secrets of every libpq are masked`(name: String) {
        let options = [name: "pw1234", "user": "u"]
        let text = "postgres://h/db?user=u&\(name)="
        #expect(ConnectionText.masked(text + "pw1234", options) == text + "***")
        // Where it is at another place than the author meant, nothing is shown.
        #expect(ConnectionText.masked("postgres://pw1234@h/db?user=u", options) == nil)
    }

    /// libpq's message shows the part that it takes for a host or a port.
    @Test(arguments: [
        "postgres://u:sec@ret@/postgres", "postgres://u:sec/ret@h/postgres",
        "postgres://u:sec?ret@h/postgres", "postgres://u:sec%ret@h/postgres",
        "postgres://h:secret/postgres?secret", "postgres://h:secret/postgres",
    ])
    func `no message has a part of a password`(text: String) {
        do {
            _ = try PostgresAddress(text)
            Issue.record("libpq would divide it at another place")
        } catch {
            for part in ["sec", "ret"] {
                #expect(!error.description.replacing("secret", with: "").contains(part))
                #expect(!error.description.contains("secret"))
            }
            #expect(error.description.contains("%40"))
        }
    }

    @Test(arguments: [
        ("postgres://u@a,b/d", ["a/", "b/"]), ("postgres://u@a:1,b:2/d", ["a/1", "b/2"]),
        ("postgres://u@a:1,b/d", ["a/1", "b/"]), ("postgres:///d?host=a,b&port=7", ["a/7", "b/7"]),
        ("postgres:///d?host=/x,/y", ["/x/", "/y/"]), ("postgres://u@a/d", []),
    ])
    func `each host of an address is reached by itself`(text: String, expected: [String]) throws {
        let hosts = DatabaseHosts.hosts(of: try PostgresAddress(text))
        let found = hosts.map { host in
            let values = Dictionary(uniqueKeysWithValues: host.map { ($0.name, $0.value) })
            #expect(values["dbname"] == "d")
            #expect(values["target_session_attrs"] == "read-write")
            let port = values["port"] == "5432" ? "" : values["port"] ?? ""
            return "\(values["host"] ?? "-")/\(port)"
        }
        #expect(found == expected)
    }

    @Test func `a server that loses commits is refused`() async throws {
        let server = try PostgresServer()
        try server.execute("ALTER SYSTEM SET full_page_writes = off")
        try server.execute("SELECT pg_reload_conf()")
        while try server.query("SHOW full_page_writes").text(0, 0) != "off" {}
        let refused = #expect(throws: JournalFailure.self) {
            try PostgresJournal(PostgresAddress(server, "reactor"), looksEvery: nil)
        }
        #expect(refused?.detail.contains("full_page_writes is off") == true)
    }

    /// A role without rights uses tables that somebody else has made.
    @Test func `a server may have no right to make tables`() async throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        try server.execute("CREATE ROLE \(schema)_role LOGIN")
        let address = try PostgresAddress(
            "postgres://\(schema)_role@/postgres?host=\(server.folder)&schema=\(schema)")
        #expect(throws: JournalFailure.self) { try PostgresJournal(address, looksEvery: nil) }
        try PostgresContents.prepare(try PostgresAddress(server, schema))
        try server.execute(
            """
            GRANT USAGE ON SCHEMA \(schema) TO \(schema)_role;
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO \(schema)_role;
            GRANT USAGE ON ALL SEQUENCES IN SCHEMA \(schema) TO \(schema)_role
            """)
        let journal = try PostgresJournal(
            address, commitLimit: .seconds(600), looksEvery: nil)
        #expect(await journal.verdict(on: .created("s"), .mutation("s", 1)) == .committed)
        await journal.keepHouse()
        try server.cutConnections(to: schema)
        #expect(await journal.verdict(on: .mutation("s", 2)) == .committed)
        await journal.close()
    }
}
