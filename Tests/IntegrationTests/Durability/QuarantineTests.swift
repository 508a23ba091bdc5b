import Testing

@Suite(
    "A session that today's code can't rebuild is set aside, and healed by code that can",
    .enabled(if: Tool.hasPython, "python3 edits the file"), .timeLimit(.minutes(5)))
struct QuarantineTests {
    private static let spoil = """
        UPDATE TABLE SET COLUMN = replace(COLUMN, 'setAlertMessage', 'setNoSuchThings')
        WHERE COLUMN LIKE '%poison%'
        """
    private static let mend = """
        UPDATE TABLE SET COLUMN = replace(COLUMN, 'setNoSuchThings', 'setAlertMessage')
        """

    @Test func `it is told what and where; others do not notice; its data are kept`()
        async throws
    {
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

    private func expectQuarantine(_ session: SessionHandle) async throws {
        let place = "the mutation of version 2"
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
