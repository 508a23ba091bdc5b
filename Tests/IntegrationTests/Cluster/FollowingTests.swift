import ReactorHosting
import Testing

@Suite("A stream at any node shows what the owner decides", .timeLimit(.minutes(60)))
struct FollowingTests {
    private func withSession(
        _ act: (LocalCluster, _ session: SessionHandle) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with { cluster in
                try await act(cluster, try await cluster.session(ownedBy: 1))
            }
        }
    }

    private func there(_ cluster: LocalCluster, _ session: SessionHandle) -> SessionHandle {
        SessionHandle(client: cluster.client(1), id: session.id, created: session.created)
    }

    @Test(arguments: [
        ("pulses", 7), ("pulses?pulse=alertMessage", 7), ("pulses?from=now", 6),
        ("pulses?after=CREATED", 7), ("pulses?from=start", 7), ("states", 9),
        ("states?select=/actions", 3), ("states?from=start", 9), ("events", 15),
        ("events?only=pulses", 7), ("events?from=now", 14), ("log?after=CREATED", 9),
    ])
    func `each stream is the one of the owner`(query: String, count: Int) async throws {
        try await withSession { cluster, session in
            let query = query.replacing("CREATED", with: session.created)
            let owner = there(cluster, session)
            func streams(_ at: SessionHandle) async throws -> EventStream {
                try await at.open(query, [("Accept", "text/event-stream")])
            }
            if !query.contains("from=now") { try await session.alert("first") }
            let (here, there) = (try await streams(session), try await streams(owner))
            for number in 0..<6 {
                try await session.alert("\(number)")
                if number.isMultiple(of: 3) {
                    try await session.post(#"{"type":"doSomeAction"}"#)
                }
            }
            let events = try await here.next(count)
            #expect(try await there.next(count) == events)
            #expect(!events.contains { ["reset", "problem"].contains($0.name) })
            #expect(cluster.isOwner(1, of: session), "a stream moves no session")
        }
    }

    @Test func `a stream resumes at any node`() async throws {
        try await withSession { cluster, session in
            let owner = there(cluster, session)
            var heard: [Event] = []
            var last = session.created
            for round in 0..<6 {
                let stream = try await (round.isMultiple(of: 2) ? session : owner)
                    .open("pulses", [("Last-Event-ID", last)])
                try await owner.alert("\(round)")
                heard.append(try await stream.next())
                last = await stream.lastID
                await stream.close()
            }
            #expect(heard.map(\.data) == (0..<6).map { "\"\($0)\"" })
        }
    }

    @Test(arguments: ["", "&ids=own", "&only=pulses"])
    func `a stream of sessions of several nodes is complete`(query: String) async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with { cluster in
                var sessions: [SessionHandle] = []
                for number in 0..<6 {
                    sessions.append(try await cluster.session(ownedBy: number % 2))
                }
                var reader = VectorReader(
                    sessions.map(\.id), from: sessions.map(\.created),
                    idsAreOwn: query == "&ids=own")
                let stream = try await reader.open(cluster.client(0), query)
                for number in 0..<5 {
                    for session in sessions { try await session.alert("\(number)") }
                }
                let end = sessions.map { "\($0.generation).5" }
                try await reader.read(stream) { $0.entries == end }
                for events in reader.events {
                    #expect(
                        events.filter { $0.name == "alertMessage" }.map(\.data)
                            == (0..<5).map { "\"\($0)\"" })
                }
            }
        }
    }

    @Test func `a stream continues when its node becomes the owner`() async throws {
        try await withSession { cluster, session in
            let (pulses, states) = (
                try await session.follow("pulses"), try await session.follow("states")
            )
            try await session.alert("a")
            cluster.journal.leave(cluster.journal.nodes[1])
            try await session.alert("b")
            try await session.alert("c")
            #expect(cluster.isOwner(0, of: session))
            #expect(try await pulses.next(3).map(\.data) == [#""a""#, #""b""#, #""c""#])
            #expect(try await states.next(3).map(\.name) == ["state", "state", "state"])
        }
    }

    @Test func `subscribers share the loops of a node that does not own their session`()
        async throws
    {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(2, { $1.spreadFrom = 2 }) { cluster in
                let session = try await cluster.session(ownedBy: 1)
                var streams: [EventStream] = []
                for _ in 0..<6 { streams.append(try await session.follow("pulses")) }
                let client = cluster.client(0)
                while try await client.metric("subscribers_moved") != 3 {
                    try Task.checkCancellation()
                }
                for number in 0..<20 { try await session.alert("\(number)") }
                cluster.journal.leave(cluster.journal.nodes[1])
                for number in 20..<40 { try await session.alert("\(number)") }
                #expect(cluster.isOwner(0, of: session))
                for stream in streams {
                    let events = try await stream.next(40)
                    #expect(events.map(\.data) == (0..<40).map { "\"\($0)\"" })
                }
                _ = try await client.delete(session.path)
                for stream in streams { #expect(try await stream.next().name == "end") }
                while try await client.metric("subscribers") != 0 {
                    try Task.checkCancellation()
                }
                #expect(try await client.metric("subscribers_moved") == 0)
            }
        }
    }

    @Test func `a session that ends elsewhere ends its streams`() async throws {
        try await withSession { cluster, session in
            let stream = try await session.follow("pulses")
            #expect(try await cluster.client(1).delete(session.path).status == 204)
            #expect(try await stream.rest().last?.name == "end")
            #expect(await stream.endedCleanly)
            let gone = try await session.client.open("\(session.path)/pulses")
            #expect(await gone.response().status == 204)
        }
    }

    @Test func `what is followed is counted`() async throws {
        try await withSession { cluster, session in
            let stream = try await session.follow("pulses")
            let metrics = try await cluster.client(0).get("/metrics").text
            #expect(metrics.contains("\nreactor_followed_sessions 1\n"))
            #expect(metrics.contains("\nreactor_sessions 0\n"))
            #expect(metrics.contains("\nreactor_subscribers 1\n"))
            try await session.alert("a")
            #expect(try await stream.next().data == #""a""#)
        }
    }
}
