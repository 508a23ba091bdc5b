import Testing

@Suite("A session's runtime over HTTP", .timeLimit(.minutes(60)))
struct RuntimeTests {
    @Test func `a running effect is shown with the number that the log has`() async throws {
        let session = try await sharedServer().session("job")
        let log = try await session.followLog()
        let stream = try await session.follow("pulses")
        let before = try await session.client.get("\(session.path)/runtime")
        #expect(before.status == 200)
        #expect(before["Content-Type"] == "application/json")
        #expect(before["Cache-Control"] == "no-cache")
        #expect(before["Durability"] == ServerVariant.current.durability)
        #expect(
            try before.json == [
                "awake": true, "subscribers": 2, "effects": [], "sources": [], "stubbed": false,
                "timers": [],
                "kept": [
                    "from": ["version": 0, "position": .string("\(session.generation).0")],
                    "records": 0,
                ],
            ])
        try await session.post(#"{"type":"start","steps":1000}"#)
        let started = try await log.entry("effect.started")
        // The task begins when the reply is sent.
        var runtime = try await session.client.get("\(session.path)/runtime").json
        while runtime["effects"] == [] {
            try Task.checkCancellation()
            runtime = try await session.client.get("\(session.path)/runtime").json
        }
        let effect = try #require(runtime["effects"]?[0])
        #expect(runtime["effects"]?.array?.count == 1)
        #expect(effect["step"] == started["content"]?["step"])
        #expect(effect["id"] == "work")
        #expect(effect["action"] == 1)
        let since = try #require(effect["since"]?.string)
        #expect(since.utf8.count == 24 && since.hasSuffix("Z"))
        #expect(try #require(started["time"]?.string) <= since)
        try await session.post(#"{"type":"cancel"}"#)
        let after = try await session.client.get("\(session.path)/runtime").json
        #expect(after["effects"] == [])
        await stream.close()
    }

    @Test func `sources and the stub are shown`() async throws {
        try await withServer(.fixtures, "--admin", "on") { server in
            let feed = try await server.client().session("feed")
            let runtime = try await feed.client.get("\(feed.path)/runtime").json
            #expect(runtime["sources"] == ["feed"])
            #expect(runtime["stubbed"] == false)
            let response = try await feed.client.put("\(feed.path)/stub", #"{"enabled":true}"#)
            #expect(response.status == 200)
            let stubbed = try await feed.client.get("\(feed.path)/runtime").json
            #expect(stubbed["stubbed"] == true)
        }
    }

    @Test func `a look at a session that sleeps does not wake it`() async throws {
        try await withJournal { journal in
            let server = try await journal.start("--session-idle", "200ms")
            let session = try await server.client().session("alerts")
            let stream = try await session.follow("pulses")
            try await session.alert("Hello")
            _ = try await stream.next()
            let client = server.client()
            while try await client.metric("sessions") != 0 { try Task.checkCancellation() }
            let runtime = try await client.get("\(session.path)/runtime")
            #expect(runtime.status == 200)
            #expect(runtime["Cache-Control"] == "no-cache")
            let records = try #require(runtime.json["kept"]?["records"]?.integer)
            #expect(records > 0)
            #expect(
                try runtime.json == [
                    "awake": false, "subscribers": 1, "effects": [], "sources": [],
                    "stubbed": false, "timers": [],
                    "kept": [
                        "from": ["version": 0, "position": .string("\(session.generation).0")],
                        "records": .integer(records),
                    ],
                ])
            #expect(try await client.metric("sessions") == 0)
            #expect(try await client.send(head(session)).status == 200)
            #expect(try await client.metric("sessions") == 0)
            try await server.murder()
            let again = try await journal.start()
            let asleep = try await again.client().get("\(session.path)/runtime").json
            #expect(asleep["awake"] == false)
            #expect(asleep["subscribers"] == 0)
            #expect(try await again.client().metric("sessions") == 0)
        }
    }

    private func head(_ session: SessionHandle) -> Request {
        Request(method: "HEAD", path: "\(session.path)/runtime")
    }

    @Test(arguments: ["file", "memory"])
    func `a session that is unknown or deleted has none`(journal: String) async throws {
        try await withServer(journal: journal) { server in
            let client = server.client()
            let session = try await client.session("alerts")
            _ = try await client.delete(session.path)
            try expectProblem(
                try await client.get("\(session.path)/runtime"), 410, "session_ended",
                detail: session.id)
            try expectProblem(
                try await client.get("/v1/sessions/none/runtime"), 404, "unknown_session",
                detail: "none")
            try expectProblem(
                try await client.get("/v1/sessions/a.b/runtime"), 400, "bad_session_id",
                detail: "session id")
        }
    }
}
