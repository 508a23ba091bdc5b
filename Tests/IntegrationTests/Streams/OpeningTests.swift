import Testing

@Suite("Contract §3.2 — how a stream begins", .timeLimit(.minutes(60)))
struct OpeningTests {
    @Test(arguments: ["pulses", "activities", "states", "events"])
    func `the head has the fields that browsers and proxies need`(stream: String) async throws {
        let session = try await sharedServer().session("chat")
        let head = try await session.open(stream).head
        #expect(head.status == 200)
        #expect(head["Content-Type"] == "text/event-stream; charset=utf-8")
        #expect(head["Cache-Control"] == "no-store, no-transform")
        #expect(head["X-Accel-Buffering"] == "no")
        #expect(head["Content-Length"] == nil)
    }

    @Test func `retry comes first, about two seconds with jitter`() async throws {
        let session = try await sharedServer().session("alerts")
        var retries: Set<Int> = []
        for _ in 1...20 {
            let item = try await session.open("pulses").nextItem()
            guard case .retry(let milliseconds) = item else {
                Issue.record("the first item is \(item)")
                return
            }
            #expect((1_500...2_500).contains(milliseconds))
            retries.insert(milliseconds)
        }
        #expect(retries.count > 5)
    }

    @Test func `a new connection begins with the snapshot of its selection`() async throws {
        let session = try await sharedFixtures().session("pulses")
        try await session.post(#"{"type":"setBoth","a":1,"b":2}"#)
        let chosen = try await session.open("pulses?pulse=b").next()
        #expect(chosen.data == #"{"b":2}"#)
        let everything = try await session.open("pulses").next()
        let names = try JSONValue(text: everything.data)
        #expect(names["a"] == 1 && names["b"] == 2 && names["greeting"] == "Hello tokijh")
        #expect(names["plain"] == nil)
        #expect([chosen.id, everything.id].allSatisfy { $0 == "\(session.generation).2" })
    }

    @Test func `events carries both kinds, or the requested ones`() async throws {
        let session = try await sharedServer().session("chat")
        let say = #"{"type":"say","author":"ada","text":"Hi"}"#
        let all = try await session.open("events")
        let snapshot = try await JSONValue(text: all.next().data)
        #expect(snapshot["pulses"] == ["newest": nil])
        #expect(snapshot["state"]?["count"] == 0)
        let pulses = try await session.follow("events?only=pulses")
        let states = try await session.follow("events?only=states")
        let some = try await session.follow("events?only=activities&only=pulses")
        try await session.post(say)
        try await session.post(#"{"type":"typing","author":"ada"}"#)
        try await session.post(say)
        #expect(
            try await all.next(5).map(\.name) == ["newest", "state", "typing", "newest", "state"])
        #expect(try await pulses.next(2).map(\.name) == ["newest", "newest"])
        #expect(try await states.next(2).map(\.name) == ["state", "state"])
        #expect(try await some.next(3).map(\.name) == ["newest", "typing", "newest"])
    }

    /// A client knows its request, but perhaps not the reactor: a stream of several sessions may
    /// have several reactors.
    @Test(arguments: [
        ("pulses", #"{}"#), ("events?only=pulses", #"{}"#),
        ("events?only=pulses&only=activities", #"{}"#), ("events?only=states", #"{"count":0}"#),
        ("events", #"{"pulses":{},"state":{"count":0}}"#),
        ("events?only=states,pulses", #"{"pulses":{},"state":{"count":0}}"#),
        ("events?select=/count", #"{"pulses":{},"state":0}"#),
    ])
    func `the request alone decides the form of a snapshot: a reactor without pulses`(
        path: String, expected: String
    ) async throws {
        let session = try await sharedServer().session("counter")
        let stream = try await session.open(path)
        let snapshot = try await stream.next()
        #expect(snapshot.name == "snapshot" && snapshot.data == expected)
        // So a reset is followed by a snapshot wherever a stream begins with one.
        let after = path.contains("?") ? "&after=x" : "?after=x"
        let again = try await session.open(path + after).next(2)
        #expect(again.map(\.name) == ["reset", "snapshot"])
        #expect(again.last?.data == expected)
    }

    @Test func `the same on a stream of several sessions with other reactors`() async throws {
        let client = try await sharedServer()
        let (counter, alerts) = (
            try await client.session("counter"), try await client.session("alerts")
        )
        let sessions = "session=\(counter.id)&session=\(alerts.id)&pulse=alertMessage"
        let both = try await client.open("/v1/events?\(sessions)")
        let pulses = try await client.open("/v1/events?\(sessions)&only=pulses,activities")
        let seen = Set(try await both.next(2).map { "\($0.name) \($0.data)" })
        #expect(
            seen == [
                #"\#(counter.id)/snapshot {"pulses":{},"state":{"count":0}}"#,
                #"\#(alerts.id)/snapshot {"pulses":{"alertMessage":null},"#
                    + #""state":{"alertMessage":null,"actions":0}}"#,
            ])
        #expect(
            Set(try await pulses.next(2).map { "\($0.name) \($0.data)" }) == [
                "\(counter.id)/snapshot {}", #"\#(alerts.id)/snapshot {"alertMessage":null}"#,
            ])
    }

    @Test func `from=now sets the id, shows nothing, then is live`() async throws {
        let session = try await sharedServer().session("alerts")
        try await session.alert("before")
        for path in ["pulses", "states", "events", "activities"] {
            let stream = try await session.open("\(path)?from=now")
            guard case .retry = try await stream.nextItem() else {
                Issue.record("no retry")
                return
            }
            let present = try #require(try await session.read()["position"]?.string)
            #expect(try await stream.nextItem() == .priming(present))
            if path != "activities" {
                try await session.alert("live")
                let event = try await stream.next()
                #expect(event.name != "snapshot")
            }
        }
    }

    @Test func `from=start shows all kept events, then is live`() async throws {
        let session = try await sharedServer().session("alerts")
        for number in 1...5 { try await session.alert("message \(number)") }
        let stream = try await session.open("pulses?from=start")
        try await session.alert("message 6")
        #expect(
            try await stream.next(6).map(\.data) == (1...6).map { "\"message \($0)\"" })
    }

    @Test func `ping, from and only accept their words and no others`() async throws {
        let session = try await sharedServer().session("alerts")
        for (query, code) in [
            ("from=yesterday", "bad_from"), ("from=", "bad_from"), ("ping=yes", "bad_ping"),
            ("ping=", "bad_ping"),
        ] {
            try expectProblem(
                try await session.client.get("\(session.path)/pulses?\(query)"), 400, code,
                detail: String(query.prefix(4)))
        }
        for query in ["only=everything", "only=", "only=pulses,x"] {
            let stream = try await session.client.open("\(session.path)/events?\(query)")
            guard await stream.head.status == 400 else {
                Issue.record("\(query) is a stream")
                continue
            }
            try expectProblem(await stream.response(), 400, "bad_only", detail: "only")
        }
    }

    @Test func `a client that does not accept a stream gets none`() async throws {
        let session = try await sharedServer().session("alerts")
        try expectProblem(
            try await session.client.get(
                "\(session.path)/pulses", [("Accept", "application/json")]),
            406, "not_acceptable", detail: "application/json")
        for accept in ["text/event-stream", "text/*", "*/*", "text/html, text/event-stream;q=0.1"] {
            _ = try await session.open("pulses", [("Accept", accept)])
        }
    }
}
