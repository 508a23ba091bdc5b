import Glibc
import PostgresRig
import Testing

@Suite("Nodes that join and leave", .timeLimit(.minutes(60)))
struct LeavingTests: ProcessCluster {
    private func mark(_ text: String) -> String { #"{"type":"mark","text":"\#(text)"}"# }

    private func start(_ nodes: NodeProcesses, _ options: String...) async throws -> ServerProcess {
        try await nodes.start(.fixtures, options, environment: ["FIXTURE_VERSION": "1"])
    }

    private func expectRetry(at end: EventStream) async throws {
        #expect(try await end.rest().isEmpty)
        #expect(await end.endedCleanly)
        guard case .retry? = await end.allItems.last else {
            Issue.record("no retry at the end")
            return
        }
    }

    // The order: /readyz fails, the delay, the streams end, their sessions are given up, the
    // process ends.
    @Test func `streams of a node that leaves end after the delay, and continue elsewhere`()
        async throws
    {
        try await withNodes { nodes in
            let stays = try await start(nodes)
            let leaves = try await start(nodes, "--drain-delay", "10s")
            let session = try await leaves.client().session("versioned")
            let (owners, followers) = (
                try await session.follow("states"), try await session.on(stays).follow("states")
            )
            leaves.signal(SIGTERM)
            while try await leaves.client().get("/readyz").status == 200 {}
            // A session that is read stays until then, and its requests are served.
            #expect(try await session.post(mark("a")).version == 1)
            #expect(try await owners.next().name == "state")
            #expect(try await followers.next().name == "state")
            let late = try await session.follow("states")
            for stream in [owners, late] { try await expectRetry(at: stream) }
            let last = await owners.lastID
            let there = session.on(stays)
            let next = try await there.open("states", [("Last-Event-ID", last)])
            #expect(try await nodes.accept(mark("b"), there, key: "b") == 2)
            let (event, other) = (try await next.next(), try await followers.next())
            #expect(event.name == "state")
            #expect(event.id == other.id && event.data == other.data)
            #expect(try await leaves.exit() == .code(0))
            try await stays.murder()
        }
    }

    @Test func `a node that joins gets its share of the sessions that are at rest`() async throws {
        try await withNodes { nodes in
            let first = try await start(nodes)
            var sessions: [SessionHandle] = []
            for number in 0..<24 {
                let session = try await first.client().session("versioned")
                #expect(try await session.post(mark("\(number)")).version == 1)
                sessions.append(session)
            }
            let second = try await start(nodes)
            // None stays for ever whose home is the second node.
            while try await first.client().get("/metrics").text.contains(
                "reactor_sent_home_total 0\n")
            {}
            for (number, session) in sessions.enumerated() {
                let node = session.on(number.isMultiple(of: 2) ? first : second)
                #expect(try await nodes.accept(mark("x"), node, key: "x") == 2)
                let state = try await node.state()
                #expect(state["marks"]?.array?.compactMap(\.string) == ["\(number)", "x"])
            }
            let metrics = try await second.client().get("/metrics").text
            #expect(!metrics.contains("reactor_owned_sessions 0\n"))
            for server in [first, second] { try await server.murder() }
        }
    }
}
