import Testing

@Suite("ADR-0090 — presence over HTTP", .timeLimit(.minutes(60)))
struct PresenceTests {
    @Test(arguments: ["pulses", "states", "activities", "events"])
    func `a reader sees itself, and then each new reader`(stream: String) async throws {
        let session = try await sharedServer().session("chat")
        let ada = try await session.open("\(stream)?as=ada&presence=on&from=now")
        #expect(try await next(ada) == #"{"present":["ada"],"others":0}"#)
        let bob = try await session.open("\(stream)?as=bob")
        #expect(try await next(ada) == #"{"present":["ada","bob"],"others":0}"#)
        let other = try await session.open("\(stream)?presence=on&from=now")
        let all = #"{"present":["ada","bob"],"others":1}"#
        #expect(try await next(other) == all)
        #expect(try await next(ada) == all)
        let response = try await session.client.get("\(session.path)/presence")
        #expect(response.status == 200)
        #expect(response["Cache-Control"] == "no-store")
        #expect(response["Content-Type"] == "application/json")
        #expect(try response.json == JSONValue(text: all))
        await other.close()
        #expect(try await next(ada) == #"{"present":["ada","bob"],"others":0}"#)
        await bob.close()
        await ada.close()
    }

    @Test func `an event of the session comes between sets, and keeps its id`() async throws {
        let session = try await sharedServer().session("alerts")
        let ada = try await session.open("pulses?as=ada&presence=on")
        #expect(try await ada.next().name == "snapshot")
        #expect(try await ada.next().id == "\(session.generation).0", "the id stays")
        try await session.alert("Hello")
        let alert = try await ada.next()
        #expect(alert.id == "\(session.generation).1")
        let again = try await session.open(
            "pulses?presence=on&after=\(session.generation).0")
        #expect(try await again.next().name == alert.name)
        #expect(try await next(again) == #"{"present":["ada"],"others":1}"#)
        await ada.close()
        await again.close()
    }

    @Test func `a stream of several sessions names the session`() async throws {
        let (one, two) = try await (
            sharedServer().session("alerts"), sharedServer().session("alerts")
        )
        let all = try await one.client.open(
            "/v1/events?session=\(one.id)&session=\(two.id)&as=ada&presence=on&only=pulses")
        var seen: Set<String> = []
        while seen.count < 2 {
            let event = try await all.next()
            guard event.name.hasSuffix("/presence") else { continue }
            #expect(event.data == #"{"present":["ada"],"others":0}"#)
            seen.insert(event.name)
        }
        #expect(seen == ["\(one.id)/presence", "\(two.id)/presence"])
        await all.close()
    }

    // Two timers of the loop had one token, so after the first event the loop was not woken again.
    @Test func `changes are shown on a loop that has nothing else to do`() async throws {
        try await withServer(.server, "--loops", "1", "--heartbeat", "10m") { server in
            let session = try await server.client().session("alerts")
            let ada = try await session.open("pulses?as=ada&presence=on&from=now")
            #expect(try await next(ada) == #"{"present":["ada"],"others":0}"#)
            var others: [EventStream] = []
            for count in 1...12 {
                // Each comes within a second of the last event.
                others.append(try await session.open("pulses?from=now"))
                #expect(try await next(ada) == #"{"present":["ada"],"others":\#(count)}"#)
            }
            for stream in others + [ada] { await stream.close() }
        }
    }

    @Test func `each mistake has its error code`() async throws {
        let session = try await sharedServer().session("alerts")
        let client = session.client
        try expectProblem(
            try await client.get("\(session.path)/pulses?as="), 400, "bad_as", detail: "64 bytes")
        try expectProblem(
            try await client.get("\(session.path)/pulses?presence=1"), 400, "bad_presence",
            detail: "on or off")
        try expectProblem(
            try await client.get("\(session.path)/log?as=ada"), 400, "unknown_parameter",
            detail: "as")
        try expectProblem(
            try await client.get("/v1/sessions/none/presence"), 404, "unknown_session",
            detail: "none")
        _ = try await client.delete(session.path)
        try expectProblem(
            try await client.get("\(session.path)/presence"), 410, "session_ended",
            detail: session.id)
    }

    private func next(_ stream: EventStream) async throws -> String {
        let event = try await stream.next()
        guard event.name == "presence" else { throw EventStream.Surprise(event: event) }
        return event.data
    }
}
