import Glibc
import Testing

@Suite("Contract §3.2 — how a stream lives and ends", .timeLimit(.minutes(60)))
struct LifeTests {
    @Test func `case 42: a heartbeat is a comment, and leaves the last id alone`() async throws {
        try await withServer(.server, "--heartbeat", "200ms") { server in
            let session = try await server.client().session("alerts")
            let stream = try await session.follow("pulses")
            let position = try await session.alert("Hello").position
            _ = try await stream.next()
            var beats = 0
            while beats < 3 {
                guard case .comment = try await stream.nextItem() else {
                    Issue.record("something other than a comment")
                    return
                }
                beats += 1
                #expect(await stream.lastID == position)
            }
            try await session.alert("after")
            #expect(try await stream.next().data == #""after""#)
        }
    }

    @Test func `ping=events makes the heartbeat an event without an id`() async throws {
        try await withServer(.server, "--heartbeat", "200ms") { server in
            let session = try await server.client().session("alerts")
            let stream = try await session.open("pulses?ping=events")
            let snapshot = try await stream.next()
            for _ in 1...3 {
                let event = try await stream.next()
                #expect(event.name == "ping")
                #expect(event.id == snapshot.id)
            }
            let text = String(decoding: await stream.bytes, as: UTF8.self)
            #expect(text.components("id:") == 1)
        }
    }

    @Test func `an old connection closes in order, with a retry, and is resumed`() async throws {
        try await withServer(.server, "--connection-age", "400ms", "--heartbeat", "10s") { server in
            let session = try await server.client().session("alerts")
            let first = try await session.follow("pulses")
            try await session.alert("before")
            var seen = try await first.rest()
            #expect(await first.endedCleanly)
            guard case .retry(let milliseconds)? = await first.allItems.last else {
                Issue.record("no retry at the end")
                return
            }
            #expect((1_500...2_500).contains(milliseconds))
            try await session.alert("between")
            var (lastID, isPosted) = (await first.lastID, false)
            // On a busy machine a connection is old before the next message is posted.
            while seen.count < 3 {
                let again = try await session.open("pulses", [("Last-Event-ID", lastID)])
                if !isPosted { try await session.alert("after") }
                isPosted = true
                let events = try await again.rest()
                lastID = events.last?.id ?? lastID
                seen += events
            }
            #expect(seen.map(\.data) == [#""before""#, #""between""#, #""after""#])
        }
    }

    @Test func `retry and age are settings`() async throws {
        try await withServer(.server, "--retry", "100ms") { server in
            let session = try await server.client().session("alerts")
            guard case .retry(let time) = try await session.open("pulses").nextItem() else {
                Issue.record("no retry")
                return
            }
            #expect((75...125).contains(time))
        }
    }

