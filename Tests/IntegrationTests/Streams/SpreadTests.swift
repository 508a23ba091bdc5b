import Glibc
import Testing

@Suite("ADR-0059 — many readers of a session share the loops", .timeLimit(.minutes(60)))
struct SpreadTests {
    /// More than from which on readers are moved.
    private static let count = 300

    private func crowd(_ session: SessionHandle) async throws -> [EventStream] {
        var streams: [EventStream] = []
        while streams.count < Self.count {
            streams += try await withThrowingTaskGroup(of: EventStream.self) { group in
                for _ in 0..<50 { group.addTask { try await session.follow("pulses") } }
                var opened: [EventStream] = []
                for try await stream in group { opened.append(stream) }
                return opened
            }
        }
        return streams
    }

    /// Returns when half of them are on the other loop.
    private func untilSpread(_ client: Client) async throws {
        while try await client.metric("subscribers_moved") != Self.count / 2 {
            try Task.checkCancellation()
        }
    }

    private func check(
        _ messages: ClosedRange<Int>, _ session: SessionHandle, on streams: [EventStream]
    ) async throws {
        let expected = messages.map {
            Event(
                name: "alertMessage", data: "\"message \($0)\"",
                id: "\(session.generation).\($0)")
        }
        for stream in streams { #expect(try await stream.next(expected.count) == expected) }
    }

    @Test func `half of them are on the other loop, and all get the same events`() async throws {
        try await withServer(.server, "--loops", "2") { server in
            let client = server.client()
            let session = try await client.session("alerts")
            let streams = try await crowd(session)
            for number in 1...5 { try await session.alert("message \(number)") }
            try await untilSpread(client)
            #expect(try await client.metric("subscribers") == Self.count)
            for number in 6...20 { try await session.alert("message \(number)") }
            try await check(1...20, session, on: streams)
            _ = try await client.delete(session.path)
            for stream in streams {
                #expect(try await stream.next().name == "end")
                #expect(try await stream.rest().isEmpty)
                #expect(await stream.endedCleanly)
            }
            while try await client.metric("subscribers") != 0 { try Task.checkCancellation() }
            #expect(try await client.metric("subscribers_moved") == 0)
        }
    }

    @Test func `with one loop nothing moves`() async throws {
        try await withServer(.server, "--loops", "1") { server in
            let client = server.client()
            let session = try await client.session("alerts")
            let streams = try await crowd(session)
            for number in 1...3 { try await session.alert("message \(number)") }
            try await check(1...3, session, on: streams)
            #expect(try await client.metric("subscribers_moved") == 0)
        }
    }

    @Test func `the session sleeps while it is read on both loops, and wakes for its next event`()
        async throws
    {
        try await withJournal { journal in
            let server = try await journal.start("--session-idle", "200ms", "--loops", "2")
            let client = server.client()
            let session = try await client.session("alerts")
            let streams = try await crowd(session)
            try await untilSpread(client)
            for round in 0..<3 {
                while try await client.metric("sessions") != 0 { try Task.checkCancellation() }
                #expect(try await client.metric("sessions_asleep") == 1)
                try await session.alert("message \(round + 1)")
            }
            try await check(1...3, session, on: streams)
            #expect(try await client.metric("subscribers_lagged_total") == 0)
        }
    }

    @Test func `clients that leave are counted on both loops`() async throws {
        try await withServer(.server, "--loops", "2", "--subscriber-limit", "300") { server in
            let client = server.client()
            let session = try await client.session("alerts")
            let streams = try await crowd(session)
            try await untilSpread(client)
            let refused = try await client.open("\(session.path)/pulses")
            #expect(try await refused.next().name == "problem")
            for stream in streams { await stream.close() }
            while try await client.metric("subscribers") != 0 {
                try await session.alert("who is there?")
            }
            let again = try await session.follow("pulses")
            let last = try await session.alert("here")
            #expect(try await again.next().id == last.position)
        }
    }

    @Test func `after a crash all of them resume`() async throws {
        try await withJournal { journal in
            let server = try await journal.start("--loops", "2")
            let session = try await server.client().session("alerts")
            let streams = try await crowd(session)
            try await untilSpread(server.client())
            for number in 1...3 { try await session.alert("message \(number)") }
            try await check(1...3, session, on: streams)
            server.signal(SIGKILL)
            for stream in streams { _ = try? await stream.rest() }
            _ = try await server.exit()
            let second = try await journal.start("--loops", "2")
            let later = session.on(second)
            try await later.alert("message 4")
            for stream in streams.prefix(20) {
                let again = try await later.open(
                    "pulses", [("Last-Event-ID", await stream.lastID)])
                #expect(try await again.next().data == #""message 4""#)
            }
        }
    }

    @Test func `a drain ends the streams of both loops in order`() async throws {
        try await withServer(.server, "--loops", "2") { server in
            let client = server.client()
            let session = try await client.session("alerts")
            let streams = try await crowd(session)
            try await untilSpread(client)
            try await session.alert("message 1")
            try await check(1...1, session, on: streams)
            server.signal(SIGTERM)
            for stream in streams {
                #expect(try await stream.rest().isEmpty)
                #expect(await stream.endedCleanly)
                guard case .retry? = await stream.allItems.last else {
                    Issue.record("no retry at the end")
                    continue
                }
            }
            #expect(try await server.exit() == .code(0))
        }
    }

    /// No client reads until the replica has dropped what they lack.
    @Test func `slow readers get what they lack from the session's loop`() async throws {
        try await withJournal { journal in
            let server = try await journal.start("--loops", "2")
            let client = server.client()
            let session = try await client.session("alerts")
            var readers: [RawConnection] = []
            for _ in 0..<Self.count {
                let reader = try RawConnection(port: server.port, receiveBufferBytes: 4_096)
                await reader.send("GET \(session.path)/pulses HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = await reader.receive(until: "snapshot")
                readers.append(reader)
            }
            try await untilSpread(client)
            var sent = 0
            while try await client.metric("subscribers_stalled") != Self.count {
                sent += 1
                try await session.alert(Self.message(sent))
            }
            for _ in 0..<30 {
                sent += 1
                try await session.alert(Self.message(sent))
            }
            for reader in readers.prefix(3) + readers.suffix(3) {
                let received = await Self.receive(sent, from: reader)
                let text = String(decoding: received.bytes, as: UTF8.self)
                let numbers = text.split(separator: ";").dropLast().compactMap { piece in
                    piece.lastIndex(of: "x").flatMap { Int(piece[$0...].dropFirst()) }
                }
                #expect(numbers == Array(1...sent))
                #expect(!text.contains("event: reset"))
            }
            #expect(try await client.metric("subscribers_lagged_total") ?? 0 > 0)
        }
    }

    // Its connection had the deadline of one that accepts nothing, as while its session was loaded.
    @Test func `a reader that lacks events of a sleeping session has heartbeats`() async throws {
        // Which of two readers is moved depends on which has got everything first.
        while try await !secondLags() { try Task.checkCancellation() }
    }

    /// Returns whether the second reader was moved; if so, it has asked the sleeping
    /// session's loop.
    private func secondLags() async throws -> Bool {
        var isMoved = false
        try await withJournal { journal in
            let server = try await journal.start(
                "--loops", "2", "--session-idle", "200ms", "--heartbeat", "200ms",
                "--stall-timeout", "10m", "--spread-from", "2")
            let client = server.client()
            let session = try await client.session("alerts")
            var readers: [RawConnection] = []
            for _ in 0..<2 {
                let reader = try RawConnection(port: server.port, receiveBufferBytes: 4_096)
                await reader.send("GET \(session.path)/pulses HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = await reader.receive(until: "snapshot")
                readers.append(reader)
            }
            while try await client.metric("subscribers_moved") != 1 { try await session.alert("x") }
            var sent = 0
            while try await client.metric("subscribers_stalled") != 2 {
                sent += 1
                try await session.alert(Self.message(sent))
            }
            for _ in 0..<30 {
                sent += 1
                try await session.alert(Self.message(sent))
            }
            // If it has stayed, the session sleeps when it has got everything.
            await Self.receive(sent, from: readers[0])
            while try await client.metric("sessions") != 0 {
                if try await client.metric("subscribers_lagged_total") != 0 { return }
            }
            await Self.receive(sent, from: readers[1])
            #expect(try await client.metric("subscribers_lagged_total") == 1)
            let received = await readers[1].receive(until: ": ping")
            #expect(received.ending == nil)
            isMoved = true
        }
        return isMoved
    }

    /// Reads until this message has come.
    @discardableResult
    private static func receive(
        _ number: Int, from reader: RawConnection
    ) async -> RawConnection.Received {
        let last = "\(number);"
        return await reader.receive { bytes in
            String(decoding: bytes.suffix(200), as: UTF8.self).contains(last)
        }
    }

    private static func message(_ number: Int) -> String {
        String(repeating: "x", count: 20_000) + "\(number);"
    }
}
