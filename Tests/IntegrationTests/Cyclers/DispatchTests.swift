import Testing

@Suite("Cases 122 to 132 — dispatches", .timeLimit(.minutes(60)))
struct DispatchTests {
    @Test func `case 122: a dispatch is logged from its call to its end, with its location`()
        async throws
    {
        let session = try await sharedFixtures().session("cycle")
        let log = try await session.followLog()
        try await session.post(#"{"type":"increment"}"#)
        let entries = try await log.entries(7)
        #expect(
            entries.compactMap { $0["kind"]?.string } == [
                "action.received", "cycler.willDispatch", "cycler.willMutate", "cycler.didChange",
                "mutation", "cycler.didMutate", "cycler.didDispatch",
            ])
        let call = try #require(entries[1]["content"])
        #expect(call["name"] == "increment" && call["description"] == "adds one")
        #expect(call["file"]?.string?.hasSuffix("Cycle.swift") == true)
        #expect(call["function"] == "receive(_:)")
        #expect(try #require(call["line"]?.integer) > 0)
        #expect(entries[6]["content"] == call)
        #expect(entries[2]["content"]?["name"] == "count")
        #expect(entries[2]["content"]?["dispatch"] == call["dispatch"])
        #expect(entries[5]["content"]?["version"] == 1)
        #expect(entries.allSatisfy { $0["action"] == 1 })
    }

    @Test func `cases 116, 123: a throwing commit is logged, and its dispatch has the error`()
        async throws
    {
        let session = try await sharedFixtures().session("cycle")
        let log = try await session.followLog()
        _ = try await session.client.post(
            "\(session.path)/actions", #"{"type":"fail","a":9}"#)
        let entries = try await log.entries(6)
        #expect(
            entries.compactMap { $0["kind"]?.string } == [
                "action.received", "cycler.willDispatch", "cycler.willMutate", "cycler.didMutate",
                "cycler.didDispatch", "action.rejected",
            ])
        #expect(entries[3]["content"]?["outcome"] == "failed")
        for index in 3...5 { #expect(entries[index]["content"]?["error"] == "Fault()") }
    }

    @Test func `wait=settled waits for what a Cycler's action waits for`() async throws {
        let session = try await sharedFixtures().session("cycle")
        let log = try await session.followLog()
        async let waiting = session.post(
            #"{"type":"hold","name":"x"}"#, query: SessionHandle.settled)
        while try await log.entries(1)[0]["kind"] != "effect.started" {}
        try await session.post(#"{"type":"release","name":"x"}"#)
        #expect(try await waiting.version == 1)
    }

    @Test func `case 126: the sample counter reports values beyond ten, like the seed's`()
        async throws
    {
        let session = try await sharedServer().session("counter")
        let activities = try await session.open("activities")
        for number in [10, 1, 1] {
            try await session.post(#"{"type":"increment","number":\#(number)}"#)
        }
        try await session.post(#"{"type":"decrement","number":2}"#)
        #expect(try await session.state() == ["count": 10])
        let most = Int.max
        try await session.post(#"{"type":"increment","number":\#(most)}"#)
        let told = try await activities.next(3)
        #expect(told.allSatisfy { $0.name == "didReachBigNumber" })
        #expect(told.map(\.id) == ["3", "5", "8"].map { "\(session.generation).\($0)" })
        #expect(try await session.state() == ["count": .integer(.max)])
        #expect(try await session.post(#"{"type":"increment","number":1}"#).version == 5)
    }

    @Test func `case 130: a session that is deleted while an action waits is gone`() async throws {
        try await withServer(.fixtures) { server in
            let session = try await server.client().session("cycle")
            let events = try await session.open("events")
            _ = try await events.next()
            try await session.post(#"{"type":"hold","name":"x"}"#)
            #expect(try await session.client.delete(session.path).status == 204)
            #expect(try await events.rest().map(\.name) == ["end"])
            #expect(try await session.client.get(session.path).status == 410)
            // It is notified of its cancellation, and the process lives.
            while !server.log.present.errors.contains("cancelled x") {
                #expect(try await session.client.get("/livez").status == 200)
            }
            #expect(try await session.client.get("/livez").status == 200)
        }
    }
}
