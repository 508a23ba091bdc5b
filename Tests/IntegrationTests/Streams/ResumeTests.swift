import Testing

@Suite("Contract §3.2 — how a stream is resumed (cases 31 to 39)", .timeLimit(.minutes(60)))
struct ResumeTests {
    @Test func `case 31: reconnecting without an id is a new subscription`() async throws {
        let session = try await sharedServer().session("alerts")
        let first = try await session.follow("pulses")
        try await session.alert("shown")
        _ = try await first.next()
        await first.close()
        let again = try await session.open("pulses")
        #expect(try await again.next().name == "snapshot")
        try await session.alert("sentinel")
        #expect(try await again.next().data == #""sentinel""#)
    }

    @Test(arguments: ["header", "query"])
    func `case 32: nothing is missed and nothing repeated`(way: String) async throws {
        let session = try await sharedServer().session("alerts")
        let first = try await session.follow("pulses")
        try await session.alert("seen")
        let id = try await first.next().id
        await first.close()
        for number in 1...3 { try await session.alert("missed \(number)") }
        let again =
            way == "header"
            ? try await session.open("pulses", [("Last-Event-ID", id)])
            : try await session.open("pulses?after=\(id)")
        try await session.alert("live")
        #expect(
            try await again.next(4).map(\.data)
                == [#""missed 1""#, #""missed 2""#, #""missed 3""#, #""live""#])
    }

    @Test func `case 39: events without a listener are not lost`() async throws {
        let session = try await sharedServer().session("alerts")
        for number in 1...3 { try await session.alert("\(number)") }
        let stream = try await session.open("pulses", [("Last-Event-ID", session.created)])
        #expect(try await stream.next(3).map(\.data) == [#""1""#, #""2""#, #""3""#])
    }

    @Test func `a cut between two events of one record loses and repeats nothing`() async throws {
        let session = try await sharedFixtures().session("pulses")
        try await session.post(#"{"type":"setPair","a":1,"b":2}"#)
        try await session.post(#"{"type":"setA","number":3}"#)
        let between = try await session.open(
            "pulses", [("Last-Event-ID", "\(session.generation).1.1")])
        #expect(try await between.next(2).map { "\($0.name) \($0.data)" } == ["b 2", "a 3"])
        let later = try await session.open(
            "pulses", [("Last-Event-ID", "\(session.generation).1")])
        #expect(try await later.next().data == "3")
        // A part means the same on every stream, regardless of its selection.
        let other = try await session.open(
            "pulses?pulse=a", [("Last-Event-ID", "\(session.generation).1.1")])
        #expect(try await other.next().data == "3")
    }

    @Test func `resuming at the present position shows later events only`() async throws {
        let session = try await sharedServer().session("alerts")
        let position = try await session.alert("seen").position
        let stream = try await session.open("pulses", [("Last-Event-ID", position)])
        try await session.alert("sentinel")
        #expect(try await stream.next().data == #""sentinel""#)
    }

    @Test func `states and activities resume as pulses do`() async throws {
        let session = try await sharedServer().session("chat")
        try await session.post(#"{"type":"say","author":"ada","text":"1"}"#)
        try await session.post(#"{"type":"typing","author":"ada"}"#)
        try await session.post(#"{"type":"say","author":"ada","text":"2"}"#)
        let last = [("Last-Event-ID", "\(session.generation).1")]
        #expect(try await session.open("activities", last).next().name == "typing")
        let state = try await session.open("states", last).next()
        #expect(try JSONValue(text: state.data)["count"] == 2)
        let names = try await session.open("events", last).next(3).map(\.name)
        #expect(names == ["typing", "newest", "state"])
    }

    static let foreign: [(id: String, reason: String)] = [
        ("nonsense", "malformed"), ("{}", "malformed"), ("{}.", "malformed"),
        ("{}.01", "malformed"), ("{}.-1", "malformed"), ("{}.1.0", "malformed"),
        ("{}.18446744073709551616", "malformed"), ("{}.1 2", "malformed"),
        ("aaaaaaaa.1", "generation"), ("{}.1003", "ahead"),
        ("{}.18446744073709551615", "ahead"),
    ]

    @Test(arguments: foreign)
    func `case 35: a foreign id is a reset, then the snapshot, never an error`(
        id: String, reason: String
    ) async throws {
        let session = try await sharedServer().session("alerts")
        for number in 1...3 { try await session.alert("\(number)") }
        let stream = try await session.open(
            "pulses", [("Last-Event-ID", id.replacing("{}", with: session.generation))])
        let events = try await stream.next(2)
        #expect(events.map(\.name) == ["reset", "snapshot"])
        #expect(try JSONValue(text: events[0].data) == ["reason": .string(reason)])
        #expect(events[1].data == #"{"alertMessage":"3"}"#)
        #expect(events[0].id.isEmpty, "nobody resumes after a snapshot that they did not get")
        #expect(events[1].id == "\(session.generation).3")
        try await session.alert("sentinel")
        #expect(try await stream.next().data == #""sentinel""#)
    }

    @Test func `another session's id is of another generation`() async throws {
        let client = try await sharedServer()
        let one = try await client.session("alerts")
        let other = try await client.session("alerts")
        let id = try await other.alert("other").position
        let events = try await one.open("pulses", [("Last-Event-ID", id)]).next(2)
        #expect(events[0].data == #"{"reason":"generation"}"#)
        #expect(events[1].data == #"{"alertMessage":null}"#)
    }

    @Test func `case 34: an id that was trimmed from the log is a reset`() async throws {
        try await withServer(.server, "--journal", "memory", "--keep-records", "10") { server in
            let session = try await server.client().session("alerts")
            for number in 1...50 { try await session.alert("\(number)") }
            for old in [0, 1, 20, 38] {
                let stream = try await session.open(
                    "pulses", [("Last-Event-ID", "\(session.generation).\(old)")])
                let events = try await stream.next(2)
                #expect(events.map(\.name) == ["reset", "snapshot"])
                #expect(events[0].data == #"{"reason":"trimmed"}"#)
                #expect(events[1].data == #"{"alertMessage":"50"}"#)
            }
            let kept = try await session.open(
                "pulses", [("Last-Event-ID", "\(session.generation).45")])
            #expect(try await kept.next(5).map(\.data) == (46...50).map { "\"\($0)\"" })
            try expectProblem(
                try await session.client.get("\(session.path)?version=1"), 404, "unknown_version")
        }
    }

    @Test func `from=start after trimming shows the kept events, to the end`() async throws {
        try await withServer(.server, "--journal", "memory", "--keep-records", "10") { server in
            let session = try await server.client().session("alerts")
            for number in 1...50 { try await session.alert("\(number)") }
            let stream = try await session.open("pulses?from=start")
            let first = try #require(Int(try await stream.next().data.dropFirst().dropLast()))
            #expect((35...41).contains(first))
            #expect(
                try await stream.next(50 - first).map(\.data)
                    == ((first + 1)...50).map { "\"\($0)\"" })
        }
    }
}
