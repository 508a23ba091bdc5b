import Testing

@Suite("Events name the key of their request over HTTP", .timeLimit(.minutes(60)))
struct CauseTests {
    @Test func `a client finds its own actions among the events`() async throws {
        let session = try await sharedServer().session("alerts")
        let stream = try await session.follow("events?only=pulses,states")
        let key = #"mine-"\!~"#
        var request = Request.json(
            "POST", "\(session.path)/actions", #"{"type":"alert","message":"mine"}"#)
        request.fields.append(("Idempotency-Key", key))
        let receipt = try await session.client.send(request)
        #expect(receipt.status == 200)
        try await session.alert("another's")
        #expect(try await session.client.send(request)["Idempotency-Replayed"] == "true")
        let other = try await session.alert("last")
        var events: [Event] = []
        while events.last?.id != other.position { events.append(try await stream.next()) }
        let position = try #require(try receipt.json["position"]?.string)
        let caused = events.filter { $0.cause != nil }
        #expect(caused.allSatisfy { $0.cause == key })
        #expect(caused.first { $0.name == "alertMessage" }?.data == #""mine""#)
        #expect(caused.last?.id == position)
        #expect(events.filter { $0.data.contains("mine") && $0.cause == nil } == [])
        #expect(events.filter { !$0.data.contains("mine") && $0.cause != nil } == [])
        for case .unknown(let field) in await stream.allItems { Issue.record("a field \(field)") }
    }
}
