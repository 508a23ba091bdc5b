import Foundation
import Testing

@Suite(
    "Three nodes on one PostgreSQL have their topics and forks in common",
    .timeLimit(.minutes(60)))
struct ClusterTopicProcessTests: ProcessCluster {
    private static let topic = "/v1/topics/currentUser"
    private static let options = ["--admin", "on", "--drain-delay", "100ms"]

    /// Three servers.
    private func withServers(
        leasesEnd: Bool = false,
        _ act: (NodeProcesses, [ServerProcess]) async throws -> Void
    ) async throws {
        try await withNodes { nodes in
            var servers: [ServerProcess] = []
            for _ in 0..<3 {
                servers.append(
                    try await nodes.start(.fixtures, Self.options, leaseEnds: leasesEnd))
            }
            try await act(nodes, servers)
            for server in servers { try? await server.murder() }
        }
    }

    /// A session of the server that was asked, wherever its home is.
    private func session(
        _ reactor: String, at server: ServerProcess
    ) async throws -> SessionHandle {
        let made = try await server.client().post(
            "/v1/sessions", "{\"reactor\":\"\(reactor)\"}")
        guard made.status == 201, let id = try made.json["id"]?.string,
            let position = try made.json["position"]?.string
        else { throw UnexpectedAnswer(response: made) }
        return SessionHandle(client: server.client(), id: id, created: position)
    }

    /// Publishes until as many sessions have committed a value.
    private func publish(
        _ name: String, at server: ServerProcess, until sessions: Int, to topic: String = topic
    ) async throws {
        while true {
            let answer = try await server.client().post(topic, "{\"name\":\"\(name)\"}")
            if try answer.status == 200 && answer.json["sessions"]?.integer == sessions { return }
            try #require([200, 404, 503, 504].contains(answer.status), "\(answer.text)")
        }
    }

    @Test func `a value reaches the sessions of all nodes, also when one has been killed`()
        async throws
    {
        try await withServers(leasesEnd: true) { _, servers in
            var sessions: [SessionHandle] = []
            for server in servers { sessions.append(try await session("profile", at: server)) }
            for (index, server) in servers.enumerated() {
                let answer = try await server.client().post(Self.topic, "{\"name\":\"\(index)\"}")
                #expect(answer.status == 200, "\(answer.text)")
                #expect(try answer.json == ["sessions": 3])
                for session in sessions {
                    let state = try await session.on(server).state()
                    #expect(state["user"] == ["name": .string("\(index)")])
                }
            }
            for session in sessions { #expect(try await session.read()["version"] == 3) }
            try await servers[2].murder()
            // Its host refuses connections, so the others do not wait for it. Then its session
            // continues elsewhere.
            let answer = try await servers[0].client().post(Self.topic, "{\"name\":\"k\"}")
            #expect([200, 504].contains(answer.status), "\(answer.text)")
            try await publish("last", at: servers[1], until: 3)
            for session in sessions {
                let state = try await session.on(servers[0]).state()
                #expect(state["user"] == ["name": "last"])
            }
        }
    }

    @Test func `a node that is paused makes the outcome known or unknown, and never silent`()
        async throws
    {
        try await withServers(leasesEnd: true) { _, servers in
            var sessions: [SessionHandle] = []
            for server in servers { sessions.append(try await session("profile", at: server)) }
            try await publish("a", at: servers[0], until: 3)
            servers[2].signal(SIGSTOP)
            let answer = try await servers[0].client().post(Self.topic, "{\"name\":\"b\"}")
            // 200 if its lease has ended before: a slow machine needs that long to connect.
            #expect([200, 503, 504].contains(answer.status), "\(answer.text)")
            // Its lease ends, and its session continues elsewhere.
            try await publish("c", at: servers[1], until: 3)
            servers[2].signal(SIGCONT)
            try await publish("d", at: servers[2], until: 3)
            for session in sessions {
                let state = try await session.on(servers[0]).state()
                #expect(state["user"] == ["name": "d"])
            }
        }
    }

    @Test func `a node that joins gets the values that topics remember, and later ones`()
        async throws
    {
        let member = "/v1/topics/member"
        try await withServers { nodes, servers in
            for name in ["ada", "bob"] {
                let answer = try await servers[0].client().post(member, "{\"name\":\"\(name)\"}")
                #expect(try answer.json == ["sessions": 0], "\(answer.text)")
            }
            let fourth = try await nodes.start(.fixtures, Self.options)
            // The others send it what they remember when they have heard of it.
            while true {
                let session = try await session("member", at: fourth)
                guard session.created.hasSuffix(".1") else { continue }
                #expect(try await session.state()["user"] == ["name": "bob"])
                break
            }
            let later = try await session("member", at: fourth)
            let answer = try await servers[1].client().post(member, "{\"name\":\"eve\"}")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try await later.state()["user"] == ["name": "eve"])
            try await fourth.murder()
        }
    }

    @Test func `a node that ends leaves its listeners to the others`() async throws {
        try await withServers { _, servers in
            let session = try await session("profile", at: servers[2])
            try await publish("a", at: servers[0], until: 1)
            servers[2].signal(SIGTERM)
            #expect(try await servers[2].exit() == .code(0))
            try await publish("b", at: servers[0], until: 1)
            #expect(try await session.on(servers[1]).state()["user"] == ["name": "b"])
        }
    }

    // MARK: Forks, lists

    @Test func `a session is forked at any node, at any version`() async throws {
        try await withServers { _, servers in
            let origin = try await session("profile", at: servers[0])
            for version in 1...3 {
                #expect(try await origin.post(#"{"type":"touch"}"#).version == version)
            }
            for server in servers {
                for version in [nil, 0, 2] as [Int?] {
                    let from = version.map { ",\"version\":\($0)" } ?? ""
                    let made = try await server.client().post(
                        "/v1/sessions",
                        #"{"reactor":"profile","from":{"session":"\#(origin.id)"\#(from)}}"#)
                    #expect(made.status == 201, "\(made.text)")
                    let id = try #require(try made.json["id"]?.string)
                    for other in servers {
                        let read = try await other.client().get("/v1/sessions/\(id)")
                        #expect(try read.json["version"] == 0)
                        #expect(try read.json["state"]?["touches"] == .integer(version ?? 3))
                    }
                }
                try expectProblem(
                    try await server.client().post(
                        "/v1/sessions",
                        #"{"reactor":"profile","from":{"session":"\#(origin.id)","version":9}}"#),
                    404, "unknown_version")
            }
            #expect(try await origin.read()["version"] == 3)
        }
    }

    @Test func `a list has the sessions of all nodes, and one deleted at any node is gone`()
        async throws
    {
        try await withServers { _, servers in
            var ids: [String] = []
            for server in servers {
                for _ in 0..<2 { ids.append(try await session("profile", at: server).id) }
            }
            func list(at server: ServerProcess) async throws -> Set<String> {
                let page = try await server.client().get("/v1/sessions?reactor=profile").json
                return Set(page["sessions"]?.array?.compactMap { $0["id"]?.string } ?? [])
            }
            for server in servers { #expect(try await list(at: server) == Set(ids)) }
            for (index, server) in servers.enumerated() {
                // One of another node each.
                let gone = ids[(2 * index + 2) % 6]
                #expect(try await server.client().delete("/v1/sessions/\(gone)").status == 204)
                ids.removeAll { $0 == gone && index == 2 }
            }
            for server in servers {
                let left = try await list(at: server)
                #expect(left.count == 3)
                #expect(left.isSubset(of: ids))
            }
        }
    }
}