    @Test(arguments: ["pulses", "activities", "states", "events"])
    func `case 87: the end of a session is an event, then the connection ends`(
        path: String
    ) async throws {
        let session = try await sharedServer().session("chat")
        let stream = try await session.open(path)
        try await session.post(#"{"type":"say","author":"ada","text":"last words"}"#)
        #expect(try await session.client.delete(session.path).status == 204)
        let events = try await stream.rest()
        #expect(events.last?.name == "end")
        #expect(events.count(where: { $0.name == "end" }) == 1)
        #expect(await stream.endedCleanly)
        #expect(try await session.client.get("\(session.path)/\(path)").status == 204)
    }

    @Test func `case 87: running effects are cancelled at the end`() async throws {
        let fixtures = try await Servers.shared.process(.fixtures)
        let session = try await fixtures.client().session("held")
        try await session.post(#"{"type":"hold","text":"\#(session.id)"}"#)
        #expect(try await fixtures.client().delete(session.path).status == 204)
        try await fixtures.log.wait { $0.errors.contains("cancelled \(session.id)") }
    }

    @Test func `a client that waits for effects of a session that ends gets a reply`() async throws
    {
        let session = try await sharedFixtures().session("held")
        let states = try await session.follow("states")
        async let waiting = session.client.post(
            "\(session.path)/actions\(SessionHandle.settled)", #"{"type":"hold","text":"x"}"#)
        _ = try await states.next()
        _ = try await session.client.delete(session.path)
        try expectProblem(try await waiting, 410, "session_ended")
    }

    @Test func `case 30: a reader that leaves is not counted, and the others continue`()
        async throws
    {
        try await withServer(.server, "--heartbeat", "200ms") { server in
            let session = try await server.client().session("alerts")
            let staying = try await session.follow("pulses")
            let leaving = [
                try await session.follow("pulses"), try await session.follow("pulses"),
            ]
            #expect(try await server.client().metric("subscribers") == 3)
            for stream in leaving { await stream.close() }
            // A disconnection is noticed at the next write at the latest: a heartbeat.
            while try await server.client().metric("subscribers") != 1 {
                while case .event = try await staying.nextItem() {}
            }
            try await session.alert("still here")
            #expect(try await staying.next().data == #""still here""#)
        }
    }
}

@Suite("Case 134 — readers that do not read", .timeLimit(.minutes(60)))
struct StalledReaderTests {
    /// Large enough to fill both kernels' buffers soon.
    private let text = String(repeating: "x", count: 200_000)

    private func stall(_ server: ServerProcess, _ session: SessionHandle) async throws
        -> RawConnection
    {
        let connection = try RawConnection(port: server.port, receiveBufferBytes: 4_096)
        await connection.send("GET \(session.path)/pulses HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = await connection.receive(until: "snapshot")
        return connection
    }

    @Test func `a reader that accepts no byte is closed; others and posts continue`() async throws {
        // Without a deadline of its own, it would be found at the next heartbeat.
        try await withServer(.server, "--stall-timeout", "1s", "--heartbeat", "10m") { server in
            let session = try await server.client().session("alerts")
            let stalled = try await stall(server, session)
            let reading = try await session.follow("pulses")
            for _ in 1...40 {
                try await session.alert(text)
                #expect(try await reading.next().data.utf8.count == text.utf8.count + 2)
            }
            while try await server.client().metric("stalled_total") == 0 {
                // Each iteration asks the server, which has its own clock for this.
                try await session.alert("tick")
                _ = try await reading.next()
            }
            #expect(try await server.client().metric("subscribers") == 1)
            // Its earlier bytes are cut off, never thinned: the stream ends with an error.
            let received = await stalled.receiveAll()
            #expect(received.ending == .failed(ECONNRESET))
        }
    }

    // It had the deadline of a stall, and proxies close what is silent for that long.
    @Test func `a reader that accepts bytes again has heartbeats again`() async throws {
        try await withServer(.server, "--stall-timeout", "10m", "--heartbeat", "200ms") { server in
            let client = server.client()
            let session = try await client.session("alerts")
            let stalled = try await stall(server, session)
            var sent = 0
            while try await client.metric("subscribers_stalled") == 0 {
                sent += 1
                try await session.alert(text + "\(sent);")
            }
            // Its heartbeat is due meanwhile, by the same clock.
            let other = try RawConnection(port: server.port)
            await other.send("GET \(session.path)/pulses HTTP/1.1\r\nHost: a\r\n\r\n")
            for _ in 0..<3 { _ = await other.receive(until: ": ping") }
            let last = "\(sent);"
            _ = await stalled.receive { bytes in
                String(decoding: bytes.suffix(200), as: UTF8.self).contains(last)
            }
            #expect(await stalled.receive(until: ": ping").ending == nil)
        }
    }

    @Test func `a reader that accepts no byte is closed although it sends some`() async throws {
        try await withServer(.server, "--stall-timeout", "1s") { server in
            let session = try await server.client().session("alerts")
            let stalled = try await stall(server, session)
            for _ in 1...40 { try await session.alert(text) }
            // Each byte is sent after the server has answered another client.
            while await stalled.send("x") { _ = try await server.client().get("/livez") }
            #expect(try await server.client().metric("stalled_total") == 1)
        }
    }

    @Test func `a slow reader gets a reset, never a gap`() async throws {
        // It must not be closed, however long the posts take.
        try await withServer(
            .server, "--journal", "memory", "--keep-records", "5", "--stall-timeout", "10m"
        ) { server in
            let session = try await server.client().session("alerts")
            let slow = try await stall(server, session)
            for number in 1...60 { try await session.alert("\(number) \(text)") }
            try await session.alert("sentinel")
            let received = await slow.receive(until: "sentinel")
            var parser = EventParser()
            let events = parser.parse(received.bytes).compactMap {
                if case .event(let event) = $0 { event } else { nil }
            }
            let reset = try #require(events.firstIndex { $0.name == "reset" })
            #expect(events[reset].data == #"{"reason":"trimmed"}"#)
            #expect(events[reset + 1].name == "snapshot")
            // Nothing is missing before the reset, and nothing after it.
            for (index, event) in events[..<reset].enumerated() {
                #expect(event.data.hasPrefix("\"\(index + 1) "))
                #expect(event.id == "\(session.generation).\(index + 1)")
            }
        }
    }

    @Test func `many stalled readers cost the others nothing`() async throws {
        try await withServer(.server, "--keep-bytes", "1000000") { server in
            let session = try await server.client().session("alerts")
            var stalled: [RawConnection] = []
            for _ in 1...50 { stalled.append(try await stall(server, session)) }
            let reading = try await session.follow("pulses")
            let before = try server.residentKilobytes()
            for _ in 1...100 {
                try await session.alert(text)
                _ = try await reading.next()
            }
            let growth = try server.residentKilobytes() - before
            // 100 × 200 KB were sent; a queue for each reader would hold a gigabyte.
            #expect(growth < 100_000, "grew by \(growth) kB")
            withExtendedLifetime(stalled) {}
        }
    }
}

extension String {
    /// How often the text occurs in it.
    fileprivate func components(_ text: String) -> Int {
        split(separator: text, omittingEmptySubsequences: false).count - 1
    }
}
