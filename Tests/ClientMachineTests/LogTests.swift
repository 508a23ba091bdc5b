import Testing

@testable import ClientMachine

private let log = LogID(7)

/// A machine whose only stream is that of an action log.
private struct LogClient {
    var client: Client
    var stream: AttemptID

    init(
        from start: LogReading.Start = .start, limit: Int = 100, bytesLimit: Int = 10_000,
        asksForCredentials: Bool = false
    ) throws {
        var limits = ClientLimits()
        limits.bytesInLog = bytesLimit
        client = try Client(asksForCredentials: asksForCredentials, limits: limits)
        var outputs = client.receive(.readLog(log, LogReading(room, from: start, limit: limit)))
        if let asked = outputs.asked.first {
            outputs = client.receive(.credential(asked.id, Credential(authorization: "a")))
        }
        stream = try #require(outputs.streams.first?.id)
        #expect(outputs.streams.count == 1)
    }

    /// Entries `numbers` in one chunk.
    mutating func entries(_ numbers: ClosedRange<UInt64>) -> [Output] {
        client.bytes(stream, numbers.map { block("mutation", at($0).text, "\($0)") }.joined())
    }

    mutating func read(_ entries: Int, bytes: Int = 0) -> [Output] {
        client.receive(.logRead(log, LogAmount(entries: entries, bytes: bytes)))
    }

    /// The stream that continues, opened.
    mutating func resume(_ outputs: [Output]) throws -> String {
        let next = try #require(outputs.streams.first)
        #expect(outputs.streams.count == 1)
        stream = next.id
        _ = client.head(stream)
        return next.request.target
    }
}

extension [Output] {
    /// Deliveries of the log, as `mutation@3=data`.
    fileprivate var entries: [String] {
        compactMap { output in
            guard case .deliverLog(log, let delivery) = output else { return nil }
            return switch delivery {
            case .entry(let event):
                "\(event.name)@\(event.position.text.dropFirst(9))=\(String(decoding: event.data, as: UTF8.self))"
            case .reset(let reason): "reset \(reason)"
            case .ended(let reason): "ended \(reason)"
            case .failed(let problem): "failed \(problem.code)"
            }
        }
    }
}

@Suite("an action log is read once and in order", .timeLimit(.minutes(60)))
struct LogTests {
    @Test(arguments: [
        (LogReading.Start.now, "from=now"), (.start, "from=start"),
        (.after(at(3, part: 2)), "after=aaaaaaaa.3.2"),
    ])
    func `a log begins where its reader wants`(
        _ start: LogReading.Start, _ query: String
    ) throws {
        var client = try Client()
        let outputs = client.receive(.readLog(log, LogReading(room, from: start, limit: 1)))
        let stream = try #require(outputs.streams.first)
        #expect(stream.request.target == "/v1/sessions/room/log?" + query)
        // Pages are JSON, and the stream is asked for.
        #expect(stream.request.value("Accept") == "text/event-stream")
    }

