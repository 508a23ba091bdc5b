import Testing

@Suite("Contract §5 — every written value can be read", .timeLimit(.minutes(60)))
struct ValueTests {
    private func refused(_ session: SessionHandle, _ action: String) async throws -> Response {
        try await session.client.post("\(session.path)/actions", action)
    }

    @Test func `case 145: a state too deep to be read back is refused and leaves no trace`()
        async throws
    {
        let session = try await sharedFixtures().session("values")
        let stream = try await session.follow("states")
        try await session.post(#"{"type":"nest","levels":60}"#)
        _ = try await stream.next()
        try expectProblem(
            try await refused(session, #"{"type":"nest","levels":10}"#), 422, "not_encodable",
            detail: "/tree/trees/0/trees")
        #expect(try await session.read()["version"] == 1)
        // The session works, and no event of the refused action was sent.
        let receipt = try await session.post(#"{"type":"divide","by":4}"#)
        #expect(receipt.version == 2)
        let event = try await stream.next()
        #expect(event.id == receipt.position)
        #expect(try JSONValue(text: event.data)["quotient"] == .number(0.25))
    }

    @Test func `case 145: an effect that makes the state too deep is a failure only`()
        async throws
    {
        let session = try await sharedFixtures().session("values")
        let log = try await session.followLog()
        let receipt = try await session.post(
            #"{"type":"nestLater","levels":70}"#, query: SessionHandle.settled)
        #expect(receipt.version == 0)
        let failure = try await log.entry("effect.failed")
        #expect(failure["content"]?["error"]?.string?.contains("/tree/trees/0/trees") == true)
        #expect(try await session.post(#"{"type":"nest","levels":1}"#).version == 1)
        #expect(try await session.state()["tree"] == ["trees": [["trees": []]]])
    }

    @Test(arguments: ["0", "-0.0", "5e-324"])
    func `case 146: a number that is not finite is refused without a trace`(divisor: String)
        async throws
    {
        let session = try await sharedFixtures().session("values")
        try expectProblem(
            try await refused(session, #"{"type":"divide","by":\#(divisor)}"#), 422,
            "not_encodable", detail: "/quotient")
        #expect(try await session.read()["version"] == 0)
        #expect(try await session.state()["quotient"] == 1)
        #expect(try await session.post(#"{"type":"divide","by":2}"#).version == 1)
    }

    @Test(arguments: [
        (#"{"type":"alert","type":"nest","message":"a"}"#, "byte 16"),
        (#"[{"type":"alert","message":"a","message":"b"}]"#, "byte 31"),
    ])
    func `case 154: a duplicate member is malformed, and its position is named`(
        action: String, place: String
    ) async throws {
        let session = try await sharedFixtures().session("values")
        try expectProblem(
            try await refused(session, action), 400, "malformed_json", detail: place)
        #expect(try await session.read()["version"] == 0)
        try expectProblem(
            try await session.client.put(
                "\(session.path)-other", #"{"reactor":"values","reactor":"values"}"#),
            400, "malformed_json", detail: "occurs twice")
    }

    @Test(arguments: [
        (#""2026-11-22T10:30:00Z""#, "2026-11-22T10:30:00.000Z"),
        (#""2026-11-22T12:30:00.25+02:00""#, "2026-11-22T10:30:00.250Z"),
        ("0.5", "2001-01-01T00:00:00.500Z"),
    ])
    func `case 156: dates are read as RFC 3339 or a number, and written as RFC 3339`(
        sent: String, shown: String
    ) async throws {
        let session = try await sharedFixtures().session("values")
        let stream = try await session.follow("states")
        try await session.post(#"{"type":"remember","at":\#(sent)}"#)
        #expect(try await session.state()["at"] == .string(shown))
        #expect(try JSONValue(text: try await stream.next().data)["at"] == .string(shown))
        try expectProblem(
            try await refused(session, #"{"type":"remember","at":"yesterday"}"#), 422,
            "not_an_action", detail: "/at")
    }

    @Test func `case 157: a pulse has the name of its coding key everywhere`() async throws {
        let session = try await sharedFixtures().session("values")
        let all = try await session.open("pulses")
        #expect(try await all.next().data == #"{"alert_message":null}"#)
        let picked = try await session.follow("pulses?pulse=alert_message")
        try await session.post(#"{"type":"alert","message":"Hello"}"#)
        for stream in [all, picked] {
            let event = try await stream.next()
            #expect(event.name == "alert_message")
            #expect(event.data == #""Hello""#)
        }
        #expect(try await session.state()["alert_message"] == "Hello")
        let reactors = try await session.client.get("/v1/reactors").text
        #expect(reactors.contains(#""alert_message""#))
        #expect(!reactors.contains(#""alertMessage""#))
        let unknown = try await session.client.get("\(session.path)/pulses?pulse=alertMessage")
        #expect(unknown.status / 100 == 4)
    }
}
