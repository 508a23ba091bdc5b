import Testing

@Suite("Many sessions on one stream: the vector", .timeLimit(.minutes(60)))
struct VectorTests {
    private func reader(
        _ sessions: [SessionHandle], idsAreOwn: Bool = false
    ) -> VectorReader {
        VectorReader(sessions.map(\.id), from: sessions.map(\.created), idsAreOwn: idsAreOwn)
    }

    // MARK: The rule

    /// The streams of a crowd of clients, each with its query; the sessions are of all loops.
    @Test func `under load each id is the one before with one entry forward`() async throws {
        try await withServer(.fixtures, "--loops", "4") { server in
            let client = server.client()
            let sessions = try await client.sessions(12, of: "pulses")
            let last = 40
            let queries = ["", "&ids=own", "&only=pulses", "&only=states", "&pulse=b&ping=events"]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for session in sessions {
                    group.addTask { for number in 1...last { try await session.setPair(number) } }
                }
                for query in queries {
                    group.addTask {
                        var reader = reader(sessions, idsAreOwn: query == "&ids=own")
                        let stream = try await reader.open(client, query)
                        let end = sessions.map { $0.position(last) }
                        try await reader.read(stream) { $0.entries == end }
                        // A stream of one session has only its own ids.
                        let own = query == "&ids=own" ? "" : query
                        try await compare(reader, with: sessions, own, to: last)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Each session has on the stream of several what it has on its own one.
    private func compare(
        _ reader: VectorReader, with sessions: [SessionHandle], _ query: String, to last: Int
    ) async throws {
        for (index, session) in sessions.enumerated() {
            let own = try await session.open("events?after=\(session.created)\(query)")
            var events: [Event] = []
            while events.last?.id != session.position(last) {
                let event = try await own.next()
                if event.name != "ping" { events.append(event) }
            }
            #expect(reader.events[index] == events, "\(session.id) \(query)")
            await own.close()
        }
    }

    @Test func `cut within or between events and resumed: every event once`() async throws {
        try await withServer(.fixtures, "--loops", "2") { server in
            let client = server.client()
            let sessions = try await client.sessions(4, of: "pulses")
            for number in 1...3 { for session in sessions { try await session.setPair(number) } }
            let end = sessions.map { $0.position(3) }
            var whole = reader(sessions)
            let first = try await whole.open(client)
            try await whole.read(first) { $0.entries == end }
            #expect(whole.events.map(\.count) == [9, 9, 9, 9])
            var (cut, parser) = (reader(sessions), EventParser())
            var wasTried: Set<String> = []
            for byte in await first.bytes {
                for item in parser.parse([byte]) { cut.read(item) }
                guard cut.entries != end, wasTried.insert(cut.vector).inserted else { continue }
                // EventSource sends the same.
                #expect(parser.lastID == (wasTried.count == 1 ? "" : cut.vector))
                var again = cut
                let stream = try await again.open(
                    client, byHeader: wasTried.count.isMultiple(of: 2))
                try await again.read(stream) { $0.entries == end }
                #expect(again.events == whole.events, "cut after \(cut.vector)")
                await stream.close()
            }
            #expect(wasTried.count == 36)
        }
    }

    @Test func `a client that comes and goes while all sessions change has each event once`()
        async throws
    {
        try await withServer(.fixtures, "--loops", "4") { server in
            let client = server.client()
            let sessions = try await client.sessions(8, of: "pulses")
            let last = 60
            async let writing: Void = withThrowingTaskGroup(of: Void.self) { group in
                for session in sessions {
                    group.addTask { for number in 1...last { try await session.setPair(number) } }
                }
                try await group.waitForAll()
            }
            let end = sessions.map { $0.position(last) }
            var reader = reader(sessions)
            while reader.entries != end {
                let stream = try await reader.open(client)
                let enough = reader.events.reduce(31) { $0 + $1.count }
                try await reader.read(stream) {
                    $0.entries == end || $0.events.reduce(0) { $0 + $1.count } >= enough
                }
                await stream.close()
            }
            try await writing
            try await compare(reader, with: sessions, "", to: last)
        }
    }

    // MARK: Entries

    @Test(arguments: [("", "snapshot"), ("&from=now", ""), ("&from=start", "a")])
    func `nothing yet begins as a fresh subscription does, and what is over stays silent`(
        query: String, first: String
    ) async throws {
        // On one loop: the events of all sessions are in the order of the posts.
        try await withServer(.fixtures, "--loops", "1") { server in
            let client = server.client()
            let sessions = try await client.sessions(3, of: "pulses")
            for number in 1...2 { for session in sessions { try await session.setPair(number) } }
            var reader = VectorReader(
                sessions.map(\.id), from: ["-", "x", sessions[2].position(1)])
            let stream = try await reader.open(client, query)
            let isNow = first.isEmpty
            try await reader.read(stream) {
                ($0.entries[0] == sessions[0].position(2)) && $0.events[2].count == 3
            }
            #expect(reader.events[0].first?.name == (isNow ? nil : first))
            #expect(reader.events[2].map(\.data).prefix(2) == ["2", "-2"])
            #expect(try await client.metric("subscribers") == 2)
            let count = reader.events[0].count
            for session in [sessions[1], sessions[2], sessions[0]] { try await session.setPair(3) }
            try await reader.read(stream) { $0.events[0].count == count + 3 }
            #expect(reader.events[1].isEmpty)
            #expect(reader.events[2].count == 6)
            #expect(reader.entries[1] == "x")
        }
    }

    private static let malformed = [
        "nonsense", "-", "-,-,-", ",", "{0}", "{0},", "{0},{1},{1}", "{0};{1}", "{0},X",
        "{0},{1}.0", "s/{0}", "{0}, {1}", "{0},{1}x",
    ]

    @Test(arguments: malformed)
    func `what is no vector of these sessions resets each of them, in-band`(
        text: String
    ) async throws {
        let client = try await sharedFixtures()
        let sessions = try await client.sessions(2, of: "pulses")
        for session in sessions { try await session.setPair(1) }
        let vector = text.replacing("{0}", with: sessions[0].created)
            .replacing("{1}", with: sessions[1].created)
        let query = vector.replacing(" ", with: "%20")
        for (number, isHeader) in [(1, true), (2, false)] {
            // The entries until their sessions' snapshots have come.
            var reader = VectorReader(
                sessions.map(\.id), from: sessions.map { _ in "00000000.0" })
            let stream = try await client.open(
                reader.path(isHeader ? "" : "&after=\(query)"),
                isHeader ? [("Last-Event-ID", vector)] : [])
            try await reader.read(stream) { $0.entries == sessions.map { $0.position(number) } }
            for events in reader.events {
                #expect(events.map(\.name) == ["reset", "snapshot"], "\(vector)")
                #expect(events.first?.data == #"{"reason":"malformed"}"#)
            }
            for (index, session) in sessions.enumerated() {
                try await session.setPair(number + 1)
                try await reader.read(stream) { $0.events[index].count == 5 }
            }
            await stream.close()
        }
    }

    // MARK: Ends

    @Test func `unknown and deleted sessions end alone; when all are over the answer is 204`()
        async throws
    {
        try await withServer(.fixtures, "--loops", "2") { server in
            let client = server.client()
            let sessions = try await client.sessions(2, of: "pulses")
            let gone = try await client.session("pulses")
            _ = try await client.delete(gone.path)
            var reader = VectorReader([sessions[0].id, "nobody", gone.id, sessions[1].id])
            let stream = try await reader.open(client)
            try await reader.read(stream) { !$0.entries.contains("-") }
            #expect(reader.events[1].map(\.data) == [#"{"reason":"unknown"}"#])
            #expect(reader.events[2].map(\.data) == [#"{"reason":"deleted"}"#])
            try await sessions[0].setPair(1)
            try await reader.read(stream) { $0.events[0].count == 4 }
            _ = try await client.delete(sessions[0].path)
            try await reader.read(stream) { $0.entries[0] == "x" }
            #expect(reader.events[0].last?.data == #"{"reason":"deleted"}"#)
            try await sessions[1].setPair(1)
            try await reader.read(stream) { $0.events[3].count == 4 }
            let between = reader
            _ = try await client.delete(sessions[1].path)
            for event in try await stream.rest() { reader.read(.event(event)) }
            #expect(reader.vector == "x,x,x,x")
            #expect(await stream.endedCleanly)
            // An end of an earlier connection is not repeated.
            var late = between
            let again = try await late.open(client)
            for event in try await again.rest() { late.read(.event(event)) }
            #expect(late.events == reader.events)
            for isHeader in [true, false] {
                let over = try await client.get(
                    reader.path(isHeader ? "" : "&after=\(reader.vector)"),
                    isHeader ? [("Last-Event-ID", reader.vector)] : [])
                #expect(over.status == 204)
            }
            #expect(try await client.metric("subscribers") == 0)
        }
    }

    @Test func `a session that was deleted while the client was away ends, after its last events`()
        async throws
    {
        let client = try await sharedFixtures()
        let sessions = try await client.sessions(2, of: "pulses")
        var reader = VectorReader(sessions.map(\.id))
        let stream = try await reader.open(client)
        try await reader.read(stream) { !$0.entries.contains("-") }
        await stream.close()
        for session in sessions { try await session.setPair(1) }
        _ = try await client.delete(sessions[0].path)
        let again = try await reader.open(client, byHeader: true)
        try await reader.read(again) { $0.entries == ["x", sessions[1].position(1)] }
        #expect(reader.events[0].last?.data == #"{"reason":"deleted"}"#)
        #expect(reader.events[1].map(\.name) == ["snapshot", "a", "b", "state"])
        // An end is not repeated.
        try await sessions[1].setPair(2)
        try await reader.read(again) { $0.events[1].count == 7 }
        #expect(reader.entries[0] == "x")
    }

    // MARK: ids=own

    @Test func `ids=own: the client keeps the vector itself`() async throws {
        let client = try await sharedFixtures()
        let sessions = try await client.sessions(3, of: "pulses")
        let names = sessions.map(\.id) + ["nobody"]
        var reader = VectorReader(names, idsAreOwn: true)
        let stream = try await reader.open(client, "&ids=own")
        try await reader.read(stream) { !$0.entries.contains("-") }
        #expect(reader.entries[3] == "x")
        try await sessions[0].setPair(1)
        try await reader.read(stream) { $0.events[0].count == 2 }
        let ownID = "\(sessions[0].id)/\(reader.entries[0])"
        #expect(reader.entries[0] == sessions[0].position(1) + ".1")
        await stream.close()
        try await sessions[1].setPair(1)
        let again = try await reader.open(client, "&ids=own")
        try await reader.read(again) { $0.events[0].count == 4 && $0.events[1].count == 4 }
        await again.close()
        // An own id is no vector: a bare EventSource is not to use it.
        var native = VectorReader(names, idsAreOwn: true)
        let reset = try await client.open(native.path("&ids=own"), [("Last-Event-ID", ownID)])
        try await native.read(reset) { !$0.entries.contains("-") }
        #expect(native.events[0].map(\.name) == ["reset", "snapshot"])
        #expect(native.events[3].map(\.name) == ["end"])
    }
}
