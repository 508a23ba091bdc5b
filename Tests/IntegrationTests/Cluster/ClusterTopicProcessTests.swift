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

    /// Publishes until the publication is acknowledged.
    private func publish(_ name: String, at server: ServerProcess) async throws {
        while true {
            let answer = try await server.client().post(Self.topic, "{\"name\":\"\(name)\"}")
            if answer.status == 200 { return }
            try #require([503, 504].contains(answer.status), "\(answer.text)")
        }
    }

    /// Waits until each session has the value.
    private func wait(
        for name: String, in sessions: [SessionHandle], at server: ServerProcess
    ) async throws {
        for session in sessions {
            let own = session.on(server)
            while try await own.read()["state"]?["user"] != ["name": .string(name)] {}
        }
    }

    @Test func `a value reaches the sessions of all nodes, also when one has been killed`()
        async throws
    {
        try await withServers(leasesEnd: true) { _, servers in
            var sessions: [SessionHandle] = []
            for server in servers { sessions.append(try await session("profile", at: server)) }
            for (index, server) in servers.enumerated() {
                try await publish("\(index)", at: server)
                try await wait(for: "\(index)", in: sessions, at: server)
            }
            for session in sessions { #expect(try await session.read()["version"] == 3) }
            try await servers[2].murder()
            // Its session continues at another node, with the values that it has missed.
            for name in ["k", "last"] { try await publish(name, at: servers[0]) }
            try await wait(for: "last", in: sessions, at: servers[0])
            let version = try await sessions[0].read()["version"]?.integer ?? 0
            #expect(version >= 5)
            for session in sessions.dropFirst() {
                #expect(try await session.on(servers[0]).read()["version"] == .integer(version))
            }
        }
    }

    @Test func `the sessions of a node that is paused get every value elsewhere`() async throws {
        try await withServers(leasesEnd: true) { _, servers in
            var sessions: [SessionHandle] = []
            for server in servers { sessions.append(try await session("profile", at: server)) }
            try await publish("a", at: servers[0])
            try await wait(for: "a", in: sessions, at: servers[0])
            servers[2].signal(SIGSTOP)
            // Its lease ends, and its session continues elsewhere.
            for name in ["b", "c"] { try await publish(name, at: servers[1]) }
            servers[2].signal(SIGCONT)
            try await publish("d", at: servers[2])
            try await wait(for: "d", in: sessions, at: servers[0])
        }
    }

    @Test func `a node that joins knows the values that topics remember, and gets later ones`()
        async throws
    {
        let member = "/v1/topics/member"
        try await withServers { nodes, servers in
            for name in ["ada", "bob"] {
                let answer = try await servers[0].client().post(member, "{\"name\":\"\(name)\"}")
                #expect(try answer.json == ["sessions": 0], "\(answer.text)")
            }
            let fourth = try await nodes.start(.fixtures, Self.options)
            let session = try await session("member", at: fourth)
            #expect(session.created.hasSuffix(".1"))
            #expect(try await session.state()["user"] == ["name": "bob"])
            let answer = try await servers[1].client().post(member, "{\"name\":\"eve\"}")
            #expect(answer.status == 200, "\(answer.text)")
            try await wait(for: "eve", in: [session], at: fourth)
            try await fourth.murder()
        }
    }

    @Test func `a node that ends leaves its listeners to the others`() async throws {
        try await withServers { _, servers in
            let session = try await session("profile", at: servers[2])
            try await publish("a", at: servers[0])
            try await wait(for: "a", in: [session], at: servers[2])
            servers[2].signal(SIGTERM)
            #expect(try await servers[2].exit() == .code(0))
            try await publish("b", at: servers[0])
            try await wait(for: "b", in: [session], at: servers[1])
            #expect(try await session.on(servers[1]).read()["version"] == 2)
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
