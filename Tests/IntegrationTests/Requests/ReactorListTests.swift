import Testing

@Suite("Contract §3 — the list of reactors", .timeLimit(.minutes(60)))
struct ReactorListTests {
    @Test func `every reactor is listed with its pulses, activities and examples`() async throws {
        let reactors = try #require(
            try await sharedServer().get("/v1/reactors").json["reactors"]?.array)
        let names = [
            "alerts", "counter", "job", "chat", "countdown", "conversation", "document",
        ]
        #expect(reactors.compactMap { $0["name"]?.string } == names)
        #expect(reactors[0]["pulses"] == ["alertMessage"])
        #expect(reactors[0]["activities"] == [])
        #expect(
            reactors[0]["examples"] == [
                ["type": "alert", "message": "Hello"], ["type": "doSomeAction"],
            ])
        #expect(reactors[3]["activities"] == ["typing"])
    }

    @Test func `every listed example is an action of its reactor`() async throws {
        let client = try await sharedServer()
        let reactors = try #require(
            try await client.get("/v1/reactors").json["reactors"]?.array)
        for reactor in reactors {
            let session = try await client.session(try #require(reactor["name"]?.string))
            for example in try #require(reactor["examples"]?.array) {
                try await session.post(try example.text)
            }
        }
    }

    @Test func `every reactor has a schema of its actions, its state and each of its events`()
        async throws
    {
        for client in [try await sharedServer(), try await sharedFixtures()] {
            let reactors = try #require(
                try await client.get("/v1/reactors").json["reactors"]?.array)
            #expect(!reactors.isEmpty)
            for reactor in reactors {
                let schemas = try #require(reactor["schemas"])
                #expect(schemas["state"]?["type"] == "object", "\(reactor)")
                // One fixture has a struct for its actions.
                let action = schemas["action"]?["oneOf"] ?? schemas["action"]?["properties"]
                #expect(action != nil, "\(reactor)")
                for pulse in try #require(reactor["pulses"]?.array) {
                    #expect(schemas["pulses"]?[try #require(pulse.string)] != nil)
                }
                for activity in try #require(reactor["activities"]?.array) {
                    let schema = schemas["activities"]?[try #require(activity.string)]
                    #expect(schema?["properties"]?["type"] == ["const": activity])
                }
            }
        }
    }
}
