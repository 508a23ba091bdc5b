import Testing

@Suite("Cases 1 to 18 — a pulse over HTTP", .timeLimit(.minutes(60)))
struct PulseTests {
    private func pulses() async throws -> SessionHandle {
        try await sharedFixtures().session("pulses")
    }

    @Test func `case 18: a pulse is its bare value`() async throws {
        let session = try await sharedServer().session("alerts")
        #expect(try await session.state() == ["alertMessage": nil, "actions": 0])
        try await session.alert("x")
        #expect(try await session.state() == ["alertMessage": "x", "actions": 0])
    }
}

@Suite("Cases 19 to 28 — pulse streams", .timeLimit(.minutes(60)))
struct PulseStreamTests {
    @Test func `case 19: the seeds' six actions are four events`() async throws {
        let session = try await sharedServer().session("alerts")
        let stream = try await session.follow("pulses?pulse=alertMessage")
        let some = #"{"type":"doSomeAction"}"#
        try await session.alert("Hello")
        try await session.alert("Hello")
        try await session.post(some)
        try await session.alert("Hello")
        try await session.alert("tokijh")
        try await session.post(some)
        try await session.alert("sentinel")
        let events = try await stream.next(5)
        #expect(
            events.map(\.data)
                == [#""Hello""#, #""Hello""#, #""Hello""#, #""tokijh""#, #""sentinel""#])
        #expect(events.allSatisfy { $0.name == "alertMessage" })
        #expect(
            events.map(\.id) == [1, 2, 4, 5, 7].map { "\(session.generation).\($0)" })
        #expect(try await session.read()["version"] == 7)
    }

    @Test func `cases 21, 22: a late reader gets the present value and no history`() async throws {
        let session = try await sharedServer().session("alerts")
        #expect(try await session.open("pulses").next().data == #"{"alertMessage":null}"#)
        try await session.alert("a")
        try await session.alert("b")
        let stream = try await session.open("pulses")
        let first = try await stream.next()
        #expect(first.name == "snapshot")
        #expect(first.data == #"{"alertMessage":"b"}"#)
        #expect(first.id == "\(session.generation).2")
        try await session.alert("sentinel")
        #expect(try await stream.next().data == #""sentinel""#)
    }

    @Test func `case 28: three subscribers get the same events`() async throws {
        let session = try await sharedServer().session("alerts")
        var streams: [EventStream] = []
        for _ in 1...3 { streams.append(try await session.follow("pulses")) }
        for number in 1...20 { try await session.alert("message \(number)") }
        var transcripts: [[Event]] = []
        for stream in streams { transcripts.append(try await stream.next(20)) }
        #expect(transcripts[0].map(\.data) == (1...20).map { "\"message \($0)\"" })
        #expect(transcripts.allSatisfy { $0 == transcripts[0] })
    }

    @Test func `of a record's two events the first has a part, the last the bare position`()
        async throws
    {
        let session = try await sharedFixtures().session("pulses")
        let stream = try await session.follow("pulses")
        try await session.post(#"{"type":"setPair","a":1,"b":2}"#)
        let events = try await stream.next(2)
        #expect(events.map(\.name) == ["a", "b"])
        #expect(events.map(\.id) == ["\(session.generation).1.1", "\(session.generation).1"])
    }

    @Test func `case 40: an unknown pulse is 404, and no stream`() async throws {
        let session = try await sharedServer().session("alerts")
        for query in ["pulse=nothing", "pulse=alertMessage&pulse=nothing", "pulse="] {
            try expectProblem(
                try await session.client.get("\(session.path)/pulses?\(query)"), 404,
                "unknown_pulse", detail: "alerts")
        }
    }

    static let texts = [
        "line\nline", "line\r\nline", "line\rline", "\n", " leading", "trailing ", "",
        "\u{2028}\u{2029}",
        "👩‍👩‍👧‍👦 é e\u{301}", "\"quoted\" \\ back", "\u{0}\u{1}\u{1f}\u{7f}", "data: x",
        ": not a comment",
        "\u{feff}", "\u{10ffff}", "null",
    ]

    @Test(arguments: texts)
    func `case 41: text arrives unchanged, on one data line`(text: String) async throws {
        let session = try await sharedServer().session("alerts")
        let stream = try await session.follow("pulses")
        try await session.alert(text)
        let event = try await stream.next()
        #expect(!event.data.contains("\n"))
        #expect(try Array(#require(JSONValue(text: event.data).string).utf8) == Array(text.utf8))
        #expect(try await session.state()["alertMessage"] == .string(text))
    }

    @Test func `case 41: nearly a megabyte arrives unchanged`() async throws {
        let session = try await sharedServer().session("alerts")
        let stream = try await session.follow("pulses")
        let text = String(repeating: "0123456789abcdé\n", count: 55_000)
        try await session.alert(text)
        try await session.alert("sentinel")
        #expect(try await JSONValue(text: stream.next().data).string == text)
        #expect(try await stream.next().data == #""sentinel""#)
        // Also in a snapshot: too large for one send.
        try await session.alert(text)
        let late = try await session.open("pulses")
        #expect(try await JSONValue(text: late.next().data)["alertMessage"] == .string(text))
    }
}
