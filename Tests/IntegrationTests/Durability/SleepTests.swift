import Glibc
import Testing

@Suite("Case 138 — an idle session sleeps and wakes unchanged", .timeLimit(.minutes(60)))
struct SleepTests {
    /// Returns when no session of the server is in memory. Checking does not wake any.
    private func untilAllSleep(_ server: ServerProcess) async throws {
        let client = server.client()
        while try await client.metric("sessions") != 0 { try Task.checkCancellation() }
    }

    @Test func `a session with a connected reader sleeps, and its waking event is sent`()
        async throws
    {
        try await withJournal { journal in
            let server = try await journal.start("--session-idle", "200ms")
            let session = try await server.client().session("alerts")
            let stream = try await session.follow("pulses")
            let states = try await session.follow("states")
            try await session.alert("before")
            _ = try await stream.next()
            _ = try await states.next()
            try await untilAllSleep(server)
            #expect(try await server.client().metric("subscribers") == 2)

            let receipt = try await session.alert("after")
            let event = try await stream.next()
            #expect(event.data == #""after""#)
            #expect(event.id == receipt.position)
            #expect(receipt.version == 2)
            #expect(try await states.next().id == receipt.position)
        }
    }

    @Test func `a woken session has the same version, and a resumed reader gets no repeats`()
        async throws
    {
        try await withJournal { journal in
            let server = try await journal.start("--session-idle", "200ms")
            let session = try await server.client().session("alerts")
            let seen = try await session.alert("a")
            try await session.alert("b")
            let before = try await session.read()
            try await untilAllSleep(server)
            #expect(try await session.read() == before)
            try await untilAllSleep(server)

            let stream = try await session.open("pulses", [("Last-Event-ID", seen.position)])
            #expect(try await stream.next().data == #""b""#)
            try await untilAllSleep(server)
            try await session.alert("sentinel")
            #expect(try await stream.next().data == #""sentinel""#)
        }
    }

    @Test func `a key is known to a session that slept`() async throws {
        try await withJournal { journal in
            let server = try await journal.start("--session-idle", "200ms")
            let session = try await server.client().session("alerts")
            var request = Request.json(
                "POST", "\(session.path)/actions", #"{"type":"alert","message":"once"}"#)
            request.fields.append(("Idempotency-Key", "k1"))
            let answer = try await session.client.send(request)
            try await untilAllSleep(server)
            let repeated = try await session.client.send(request)
            #expect(repeated["Idempotency-Replayed"] == "true")
            #expect(repeated.body == answer.body)
        }
    }

    @Test func `a session whose effect runs stays awake`() async throws {
        try await withJournal { journal in
            let server = try await journal.start("--session-idle", "200ms")
            let job = try await server.client().session("job")
            let other = try await server.client().session("alerts")
            try await other.alert("x")
            try await job.post(#"{"type":"start","steps":12}"#, query: SessionHandle.settled)
            #expect(try await job.state()["phase"] == "finished")
            #expect(try await job.state()["progress"] == 12)
            try await untilAllSleep(server)
            #expect(try await job.state()["progress"] == 12)
        }
    }
}
