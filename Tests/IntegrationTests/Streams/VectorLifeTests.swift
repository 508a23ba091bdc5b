import Glibc
import Testing

@Suite("Many sessions on one stream: how it lives and ends", .timeLimit(.minutes(60)))
struct VectorLifeTests {
    @Test func `sessions that sleep wake for the stream, and for their next event`() async throws {
        try await withJournal { journal in
            let server = try await journal.start("--session-idle", "200ms", "--loops", "2")
            let client = server.client()
            let sessions = try await client.sessions(6, of: "alerts")
            for session in sessions { try await session.alert("before") }
            let untilAllSleep = {
                while try await client.metric("sessions") != 0 { try Task.checkCancellation() }
            }
            try await untilAllSleep()
            var reader = VectorReader(sessions.map(\.id))
            let stream = try await reader.open(client, "&only=pulses")
            try await reader.read(stream) { !$0.entries.contains("-") }
            for events in reader.events {
                #expect(events.map(\.data) == [#"{"alertMessage":"before"}"#])
            }
            try await untilAllSleep()
            #expect(try await client.metric("subscribers") == 6)
            for (index, session) in sessions.enumerated() {
                try await session.alert("awake")
                try await reader.read(stream) { $0.entries[index] == session.position(2) }
            }
            await stream.close()
            for session in sessions { try await session.alert("missed") }
            try await untilAllSleep()
            let again = try await reader.open(client, "&only=pulses")
            try await reader.read(again) { $0.entries == sessions.map { $0.position(3) } }
            for events in reader.events {
                #expect(events.dropFirst().map(\.data) == [#""awake""#, #""missed""#])
            }
            // The stream continues at its positions, and wakes no session that has no events for
            // it.
            try await untilAllSleep()
            for session in sessions { try await session.alert("sentinel") }
            try await reader.read(again) { $0.entries == sessions.map { $0.position(4) } }
            for events in reader.events { #expect(events.count == 4) }
        }
    }

    @Test func `after a crash the vector is as good as before`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let sessions = try await first.client().sessions(5, of: "alerts")
            var reader = VectorReader(sessions.map(\.id))
            let stream = try await reader.open(first.client(), "&only=pulses")
            // Each subscription is there, and begins before the first action.
            try await reader.read(stream) { $0.entries == sessions.map { $0.position(0) } }
            for session in sessions { try await session.alert("one") }
            try await reader.read(stream) { $0.entries == sessions.map { $0.position(1) } }
            for session in sessions { try await session.alert("two") }
            try await first.murder()
            let second = try await journal.start()
            for session in sessions { try await session.on(second).alert("three") }
            let again = try await reader.open(second.client(), "&only=pulses", byHeader: true)
            try await reader.read(again) { $0.entries == sessions.map { $0.position(3) } }
            for events in reader.events {
                #expect(events.suffix(3).map(\.data) == [#""one""#, #""two""#, #""three""#])
                #expect(!events.contains { $0.name == "reset" })
            }
        }
    }

    @Test func `a session that cannot be read has a problem, and is tried again`() async throws {
        try await withServer(
            .fixtures, "--subscriber-limit", "1", "--heartbeat", "200ms"
        ) { server in
            let client = server.client()
            let sessions = try await client.sessions(3, of: "pulses")
            let occupant = try await sessions[1].follow("pulses")
            var reader = VectorReader(sessions.map(\.id))
            let stream = try await reader.open(client)
            try await reader.read(stream) { reader in
                reader.entries[0] != "-" && reader.entries[2] != "-" && !reader.events[1].isEmpty
            }
            let problem = try #require(reader.events[1].first)
            #expect(problem.name == "problem")
            #expect(try JSONValue(text: problem.data)["code"] == "too_many_subscribers")
            // It is not over, and has no position.
            #expect(reader.entries[1] == "-")
            await occupant.close()
            try await reader.read(stream) { $0.entries[1] != "-" }
            #expect(reader.events[1].last?.name == "snapshot")
            for (index, session) in sessions.enumerated() {
                try await session.setPair(1)
                try await reader.read(stream) { $0.entries[index] == session.position(1) }
            }
            let text = try await client.get("/metrics").text
            #expect(text.contains(#"reactor_refusals_total{code="too_many_subscribers"}"#))
        }
    }

    @Test func `clients that leave while their sessions are asked leave nothing behind`()
        async throws
    {
        try await withJournal { journal in
            let server = try await journal.start("--session-idle", "200ms", "--loops", "4")
            let client = server.client()
            let sessions = try await client.sessions(20, of: "alerts")
            let path = VectorReader.path(sessions.map(\.id) + ["nobody"])
            for _ in 1...50 {
                let raw = try RawConnection(port: server.port)
                await raw.send("GET \(path)&pulse=alertMessage HTTP/1.1\r\nHost: a\r\n\r\n")
                raw.makeCloseReset()
            }
            // Those whose end was not seen yet are noticed at the next write.
            while try await client.metric("subscribers") != 0 {
                for session in sessions { try await session.alert("who is there?") }
            }
            var reader = VectorReader(sessions.map(\.id))
            let stream = try await reader.open(client)
            try await reader.read(stream) { !$0.entries.contains("-") }
            #expect(try await client.metric("subscribers") == 20)
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a drain ends the streams in order, and what comes later is not lost`(
        signal: Int32
    ) async throws {
        try await withJournal { journal in
            let server = try await journal.start("--loops", "2")
            let client = server.client()
            let sessions = try await client.sessions(10, of: "alerts")
            var streams: [(VectorReader, EventStream)] = []
            for number in 0..<10 {
                var reader = VectorReader(sessions.map(\.id), idsAreOwn: number.isMultiple(of: 2))
                let query = number.isMultiple(of: 2) ? "&only=pulses&ids=own" : "&only=pulses"
                let stream = try await reader.open(client, query)
                try await reader.read(stream) { !$0.entries.contains("-") }
                streams.append((reader, stream))
            }
            // One has stalled: it is cut off in the middle, and delays nothing.
            let stalled = try RawConnection(port: server.port, receiveBufferBytes: 4_096)
            let path = VectorReader.path(sessions.map(\.id))
            await stalled.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = await stalled.receive(until: "/snapshot")
            for session in sessions {
                try await session.alert(String(repeating: "x", count: 400_000))
            }
            // Otherwise an event may be on its way from another loop: then the stream is cut off.
            for index in streams.indices {
                try await streams[index].0.read(streams[index].1) {
                    $0.entries == sessions.map { $0.position(1) }
                }
            }
            server.signal(signal)
            var retries: Set<Int> = []
            for index in streams.indices {
                for event in try await streams[index].1.rest() {
                    streams[index].0.read(.event(event))
                }
                #expect(await streams[index].1.endedCleanly)
                guard case .retry(let time)? = await streams[index].1.allItems.last else {
                    Issue.record("no retry at the end")
                    continue
                }
                retries.insert(time)
            }
            #expect(retries.count > 5)
            #expect(try await server.exit() == .code(0))
            let second = try await journal.start("--loops", "4")
            for session in sessions { try await session.on(second).alert("after") }
            for (reader, _) in streams {
                var reader = reader
                let query = reader.idsAreOwn ? "&only=pulses&ids=own" : "&only=pulses"
                let again = try await reader.open(second.client(), query)
                try await reader.read(again) { $0.entries == sessions.map { $0.position(2) } }
                for events in reader.events {
                    #expect(events.map(\.name) == ["snapshot", "alertMessage", "alertMessage"])
                    #expect(events.last?.data == #""after""#)
                }
            }
        }
    }

    @Test func `an old stream of several closes in order, and is resumed`() async throws {
        try await withServer(
            .fixtures, "--connection-age", "400ms", "--heartbeat", "10s"
        ) { server in
            let client = server.client()
            let sessions = try await client.sessions(4, of: "pulses")
            var reader = VectorReader(sessions.map(\.id))
            for number in 1...3 {
                let stream = try await reader.open(client)
                for event in try await stream.rest() { reader.read(.event(event)) }
                #expect(await stream.endedCleanly)
                for session in sessions { try await session.setPair(number) }
            }
            let stream = try await reader.open(client)
            try await reader.read(stream) { $0.entries == sessions.map { $0.position(3) } }
            for events in reader.events {
                #expect(events.filter { $0.name == "a" }.map(\.data) == ["1", "2", "3"])
            }
        }
    }

    @Test func `heartbeats are between the events, and have no id`() async throws {
        try await withServer(.fixtures, "--heartbeat", "200ms") { server in
            let client = server.client()
            let sessions = try await client.sessions(3, of: "pulses")
            var reader = VectorReader(sessions.map(\.id))
            let stream = try await reader.open(client, "&ping=events")
            try await reader.read(stream) { $0.others.count == 2 && !$0.entries.contains("-") }
            #expect(reader.others.map(\.name) == ["ping", "ping"])
            try await sessions[2].setPair(1)
            try await reader.read(stream) { $0.entries[2] == sessions[2].position(1) }
            let plain = try await client.open(reader.path())
            while true {
                guard case .comment = try await plain.nextItem() else { continue }
                break
            }
        }
    }

    // MARK: Requests

    @Test func `a pulse that no session's reactor has is refused, and only that`() async throws {
        let client = try await sharedFixtures()
        let sessions = [try await client.session("pulses"), try await client.session("passing")]
        let path = VectorReader.path(sessions.map(\.id) + ["nobody"])
        let refused = try await client.get("\(path)&pulse=a&pulse=zz")
        try expectProblem(refused, 404, "unknown_pulse", detail: "zz")
        var reader = VectorReader(sessions.map(\.id) + ["nobody"])
        let stream = try await reader.open(client, "&only=pulses&pulse=b")
        try await reader.read(stream) { !$0.entries.contains("-") }
        try await sessions[1].post(#"{"type":"add","number":1}"#)
        try await sessions[0].setPair(4)
        try await reader.read(stream) { $0.events[0].count == 2 }
        #expect(reader.events[0].map(\.data) == [#"{"b":null}"#, "-4"])
        // None is known where there is no session.
        let nobody = try await client.open(VectorReader.path(["nobody"], "&pulse=zz"))
        #expect(try await nobody.rest().map(\.name) == ["nobody/end"])
    }

    private static let refused: [(query: String, status: Int, code: String)] = [
        ("", 400, "missing_session"), ("?only=pulses", 400, "missing_session"),
        ("?session=a&session=b&session=c&session=d", 400, "too_many_sessions"),
        ("?session=a&session=b&session=a", 400, "repeated_session"),
        ("?session=", 400, "bad_session_id"), ("?session=a/b", 400, "bad_session_id"),
        ("?session=a,b", 400, "bad_session_id"), ("?session=a&select=/x", 400, "unknown_parameter"),
        ("?session=a&ids=all", 400, "bad_ids"), ("?session=a&only=log", 400, "bad_only"),
        ("?session=a&ping=never", 400, "bad_ping"), ("?session=a&from=then", 400, "bad_from"),
    ]

    @Test func `a query that is wrong is refused, by what is wrong with it`() async throws {
        try await withServer(.fixtures, "--stream-sessions", "3") { server in
            let client = server.client()
            for (query, status, code) in Self.refused {
                let response = try await client.get("/v1/events\(query)")
                try expectProblem(response, status, code)
            }
            // As many as permitted, and the limit of a running server can change the next request.
            let stream = try await client.open("/v1/events?session=a&session=b&session=c")
            #expect(try await stream.rest().map(\.name).sorted() == ["a/end", "b/end", "c/end"])
            for method in ["POST", "PUT", "DELETE"] {
                let other = try await client.send(
                    Request(method: method, path: "/v1/events?session=a"))
                #expect(other.status == 405)
                #expect(other["Allow"]?.contains("GET") == true)
            }
            let head = try await client.send(
                Request(method: "HEAD", path: "/v1/events?session=a"))
            #expect(head.status == 200)
            #expect(head["Content-Type"] == "text/event-stream; charset=utf-8")
            let json = try await client.get(
                "/v1/events?session=a", [("Accept", "application/json")])
            #expect(json.status == 406)
        }
    }
}
