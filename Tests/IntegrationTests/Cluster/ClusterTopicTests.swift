import Cluster
import Testing
import Wire

@testable import ReactorHosting

@Suite("A topic reaches the sessions of all nodes, or it is said", .timeLimit(.minutes(60)))
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
                // The nodes share this machine with other tests; a scripted peer may be silent.
                if count > 1 { configuration.topicLimit = .seconds(600) }
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

    @Test func `a value reaches the sessions of all nodes, whichever is asked`() async throws {
        try await withReaders(3) { cluster, sessions in
            for index in 0..<3 {
                let answer = try await cluster.client(index).post(Self.topic, "\"\(index)\"")
                #expect(answer.status == 200, "\(answer.text)")
                #expect(try answer.json == ["sessions": 3])
                #expect(answer.head["Durability"] == "shared")
                // The reply means that it is committed in all of them.
                for session in sessions {
                    #expect(try await news(session) == (0...index).map { "\($0)" })
                }
            }
            var published = 0
            for index in 0..<3 {
                let metrics = try await cluster.client(index).get("/metrics").text
                for count in 1...3
                where metrics.contains(
                    "reactor_topic_publications_total{outcome=\"published\"} \(count)\n")
                {
                    published += count
                }
            }
            #expect(published == 3, "each is counted at the home of its topic")
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
            let first = try await news(sessions[0])
            #expect(first.count == 60 && Set(first).count == 60)
            for index in 0..<3 {
                #expect(
                    first.filter { $0.hasPrefix("\(index)-") }
                        == (0..<20).map { "\(index)-\($0)" }, "each client's in its order")
            }
            for session in sessions { #expect(try await news(session) == first) }
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

    @Test func `a topic that only other nodes' sessions listen to is known everywhere`()
        async throws
    {
        try await withReaders(3) { cluster, sessions in
            for session in sessions.dropLast() {
                #expect(try await session.client.delete(session.path).status == 204)
            }
            for index in 0..<3 {
                let answer = try await cluster.client(index).post(Self.topic, "\"\(index)\"")
                #expect(try answer.json == ["sessions": 1])
                try expectProblem(
                    try await cluster.client(index).post(Self.topic, "5"), 422, "not_a_value")
            }
            #expect(try await news(sessions[2]) == ["0", "1", "2"])
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

    // MARK: Nodes that do something else

    /// A server with a session, and a peer. The server is the home of the topic that is passed.
    private func withPeer(
        _ acts: [ScriptedPeer.Act], hasPings: Bool = true, provesItself: Bool = true,
        hasTopics: Bool = true,
        _ act: (LocalCluster, ScriptedPeer, SessionHandle, String) async throws -> Void
    ) async throws {
        let peer = try ScriptedPeer(
            acts, hasPings: hasPings, provesItself: provesItself,
            features: hasTopics ? .topics : [])
        try await withReaders(1) { cluster, sessions in
            cluster.journal.join(peer.member)
            try await act(cluster, peer, sessions[0], Self.topic)
        }
        await peer.end()
    }

    /// Whether the server is the home of the topic; else the peer is.
    private func isHome(_ cluster: LocalCluster, _ peer: ScriptedPeer) -> Bool {
        let server = cluster.journal.nodes[0]
        let own = cluster.journal.members(seenBy: peer.member)
        return own.home(of: "news") == server
    }

    private func receipt(_ sessions: Int) -> LinkAnswer {
        LinkAnswer(status: 200, body: Array("{\"sessions\":\(sessions)}".utf8))
    }

    @Test func `the answer has the sessions of all nodes`() async throws {
        try await withPeer([.answer(receipt(5))]) { cluster, peer, session, topic in
            let isHome = isHome(cluster, peer)
            let answer = try await session.client.post(topic, "\"a\"")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try answer.json == ["sessions": .integer(isHome ? 6 : 5)])
            #expect(await peer.until(isHome ? "deliver news \"a\"" : "publish news \"a\""))
            // A home delivers to the others.
            #expect(try await news(session) == (isHome ? ["a"] : []))
        }
    }

    // Such a node has a program without the frame, which would end the link.
    @Test func `a node that does not accept topics keeps a value from all sessions`() async throws {
        try await withPeer([], hasTopics: false) { _, peer, session, topic in
            let answer = try await session.client.post(topic, "\"a\"")
            try expectProblem(answer, 503, "topic_unavailable", detail: "program")
            #expect(answer.head["Retry-After"] == "1")
            #expect(try await news(session).isEmpty)
        }
    }

    @Test func `a node that cannot be reached keeps a value from all sessions`() async throws {
        try await withPeer([], provesItself: false) { _, peer, session, topic in
            let answer = try await session.client.post(topic, "\"a\"")
            try expectProblem(answer, 503, "topic_unavailable", detail: "reached")
            #expect(try await news(session).isEmpty)
        }
    }

    @Test func `a node whose host refuses has ended, and keeps no value from the others`()
        async throws
    {
        try await withPeer([]) { _, peer, session, topic in
            await peer.end()
            // A value that is sent on a link whose end has not been read has an unknown outcome.
            while try await !session.client.get("/metrics").text.contains("\nreactor_links 0\n") {}
            let answer = try await session.client.post(topic, "\"a\"")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try answer.json == ["sessions": 1])
            #expect(try await news(session) == ["a"])
        }
    }

    @Test(arguments: [ScriptedPeer.Act.nothing, .close])
    func `a node that does not answer makes the outcome unknown`(act: ScriptedPeer.Act)
        async throws
    {
        try await withPeer([act]) { cluster, peer, session, topic in
            let isHome = isHome(cluster, peer)
            let answer = try await session.client.post(topic, "\"a\"")
            try expectProblem(answer, 504, "topic_partly_published")
            #expect(try await news(session) == (isHome ? ["a"] : []))
        }
    }

    // Its sessions are awake nowhere for a moment, and would miss a value.
    @Test func `nothing is published from the announcement of a node's end until it is no member`()
        async throws
    {
        try await withPeer([.answer(receipt(5))]) { cluster, peer, session, topic in
            #expect(try await session.client.post(topic, "\"a\"").status == 200)
            let before = try await news(session)
            peer.sayEnd()
            #expect(await peer.until("holding"))
            try expectProblem(
                try await session.client.post(topic, "\"b\""), 503, "topic_unavailable",
                detail: "shutting down")
            #expect(try await news(session) == before)
            // Its process ends. Nothing listens at its address, but the others still wait for its
            // sessions.
            await peer.end()
            try expectProblem(
                try await session.client.post(topic, "\"c\""), 503, "topic_unavailable",
                detail: "shutting down")
            cluster.journal.leave(peer.node)
            var answer = try await session.client.post(topic, "\"d\"")
            while answer.status == 503 {
                answer = try await session.client.post(topic, "\"d\"")
            }
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await news(session) == before + ["d"])
        }
    }

    @Test func `a home that ends leaves a value to the next one`() async throws {
        let acts = [ScriptedPeer.Act.moved(Node(number: 1)), .answer(receipt(5))]
        try await withPeer(acts) { cluster, peer, session, _ in
            let members = cluster.journal.members(seenBy: peer.member)
            let name = (0...).lazy.map { "topic\($0)" }.first {
                members.home(of: $0) == peer.node
            }
            let topic = try #require(name)
            let answer = try await session.client.post("/v1/topics/\(topic)", "\"a\"")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try answer.json == ["sessions": 5])
            #expect(await peer.until("publish \(topic) \"a\""))
            #expect(await peer.until("deliver \(topic) \"a\""))
        }
    }

    @Test func `a value that another node refuses is said to be there in part`() async throws {
        let refusal = LinkAnswer(status: 422, code: "not_a_value")
        try await withPeer([.answer(refusal)]) { cluster, peer, session, topic in
            let answer = try await session.client.post(topic, "\"a\"")
            if isHome(cluster, peer) {
                try expectProblem(answer, 504, "topic_partly_published", detail: "1 sessions")
            } else {
                #expect(answer.status == 422)
            }
        }
    }
}
