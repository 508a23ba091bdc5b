import Testing

@testable import ReactorHosting

@Suite("A topic reaches the sessions of all nodes", .timeLimit(.minutes(60)))
struct ClusterTopicTests {
    private static let topic = "/v1/topics/news"

    /// Servers, and a session of each.
    private func withReaders(
        _ count: Int, _ act: (LocalCluster, [SessionHandle]) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with(
                count, hosting: [Hosted("alerts") { NewsReader() }]
            ) { _, configuration in
                configuration.administration = .on
            } _: { cluster in
                var sessions: [SessionHandle] = []
                for index in 0..<count {
                    let session = try await cluster.session(ownedBy: index)
                    #expect(cluster.isOwner(index, of: session))
                    sessions.append(session)
                }
                try await act(cluster, sessions)
            }
        }
    }

    private func news(_ session: SessionHandle) async throws -> [String] {
        try await session.state()["news"]?.array?.compactMap(\.string) ?? []
    }

    /// Waits until a session has read `count` values.
    private func news(_ session: SessionHandle, _ count: Int) async throws -> [String] {
        var read = try await news(session)
        while read.count < count { read = try await news(session) }
        return read
    }

    @Test func `a value reaches the sessions of all nodes, whichever is asked`() async throws {
        try await withReaders(3) { cluster, sessions in
            for index in 0..<3 {
                let answer = try await cluster.client(index).post(Self.topic, "\"\(index)\"")
                #expect(answer.status == 200, "\(answer.text)")
                // The sessions of the node that decided on the value.
                #expect(try answer.json == ["sessions": 1])
                #expect(answer.head["Durability"] == "shared")
                for session in sessions {
                    #expect(try await news(session, index + 1) == (0...index).map { "\($0)" })
                }
            }
        }
    }

    @Test func `the values of several nodes' clients have one order in all sessions`()
        async throws
    {
        try await withReaders(3) { cluster, sessions in
            try await withThrowingTaskGroup { group in
                for index in 0..<3 {
                    let client = cluster.client(index)
                    group.addTask {
                        for number in 0..<20 {
                            let answer = try await client.post(
                                Self.topic, "\"\(index)-\(number)\"")
                            #expect(answer.status == 200, "\(answer.text)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            let first = try await news(sessions[0], 60)
            #expect(first.count == 60 && Set(first).count == 60)
            for index in 0..<3 {
                #expect(
                    first.filter { $0.hasPrefix("\(index)-") }
                        == (0..<20).map { "\(index)-\($0)" }, "each client's in its order")
            }
            for session in sessions { #expect(try await news(session, 60) == first) }
        }
    }

    @Test func `a value that is none of the topic is refused, and reaches no session`()
        async throws
    {
        try await withReaders(3) { cluster, sessions in
            for index in 0..<3 {
                let client = cluster.client(index)
                try expectProblem(
                    try await client.post(Self.topic, "5"), 422, "not_a_value")
                try expectProblem(try await client.post(Self.topic, "{"), 400, "malformed_json")
                try expectProblem(
                    try await client.post("/v1/topics/weather", "null"), 404, "unknown_topic",
                    detail: "weather")
            }
            for session in sessions { #expect(try await news(session).isEmpty) }
        }
    }

    @Test func `the reactor of topics is hosted by no node`() async throws {
        try await withReaders(2) { cluster, _ in
            let answer = try await cluster.client(0).post(
                "/v1/sessions", #"{"reactor":"$topic"}"#)
            try expectProblem(answer, 422, "unknown_reactor")
        }
    }

    @Test func `a topic that only other nodes' sessions listen to is known everywhere`()
        async throws
    {
        try await withReaders(3) { cluster, sessions in
            for session in sessions.dropLast() {
                #expect(try await session.client.delete(session.path).status == 204)
            }
            for index in 0..<3 {
                let answer = try await cluster.client(index).post(Self.topic, "\"\(index)\"")
                #expect(answer.status == 200, "\(answer.text)")
                try expectProblem(
                    try await cluster.client(index).post(Self.topic, "5"), 422, "not_a_value")
            }
            #expect(try await news(sessions[2], 3) == ["0", "1", "2"])
        }
    }

    @Test func `a session is stubbed on one node alone, and never on several`() async throws {
        try await withReaders(2) { cluster, sessions in
            for index in 0..<2 {
                for session in sessions {
                    let path = "\(session.path)/stub"
                    for body in [#"{"enabled":true}"#, #"{"enabled":false,"state":{}}"#] {
                        try expectProblem(
                            try await cluster.client(index).put(path, body), 409, "not_on_one_node")
                    }
                }
                // One that was there before the other nodes.
                let answer = try await cluster.client(index).put(
                    "\(sessions[index].path)/stub", #"{"enabled":false}"#)
                #expect(answer.status == 200, "\(answer.text)")
            }
        }
        try await withReaders(1) { cluster, sessions in
            let answer = try await cluster.client(0).put(
                "\(sessions[0].path)/stub", #"{"enabled":true}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }
}
