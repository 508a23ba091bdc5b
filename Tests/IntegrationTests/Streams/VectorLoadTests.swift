import Synchronization
import Testing

@Suite("Many sessions on one stream: crowds and readers that stall", .timeLimit(.minutes(60)))
struct VectorLoadTests {
    /// Large enough to fill both kernels' buffers soon.
    private let text = String(repeating: "x", count: 200_000)

    /// A client that reads the snapshots and then nothing, with a small buffer.
    ///
    /// HTTP/1.0: the events are not in chunks.
    private func stall(
        _ server: ServerProcess, _ sessions: [SessionHandle]
    ) async throws -> RawReader {
        let connection = try RawConnection(port: server.port, receiveBufferBytes: 4_096)
        let path = VectorReader.path(sessions.map(\.id), "&only=pulses")
        await connection.send("GET \(path) HTTP/1.0\r\nHost: a\r\n\r\n")
        let reader = RawReader(connection, VectorReader(sessions.map(\.id)))
        await reader.read { !$0.entries.contains("-") }
        return reader
    }

    @Test func `a hot session of a reader that stalls resets alone, and costs no memory`()
        async throws
    {
        try await withServer(
            .server, "--journal", "memory", "--keep-records", "5", "--stall-timeout", "10m"
        ) { server in
            let client = server.client()
            let sessions = try await client.sessions(40, of: "alerts")
            let (hot, others) = (sessions[0], sessions.dropFirst())
            var stalled: [RawReader] = []
            while stalled.count < 8 { stalled.append(try await stall(server, sessions)) }
            var reading = VectorReader(sessions.map(\.id))
            let stream = try await reading.open(client, "&only=pulses")
            var before = 0
            for number in 1...100 {
                try await hot.alert("\(number) \(text)")
                if number.isMultiple(of: 25) {
                    for other in others { try await other.alert("\(number)") }
                }
                // The other readers do not wait.
                let entry = hot.position(number)
                try await reading.read(stream) { $0.entries[0] == entry }
                if number == 20 { before = try server.residentKilobytes() }
            }
            let growth = try server.residentKilobytes() - before
            // A queue for each of them would hold 16 MB.
            #expect(growth < 32_000, "grew by \(growth) kB")
            for session in sessions { try await session.alert("sentinel") }
            let end = sessions.map { $0.id == hot.id ? $0.position(101) : $0.position(5) }
            for reader in stalled {
                await reader.read { $0.entries == end }
                check(reader.present, hot)
            }
            #expect(reading.events[0].map(\.name).filter { $0 == "reset" } == [])
        }
    }

    /// A gap of the hot session is a reset, and no other session has one.
    private func check(_ reader: VectorReader, _ hot: SessionHandle) {
        for events in reader.events.dropFirst() {
            let data = ["25", "50", "75", "100", "sentinel"].map { "\"\($0)\"" }
            #expect(events.dropFirst().map(\.data) == data)
            #expect(events.first?.name == "snapshot")
        }
        let names = reader.events[0].map(\.name)
        #expect(names.contains("reset"))
        var number = 0
        for (index, event) in reader.events[0].enumerated() {
            switch event.name {
            case "reset": #expect(event.data == #"{"reason":"trimmed"}"#)
            case "snapshot":
                #expect(index == 0 || names[index - 1] == "reset")
                number = Int(event.id.split(separator: ".")[1]) ?? 0
            default:
                number += 1
                #expect(event.id == hot.position(number))
            }
        }
        #expect(number == 101)
    }

    @Test func `a reader of several that accepts no byte is closed, and its sessions are free`()
        async throws
    {
        try await withServer(.server, "--stall-timeout", "1s", "--heartbeat", "10m") { server in
            let client = server.client()
            let sessions = try await client.sessions(3, of: "alerts")
            let stalled = try await stall(server, sessions)
            #expect(try await client.metric("subscribers") == 3)
            for _ in 1...40 { try await sessions[1].alert(text) }
            while try await client.metric("stalled_total") == 0 {
                // Each iteration asks the server, which has its own clock for this.
                try await sessions[2].alert("tick")
            }
            while try await client.metric("subscribers") != 0 {
                _ = try await client.get("/livez")
            }
            #expect(await stalled.connection.receiveAll().ending != .finished)
        }
    }

    @Test func `a hundred sessions on each of two hundred streams`() async throws {
        try await withServer(.fixtures) { server in
            let client = server.client()
            let sessions = try await client.sessions(100, of: "passing")
            var streams: [(VectorReader, EventStream)] = []
            for number in 0..<200 {
                // The vector of a hundred is long, and this test's parser slow.
                let idsAreOwn = !number.isMultiple(of: 10)
                var reader = VectorReader(sessions.map(\.id), idsAreOwn: idsAreOwn)
                let stream = try await reader.open(client, idsAreOwn ? "&ids=own" : "")
                streams.append((reader, stream))
            }
            for index in streams.indices {
                try await streams[index].0.read(streams[index].1) { !$0.entries.contains("-") }
            }
            #expect(try await client.metric("subscribers") == 20_000)
            for (number, session) in sessions.enumerated() {
                try await session.post(#"{"type":"add","number":\#(number)}"#)
            }
            let end = sessions.map { $0.position(1) }
            for index in streams.indices {
                try await streams[index].0.read(streams[index].1) { $0.entries == end }
                for (number, events) in streams[index].0.events.enumerated() {
                    #expect(events.map(\.name) == ["snapshot", "state"])
                    #expect(events.last?.data == #"{"sum":\#(number)}"#)
                }
            }
            for (_, stream) in streams { await stream.close() }
            while try await client.metric("subscribers") != 0 {
                // A disconnection is noticed at the next write at the latest.
                try await sessions[0].post(#"{"type":"add","number":1}"#)
            }
        }
    }
}

/// Parses a stream on a bare socket as it arrives.
private final class RawReader: Sendable {
    private struct State {
        var reader: VectorReader
        var parser = EventParser()
        var headHasEnded = false
    }

    let connection: RawConnection
    private let state: Mutex<State>

    init(_ connection: RawConnection, _ reader: VectorReader) {
        self.connection = connection
        state = Mutex(State(reader: reader))
    }

    var present: VectorReader { state.withLock { $0.reader } }

    /// Reads until the condition holds, or to the end.
    func read(until isEnough: @escaping @Sendable (VectorReader) -> Bool) async {
        if !state.withLock({ $0.headHasEnded }) {
            let head = await connection.receive(until: "\r\n\r\n").bytes
            let end = head.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? head.count
            state.withLock { $0.headHasEnded = true }
            _ = parse(head[end...], isEnough)
        }
        let count = Mutex(0)
        let received = await connection.receive { [self] bytes in
            let start = count.withLock { count in
                defer { count = bytes.count }
                return count
            }
            return parse(bytes[start...], isEnough)
        }
        #expect(received.ending == nil, "the stream ended after \(received.bytes.count) bytes")
    }

    private func parse(
        _ bytes: ArraySlice<UInt8>, _ isEnough: (VectorReader) -> Bool
    ) -> Bool {
        state.withLock { state in
            for item in state.parser.parse(bytes) { state.reader.read(item) }
            return isEnough(state.reader)
        }
    }
}
