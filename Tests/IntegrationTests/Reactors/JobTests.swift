import Testing

@Suite("The sample reactor job", .timeLimit(.minutes(60)))
struct JobTests {
    @Test func `a job reports every step, then its end`() async throws {
        let session = try await sharedServer().session("job")
        let stream = try await session.follow("pulses")
        try await session.post(#"{"type":"start","steps":3}"#)
        let events = try await stream.next(6)
        #expect(
            events.map { "\($0.name) \($0.data)" } == [
                #"phase "running""#, "progress 0", "progress 1", "progress 2", "progress 3",
                #"phase "finished""#,
            ])
    }

    @Test func `a job that is cancelled makes no further step`() async throws {
        let session = try await sharedServer().session("job")
        let stream = try await session.follow("pulses?pulse=phase")
        try await session.post(#"{"type":"start","steps":1000}"#)
        #expect(try await stream.next().data == #""running""#)
        try await session.post(#"{"type":"cancel"}"#, query: SessionHandle.settled)
        #expect(try await stream.next().data == #""cancelled""#)
        let before = try await session.read()
        try await session.post(#"{"type":"cancel"}"#)
        #expect(try await session.read() == before)
    }

    @Test func `the latest start wins, and startIfIdle waits for idleness`() async throws {
        let session = try await sharedServer().session("job")
        let stream = try await session.follow("pulses?pulse=phase")
        try await session.post(#"{"type":"start","steps":1000}"#)
        try await session.post(#"{"type":"startIfIdle","steps":1}"#)
        #expect(try await session.state()["steps"] == 1_000)
        try await session.post(#"{"type":"start","steps":1}"#)
        let events = try await stream.next(3)
        #expect(events.map(\.data) == [#""running""#, #""running""#, #""finished""#])
        #expect(try await session.state()["progress"] == 1)
    }
}
