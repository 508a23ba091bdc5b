import Testing

@Suite("Case 153 — concurrent selections of a session", .timeLimit(.minutes(60)))
struct SelectionTests {
    @Test func `the 257th selection is a stream that names the limit and ends`() async throws {
        let session = try await sharedServer().session("alerts")
        var streams: [EventStream] = []
        for number in 1...256 {
            streams.append(try await session.open("states?select=/x\(number)"))
            #expect(try await streams[number - 1].next().name == "snapshot")
        }
        let surplus = try await session.open("pulses")
        guard case .retry = try await surplus.nextItem() else {
            Issue.record("no retry comes first")
            return
        }
        let problem = try await surplus.next()
        #expect(problem.name == "problem")
        #expect(try JSONValue(text: problem.data)["code"] == "too_many_selections")
        #expect(problem.data.contains("256"))
        #expect(try await surplus.rest() == [])
        #expect(await surplus.endedCleanly)
        // One that is being read already.
        #expect(try await session.follow("states?select=/x7").head.status == 200)
        try await session.alert("sentinel")
        #expect(try await session.read()["version"] == 1)
    }
}
