import Testing

@Suite("A session ends by itself, and an effect runs again", .timeLimit(.minutes(60)))
struct EndingTests {
    private func start(_ journal: JournalFile, _ more: String...) async throws -> ServerProcess {
        try await ServerProcess.start(.fixtures, journal.options + more)
    }

    private func expectGone(_ session: SessionHandle) async throws {
        try expectProblem(try await session.client.get(session.path), 410, "session_ended")
        try expectProblem(
            try await session.client.post("\(session.path)/actions", #"{"type":"add","number":1}"#),
            410, "session_ended")
    }

    @Test func `200 with the receipt, the last event, the end, 410, and after kill -9 too`()
        async throws
    {
        try await withJournal { journal in
            let server = try await start(journal)
            let session = try await server.client().session("failing")
            let stream = try await session.follow("pulses")
            let answer = try await session.client.post(
                "\(session.path)/actions",
                #"[{"type":"close","number":2},{"type":"add","number":5}]"#)
            #expect(answer.status == 200)
            #expect(try answer.json["version"] == 1)
            #expect(try answer.json["rejected"] == [1])
            #expect(try answer.json["reasons"] == ["1": "the session has ended"])
            #expect(try await stream.rest().map(\.name) == ["sum", "end"])
            try await server.murder()
            let next = try await start(journal)
            try await expectGone(session.on(next))
            try await next.murder()
        }
    }

    @Test func `an unused session ends, and one that was used does not`() async throws {
        try await withJournal { journal in
            let server = try await start(journal, "--session-expiry", "1m")
            let client = server.client()
            // In the order in which they are examined.
            let (used, unused) = (
                try await client.session("failing"), try await client.session("failing")
            )
            try await server.murder()
            try await journal.edit("UPDATE timers SET due = 1 WHERE name = ''")
            try await journal.edit(
                """
                UPDATE snapshots SET time = 1
                WHERE session = (SELECT row FROM sessions WHERE id = '\(unused.id)')
                """)
            let next = try await start(journal, "--session-expiry", "1m")
            let gone = unused.on(next)
            while try await gone.client.get("\(gone.path)/runtime").status != 410 {}
            try await expectGone(gone)
            #expect(try await used.on(next).state()["sum"] == 0)
            try await next.murder()
        }
    }

    @Test func `a reader postpones the expiry in the journal for as long as it reads`()
        async throws
    {
        try await withJournal { journal in
            let server = try await start(journal, "--session-expiry", "1m")
            let session = try await server.client().session("failing")
            let stream = try await session.follow("pulses")
            let first = try await due(journal)
            while try await due(journal) == first { try Task.checkCancellation() }
            try await session.post(#"{"type":"add","number":1}"#)
            #expect(try await stream.next().data == "1")
            try await server.murder()
        }
    }

    private func due(_ journal: JournalFile) async throws -> String {
        let script = """
            import sqlite3, sys
            print(sqlite3.connect(sys.argv[1]).execute("SELECT due FROM timers").fetchall())
            """
        return try await Tool.run("python3", ["-c", script, journal.path]).output
    }

    @Test func `an effect that has failed waits for its time, in the next process too`()
        async throws
    {
        try await withJournal { journal in
            let server = try await start(journal)
            let session = try await server.client().session("failing")
            try await session.post(#"{"type":"retry","number":1}"#)
            func waits(_ session: SessionHandle) async throws {
                while true {
                    let runtime = try await session.client.get("\(session.path)/runtime").json
                    if runtime["effects"]?[0]?["id"] == "runAgain" { return }
                }
            }
            try await waits(session)
            try await server.murder()
            let next = try await start(journal)
            #expect(try await session.on(next).state()["sum"] == 1)
            try await waits(session.on(next))
            try await next.murder()
        }
    }
}