    @Test
    func `a connection that is cut resumes after the last whole entry, and drops repetitions`()
        throws
    {
        var log = try LogClient()
        _ = log.client.head(log.stream)
        let first =
            block("action.received", at(1, part: 1).text, "a") + block("mutation", at(1).text, "b")
        #expect(
            log.client.bytes(log.stream, first + "event: mutation\nid: aaaaaaaa.2\n").entries
                == ["action.received@1.1=a", "mutation@1=b"])
        let ended = log.client.receive(.streamEnded(log.stream, failure: "cut"))
        #expect(ended.streams.isEmpty)
        #expect(try log.resume(log.client.wait(.milliseconds(250))).hasSuffix("?after=aaaaaaaa.1"))
        #expect(log.entries(1...2).entries == ["mutation@2=2"])
        // An id alone is a position to resume from, too.
        _ = log.client.bytes(log.stream, "id: aaaaaaaa.4.2\n\n")
        _ = log.client.receive(.streamEnded(log.stream, failure: "cut"))
        #expect(try log.resume(log.client.wait(.seconds(30))).hasSuffix("?after=aaaaaaaa.4.2"))
    }

    @Test func `a reset is an element, and the log continues after it`() throws {
        var log = try LogClient(from: .after(at(1)))
        _ = log.client.head(log.stream)
        let reset = block("reset", "bbbbbbbb.9", #"{"reason":"generation"}"#)
        let entry = block("mutation", "bbbbbbbb.10", "x")
        #expect(
            log.client.bytes(log.stream, reset + entry).entries
                == ["reset generation", "mutation@10=x"])
        _ = log.client.receive(.streamEnded(log.stream, failure: "cut"))
        #expect(try log.resume(log.client.wait(.seconds(30))).hasSuffix("?after=bbbbbbbb.10"))
    }

    @Test func `a reader without room has no connection, and misses nothing`() throws {
        var log = try LogClient(limit: 4)
        _ = log.client.head(log.stream)
        let full = log.entries(1...9)
        #expect(full.entries == (1...4).map { "mutation@\($0)=\($0)" })
        #expect(full.closed == [log.stream])
        #expect(log.client.wait(.seconds(1_000)).streams.isEmpty)
        #expect(log.client.receive(.wake).streams.isEmpty)
        #expect(log.read(1).streams.isEmpty)
        #expect(try log.resume(log.read(1)).hasSuffix("?after=aaaaaaaa.4"))
        let more = log.entries(5...9)
        #expect(more.entries == ["mutation@5=5", "mutation@6=6"])
        #expect(more.closed == [log.stream])
        #expect(try log.resume(log.read(4)).hasSuffix("?after=aaaaaaaa.6"))
        #expect(log.entries(7...9).entries.count == 3)
    }

    @Test func `bytes are room, too, and a reset takes some`() throws {
        var log = try LogClient(limit: 4, bytesLimit: 10)
        _ = log.client.head(log.stream)
        let large = block("mutation", at(1).text, String(repeating: "x", count: 12))
        let full = log.client.bytes(log.stream, large + block("mutation", at(2).text, "y"))
        #expect(full.entries.count == 1 && full.closed == [log.stream])
        #expect(try log.resume(log.read(1, bytes: 12)).hasSuffix("?after=aaaaaaaa.1"))
        let resets = String(
            repeating: block("reset", at(9).text, #"{"reason":"trimmed"}"#), count: 9)
        let flood = log.client.bytes(log.stream, resets)
        #expect(flood.entries.count == 4 && flood.closed == [log.stream])
    }

    @Test func `a log has the connection rules of every stream`() throws {
        var log = try LogClient()
        _ = log.client.head(log.stream)
        _ = log.entries(1...1)
        // C4: silence for 40 s is a dead line.
        let silent = log.client.wait(.seconds(41))
        #expect(silent.closed == [log.stream])
        #expect(try log.resume(log.client.wait(.seconds(1))).hasSuffix("?after=aaaaaaaa.1"))
        // C4: on wake, one of 20 s.
        _ = log.client.wait(.seconds(21))
        let woken = log.client.receive(.wake)
        #expect(woken.closed.count == 1)
        _ = try log.resume(woken)
        // C3: a stream that worked and ended cleanly is opened again at once.
        _ = log.entries(2...2)
        _ = log.client.wait(.seconds(5))
        _ = log.entries(3...3)
        let clean = log.client.receive(.streamEnded(log.stream, failure: nil))
        #expect(try log.resume(clean).hasSuffix("?after=aaaaaaaa.3"))
        // C5: a redirect within the server is followed.
        _ = log.client.receive(.streamEnded(log.stream, failure: nil))
        var outputs = log.client.wait(.seconds(30))
        let id = try #require(outputs.streams.first?.id)
        _ = log.client.receive(
            .streamOpened(
                id, ClientResponse(307, fields: [.init("Location", "/base/v1/elsewhere")])))
        outputs = log.client.receive(.streamEnded(id, failure: nil))
        #expect(outputs.streams.first?.request.target == "/v1/elsewhere")
    }

    @Test func `C6: a refused credential is replaced once at once, then after a wait`() throws {
        var log = try LogClient(asksForCredentials: true)
        let refused = log.client.head(log.stream, 401)
        #expect(refused.asked.map(\.refused) == ["a"])
        let second = log.client.receive(
            .credential(try #require(refused.asked.first?.id), Credential(authorization: "b")))
        let id = try #require(second.streams.first?.id)
        _ = log.client.head(id, 401)
        #expect(log.client.receive(.streamEnded(id, failure: nil)).entries.isEmpty)
        let again = log.client.wait(.seconds(1))
        #expect(again.asked.map(\.refused) == ["b"])
        let third = log.client.receive(
            .credential(try #require(again.asked.first?.id), Credential(authorization: "c")))
        _ = try log.resume(third)
        #expect(log.entries(1...1).entries == ["mutation@1=1"])
    }

    @Test(arguments: [
        (404, "unknown_session", "ended unknown"), (403, "forbidden", "failed forbidden"),
    ])
    func `the end is the last element`(_ status: Int, _ code: String, _ element: String) throws {
        var log = try LogClient()
        let outputs = log.client.refuse(log.stream, status, code)
        #expect(outputs.entries == [element])
        #expect(log.client.wait(.seconds(1_000)).streams.isEmpty)
        #expect(log.client.receive(.wake).streams.isEmpty)
    }

    @Test func `a 204 ends a log when the session says the same`() throws {
        var log = try LogClient()
        _ = log.client.head(log.stream, 204)
        let asked = log.client.receive(.streamEnded(log.stream, failure: nil))
        #expect(asked.entries.isEmpty)
        // A token may grant the log alone.
        #expect(asked.requests.map(\.request.target) == ["/v1/sessions/room/log"])
        let outputs = try log.client.problem(asked.requests.first?.id, 410, "session_ended")
        #expect(outputs.entries == ["ended deleted"])
        #expect(log.client.wait(.seconds(1_000)).streams.isEmpty)
    }

    @Test func `an end in the stream ends the log alone, and closing it is final`() throws {
        var log = try LogClient()
        _ = log.client.head(log.stream)
        let events = try log.client.open(room)
        let end = "event: end\ndata: {\"reason\":\"deleted\"}\n\n"
        let outputs = log.client.bytes(log.stream, block("mutation", at(1).text, "x") + end)
        #expect(outputs.entries == ["mutation@1=x", "ended deleted"])
        #expect(outputs.closed == [log.stream])
        #expect(log.client.event(events, "snapshot", at(1).text, "1").news == ["snapshot@1=1"])

        let second = LogID(8)
        let opened = log.client.receive(
            .readLog(second, LogReading(room, from: .now, limit: 1)))
        #expect(log.client.receive(.closeLog(second)).closed == opened.streams.map(\.id))
        #expect(log.client.receive(.closeLog(second)).isEmpty)
        #expect(log.client.wait(.seconds(10)).streams.isEmpty)
    }

    @Test func `the streams of events know nothing of a log`() throws {
        var log = try LogClient()
        _ = log.client.head(log.stream)
        // A log does not carry the session, and does not become a part of a plan.
        let events = try log.client.open(room, other)
        #expect(log.client.machine.status(room).link == .live)
        _ = log.client.receive(.streamEnded(events, failure: "cut"))
        #expect(log.client.machine.status(room).link != .live)
        _ = log.client.receive(.leave(room))
        _ = log.client.receive(.leave(other))
        let planned = log.client.wait(.milliseconds(60))
        #expect(!planned.closed.contains(log.stream))
        #expect(log.entries(1...1).entries == ["mutation@1=1"])
    }

    @Test func `a log of a session that this client makes waits until it is made`() throws {
        var log = try LogClient()
        let made = log.client.receive(
            .follow(room, Following(demand: .init(states: true), makes: "chat")))
        _ = log.client.head(log.stream, 404)
        _ = log.client.bytes(log.stream, #"{"code":"unknown_session","detail":"-"}"#)
        #expect(log.client.receive(.streamEnded(log.stream, failure: nil)).entries.isEmpty)
        let created = try log.client.answer(made.requests.first?.id, 201)
        let again = created.streams.map(\.request.target)
        #expect(again.contains("/v1/sessions/room/log?from=start"))
    }
}
