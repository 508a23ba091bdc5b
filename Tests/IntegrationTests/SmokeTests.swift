import Testing

@Suite("The rig")
struct SmokeTests {
    @Test func `a server starts and answers`() async throws {
        let client = try await sharedServer()
        let session = try await client.session("alerts")
        let stream = try await session.follow("pulses")
        try await session.alert("Hello")
        #expect(try await stream.next().data == #""Hello""#)
    }
}
