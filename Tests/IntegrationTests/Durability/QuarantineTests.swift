import Testing

@Suite(
    "A session that can't be rebuilt is quarantined until code can rebuild it",
    .enabled(if: Tool.hasPython, "python3 edits the file"), .timeLimit(.minutes(60)))
struct QuarantineTests {
    private static let spoil = """
        UPDATE TABLE SET COLUMN = replace(COLUMN, 'setAlertMessage', 'setNoSuchThings')
        WHERE COLUMN LIKE '%poison%'
        """
    private static let mend = """
        UPDATE TABLE SET COLUMN = replace(COLUMN, 'setNoSuchThings', 'setAlertMessage')
        """

    @Test func `a quarantined session is reported; others work; its data are kept`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let sick = try await first.client().session("alerts")
            let well = try await first.client().session("alerts")
            for session in [sick, well] { try await session.alert("one") }
            try await sick.alert("poison")
            try await first.murder()
            try await journal.edit(Self.spoil)

            let second = try await journal.start()
            try await expectQuarantine(sick.on(second))
            let other = well.on(second)
            #expect(try await other.alert("two").version == 2)
            #expect(try await second.client().get("/readyz").status == 200)
            try await second.murder()

            try await journal.edit(Self.mend)
            let healed = sick.on(try await journal.start())
            #expect(try await healed.read()["version"] == 2)
            #expect(try await healed.alert("three").version == 3)
        }
    }

    @Test func `case 149: a quarantined session is listed, exported unchanged and deletable`()
        async throws
    {
        try await withJournal { journal in
            let first = try await journal.start()
            let sick = try await first.client().session("alerts")
            let well = try await first.client().session("alerts")
            try await sick.alert("poison")
            try await well.alert("well")
            try await first.murder()
            try await journal.edit(Self.spoil)
            try await expectExported(journal)

            let second = try await journal.start()
            #expect(try await listed(second, sick)["status"] == nil, "nobody has tried")
            try await expectQuarantine(sick.on(second), "the mutation of version 1")
            let line = try await listed(second, sick)
            #expect(line["status"] == "quarantined")
            #expect("\(line["reason"] ?? .null)".contains("the mutation of version 1"))
            #expect(line["version"] == 1)

            let client = second.client()
            #expect(try await client.delete(sick.path).status == 204)
            try await expectGone(sick.on(second))
            try await second.murder()

            let third = try await journal.start()
            try await expectGone(sick.on(third))
            try await third.murder()
            try await journal.edit(Self.mend)
            let fourth = try await journal.start()
            try await expectGone(sick.on(fourth))
            #expect(try await well.on(fourth).read()["version"] == 1)
        }
    }

    private func listed(_ server: ServerProcess, _ session: SessionHandle) async throws -> JSONValue
    {
        let page = try await server.client().get("/v1/sessions").json
        return try #require(page["sessions"]?.array?.first { $0["id"]?.string == session.id })
    }

    private func expectGone(_ session: SessionHandle) async throws {
        let client = session.client
        try expectProblem(try await client.get(session.path), 410, "session_ended")
        try expectProblem(try await client.delete(session.path), 410, "session_ended")
        try expectProblem(
            try await client.put(session.path, #"{"reactor":"alerts"}"#), 410, "session_ended")
        #expect(try await client.get("\(session.path)/pulses").status == 204)
        let page = try await client.get("/v1/sessions").json
        #expect(page["sessions"]?.array?.contains { $0["id"]?.string == session.id } == false)
    }

    /// Data that can't be rebuilt is exported all the same.
    private func expectExported(_ journal: JournalFile) async throws {
        let export = try await ServerProcess.run(.server, ["journal", "export", journal.path])
        #expect(export.exit == .code(0))
        #expect(export.output.contains("setNoSuchThings"))
    }

    private func expectQuarantine(
        _ session: SessionHandle, _ place: String = "the mutation of version 2"
    ) async throws {
        let client = session.client
        try expectProblem(
            try await client.get(session.path), 500, "session_quarantined", detail: place)
        try expectProblem(
            try await client.post(
                "\(session.path)/actions", #"{"type":"alert","message":"x"}"#), 500,
            "session_quarantined", detail: place)
        try expectProblem(
            try await client.put(session.path, #"{"reactor":"alerts"}"#), 500,
            "session_quarantined", detail: place)
        for fields in [[], [("Last-Event-ID", session.created)]] {
            let stream = try await session.open("pulses", fields)
            let problem = try await stream.next()
            #expect(problem.name == "problem")
            #expect(problem.data.contains("session_quarantined"))
            #expect(problem.data.contains(place))
            #expect(try await stream.rest() == [])
            #expect(await stream.endedCleanly)
        }
    }
}
