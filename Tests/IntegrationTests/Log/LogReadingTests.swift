import Testing

@Suite("Contract §3 — how the action log is read", .timeLimit(.minutes(60)))
struct LogReadingTests {
    @Test func `pages and stream show the same log, and next leads through all of it`() async throws
    {
        let session = try await sharedServer().session("chat")
        _ = try await session.entries()
        for number in 1...20 {
            try await session.post(#"{"type":"say","author":"ada","text":"\#(number)"}"#)
            try await session.post(#"{"type":"typing","author":"ada"}"#)
        }
        let all = try await session.entries()
        #expect(all.count == 80)
        let stream = try await session.openLog("?from=start")
        #expect(try await stream.entries(80) == all)
        var walked: [JSONValue] = []
        var query = "limit=7"
        while true {
            let page = try await session.client.get("\(session.path)/log?\(query)").json
            walked += try #require(page["entries"]?.array)
            guard let next = page["next"]?.string else { break }
            query = "limit=7&after=\(next)"
        }
        #expect(walked == all)
    }

    @Test func `a stream resumes after any entry, including a note`() async throws {
        let session = try await sharedServer().session("alerts")
        let first = try await session.followLog()
        try await session.alert("a")
        try await session.alert("b")
        let events = try await first.next(4)
        #expect(
            events.map(\.id) == ["1.1", "1", "2.1", "2"].map { "\(session.generation).\($0)" })
        for (index, event) in events.enumerated() {
            let again = try await session.openLog("", [("Last-Event-ID", event.id)])
            try await session.alert("c")
            let rest = try await again.next(4 - index)
            #expect(rest.prefix(3 - index).map(\.id) == events.dropFirst(index + 1).map(\.id))
        }
    }

    @Test func `a position that can't be resumed is a reset, on the stream and on a page`()
        async throws
    {
        let session = try await sharedServer().session("alerts")
        try await session.alert("a")
        for (after, reason) in [
            ("nonsense", "malformed"), ("zzzzzzzz.1", "generation"),
            ("\(session.generation).90", "ahead"),
            ("\(session.generation).90.1", "ahead"),
        ] {
            let stream = try await session.openLog("?after=\(after)")
            let reset = try await stream.next()
            #expect(reset.name == "reset")
            #expect(reset.data == #"{"reason":"\#(reason)"}"#)
            try await session.alert("b")
            #expect(try await stream.next(2).map(\.name) == ["action.received", "mutation"])
            let page = try await session.client.get("\(session.path)/log?after=\(after)").json
            #expect(page["reset"] == ["reason": .string(reason)])
            let first = page["entries"]?.array?.first { $0["kind"] == "mutation" }
            #expect(first?["position"] == .string("\(session.generation).1"))
        }
    }

    @Test func `the opening, the heartbeat and the end are those of every stream`() async throws {
        try await withServer(.server, "--heartbeat", "50ms") { server in
            let session = try await server.client().session("alerts")
            let stream = try await session.openLog("?ping=events")
            #expect(await stream.head["Content-Type"] == "text/event-stream; charset=utf-8")
            guard case .retry = try await stream.nextItem() else {
                Issue.record("no retry")
                return
            }
            #expect(try await stream.nextItem() == .priming(session.created))
            #expect(try await stream.next().name == "ping")
            #expect(try await session.client.delete(session.path).status == 204)
            #expect(try await stream.rest().last?.name == "end")
            #expect(
                try await session.client.get(
                    "\(session.path)/log", [("Accept", "text/event-stream")]
                ).status == 204)
            try expectProblem(
                try await session.client.get("\(session.path)/log"), 410, "session_ended")
        }
    }

    @Test func `a trimmed position is reported as such`() async throws {
        try await withServer(.server, "--journal", "memory", "--keep-records", "10") { server in
            let session = try await server.client().session("alerts")
            _ = try await session.entries()
            for number in 1...30 { try await session.alert("\(number)") }
            let page = try await session.client.get(
                "\(session.path)/log?after=\(session.generation).1"
            ).json
            #expect(page["reset"] == ["reason": "trimmed"])
            #expect(try #require(page["entries"]?.array).count <= 20)
            let stream = try await session.openLog("", [("Last-Event-ID", session.created)])
            #expect(try await stream.next().data == #"{"reason":"trimmed"}"#)
        }
    }

    @Test func `times are UTC with milliseconds, and never decrease`() async throws {
        let session = try await sharedServer().session("alerts")
        for number in 1...5 { try await session.alert("\(number)") }
        let entries = try await session.entries()
        #expect(entries.count { $0["kind"] == "mutation" } == 5)
        let times = entries.compactMap { $0["time"]?.string }
        #expect(times.count == entries.count)
        #expect(times == times.sorted())
        let form = /20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d\d\dZ/
        #expect(times.allSatisfy { $0.wholeMatch(of: form) != nil })
    }

    @Test func `limits and media types are the documented ones`() async throws {
        let session = try await sharedServer().session("alerts")
        for limit in ["0", "1001", "-1", "x", ""] {
            try expectProblem(
                try await session.client.get("\(session.path)/log?limit=\(limit)"), 400,
                "bad_limit", detail: "limit")
        }
        try expectProblem(
            try await session.client.get("\(session.path)/log", [("Accept", "image/png")]), 406,
            "not_acceptable", detail: "image/png")
        for accept in ["application/json", "*/*", "application/*;q=0.5"] {
            let response = try await session.client.get(
                "\(session.path)/log", [("Accept", accept)])
            #expect(response["Content-Type"] == "application/json")
        }
        try expectProblem(
            try await session.client.get("/v1/sessions/nobody/log"), 404, "unknown_session")
    }
}
