import Testing

@Suite("Cases 107 to 119 — commits", .timeLimit(.minutes(60)))
struct CommitTests {
    /// The kinds and contents of the storage's entries, without the calls around them.
    private func changes(_ entries: [JSONValue]) -> [String] {
        entries.compactMap { $0["kind"]?.string }.filter {
            ["cycler.didChange", "cycler.didReplace"].contains($0)
        }
    }

    private func logged(
        _ session: SessionHandle, _ action: String
    ) async throws -> [JSONValue] {
        let log = try await session.followLog()
        try await session.post(action)
        try await session.post(#"{"type":"wave","hands":1}"#)
        var entries: [JSONValue] = []
        repeat { entries += try await log.entries(1) } while entries.last?["kind"] != "activity"
        return entries
    }

    @Test func `case 107: a commit is one version and one state, whatever it writes`() async throws
    {
        let session = try await sharedFixtures().session("cycle")
        let states = try await session.follow("states")
        #expect(try await session.post(#"{"type":"setBoth","a":1,"b":2}"#).version == 1)
        #expect(try await session.post(#"{"type":"set","a":3}"#).version == 2)
        let events = try await states.next(2)
        #expect(try JSONValue(text: events[0].data)["b"] == 2)
        #expect(try JSONValue(text: events[1].data)["a"] == 3)
    }

    @Test func `case 108: a batch is one event; the log has its changes, then one replacement`()
        async throws
    {
        let session = try await sharedFixtures().session("cycle")
        let states = try await session.follow("states")
        let entries = try await logged(session, #"{"type":"setBatch","a":1,"b":2}"#)
        #expect(
            changes(entries) == ["cycler.didChange", "cycler.didChange", "cycler.didReplace"])
        let told = entries.filter { $0["kind"] == "cycler.didChange" }
        #expect(told.map { $0["content"]?["value"] } == [1, 2])
        #expect(told[0]["content"]?["keyPath"]?.string?.hasSuffix("a") == true)
        try await session.post(#"{"type":"set","a":9}"#)
        #expect(try await JSONValue(text: states.next().data)["b"] == 2)
        #expect(try await JSONValue(text: states.next().data)["a"] == 9)
        #expect(try await session.read()["version"] == 2)
    }

    @Test func `case 116: a commit that throws is 422 and changes nothing; the next one works`()
        async throws
    {
        let session = try await sharedFixtures().session("cycle")
        try await session.post(#"{"type":"set","a":1}"#)
        let states = try await session.follow("states")
        let before = try await session.read()
        for type in ["fail", "commitThenFail"] {
            try expectProblem(
                try await session.client.post(
                    "\(session.path)/actions", #"{"type":"\#(type)","a":9}"#), 422,
                "action_failed", detail: "Fault")
            #expect(try await session.read() == before)
        }
        #expect(try await session.post(#"{"type":"set","a":2}"#).version == 2)
        #expect(try await JSONValue(text: states.next().data)["a"] == 2)
    }

    @Test func `a pulse in a Cycler's state is an event each time it is assigned`() async throws {
        let session = try await sharedFixtures().session("cycle")
        let pulses = try await session.follow("pulses")
        try await session.post(#"{"type":"shout","text":"a"}"#)
        try await session.post(#"{"type":"set","a":1}"#)
        try await session.post(#"{"type":"shout","text":"a"}"#)
        let events = try await pulses.next(2)
        #expect(events.map(\.data) == [#""a""#, #""a""#])
        #expect(events.map(\.id) == ["1", "3"].map { "\(session.generation).\($0)" })
    }
}
