import Glibc
import Testing

@Suite("A part acts on its parent at any of three nodes", .timeLimit(.minutes(60)))
struct ClusterPartProcessTests: ProcessCluster {
    private static let forward = #"{"type":"forward"}"#

    /// Starts three servers with a long grace, so that effects end before their server even on a
    /// slow machine.
    private func withServers(
        leasesEnd: Bool = false,
        _ act: (NodeProcesses, [ServerProcess]) async throws -> Void
    ) async throws {
        try await withNodes { nodes in
            var servers: [ServerProcess] = []
            for _ in 0..<3 {
                servers.append(
                    try await nodes.start(
                        .fixtures, ["--drain-delay", "100ms", "--grace", "10m"],
                        leaseEnds: leasesEnd))
            }
            try await act(nodes, servers)
            for server in servers { try? await server.murder() }
        }
    }

    /// A parent of the server that was asked: one that was made by POST need not be at its home.
    private func parent(at server: ServerProcess) async throws -> SessionHandle {
        let made = try await server.client().post("/v1/sessions", #"{"reactor":"cycle"}"#)
        guard made.status == 201, let id = try made.json["id"]?.string,
            let position = try made.json["position"]?.string
        else { throw UnexpectedAnswer(response: made) }
        return SessionHandle(client: server.client(), id: id, created: position)
    }

    private func part(
        _ reactor: String, _ name: String, of parent: SessionHandle, at server: ServerProcess
    ) async throws -> SessionHandle {
        let id = "\(parent.id)--\(name)"
        let made = try await server.client().put(
            "/v1/sessions/\(id)", "{\"reactor\":\"\(reactor)\"}")
        guard made.status == 201, let position = try made.json["position"]?.string else {
            throw UnexpectedAnswer(response: made)
        }
        return SessionHandle(client: server.client(), id: id, created: position)
    }

    /// Posts an action that forwards, and waits for its end.
    private func settle(_ part: SessionHandle) async throws {
        try await part.post(Self.forward, query: SessionHandle.settled)
    }

    /// The failures of the part's actions.
    private func failures(_ part: SessionHandle) async throws -> [String] {
        let log = try await part.client.get("\(part.path)/log")
        guard log.status == 200 else { throw UnexpectedAnswer(response: log) }
        return try log.json["entries"]?.array?.compactMap { entry in
            guard entry["kind"] == "effect.failed" else { return nil }
            return entry["content"]?["error"]?.string
        } ?? []
    }

    @Test func `a part acts on its parent, whichever nodes are asked`() async throws {
        try await withServers { _, servers in
            for number in 0..<6 {
                let parent = try await parent(at: servers[number % 3])
                let part = try await part(
                    "row", "row", of: parent, at: servers[(number + 1) % 3])
                for server in servers { try await settle(part.on(server)) }
                #expect(try await failures(part).isEmpty)
                for server in servers {
                    #expect(try await parent.on(server).read()["version"] == 3)
                }
            }
        }
    }

    @Test func `a part of a part acts on the first of them`() async throws {
        try await withServers { _, servers in
            for number in 0..<3 {
                let parent = try await parent(at: servers[number])
                let row = try await part("row", "row", of: parent, at: servers[(number + 1) % 3])
                let cell = try await part("cell", "cell", of: row, at: servers[(number + 2) % 3])
                for server in servers { try await settle(cell.on(server)) }
                // The row has begun three actions that forward; its own one is after them.
                while try await parent.read()["version"] != 3 {}
                try await settle(row)
                #expect(try await parent.read()["version"] == 4)
                for part in [row, cell] { #expect(try await failures(part).isEmpty) }
            }
        }
    }

    // The parents move from the server that ends, and so do the parts that it has; others stay.
    @Test func `each action reaches its parent once while a node leaves`() async throws {
        try await withServers { nodes, servers in
            var parts: [(parent: SessionHandle, part: SessionHandle)] = []
            for number in 0..<8 {
                let parent = try await parent(at: servers[2])
                parts.append(
                    (parent, try await part("row", "row", of: parent, at: servers[number % 2])))
            }
            try await withThrowingTaskGroup { group in
                for (number, (_, part)) in parts.enumerated() {
                    let part = part.on(servers[number % 2])
                    group.addTask {
                        for count in 0..<12 {
                            _ = try await nodes.accept(Self.forward, part, key: "\(count)")
                            if number == 0, count == 3 { servers[2].signal(SIGTERM) }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await servers[2].exit() == .code(0))
            for (number, (parent, part)) in parts.enumerated() {
                let (parent, part) = (parent.on(servers[number % 2]), part.on(servers[0]))
                try await settle(part)
                let found = try await failures(part)
                #expect(found == [], "\(number)")
                while try await parent.read()["version"]?.integer ?? 0 < 13 {}
                #expect(try await parent.read()["version"] == 13)
            }
        }
    }

    @Test func `a parent whose node was killed continues elsewhere`() async throws {
        try await withServers(leasesEnd: true) { nodes, servers in
            for number in 0..<4 {
                let parent = try await parent(at: servers[2])
                let row = try await part("row", "row", of: parent, at: servers[number % 2])
                #expect(try await nodes.accept(Self.forward, row, key: "0") == 0)
                while try await parent.read()["version"] != 1 {}
            }
            let parent = try await parent(at: servers[2])
            let row = try await part("row", "row", of: parent, at: servers[0])
            try await settle(row)
            try await servers[2].murder()
            // The part may have been there, too.
            let here = row.on(servers[0])
            _ = try await nodes.accept(Self.forward, here, key: "1")
            while try await parent.on(servers[1]).read()["version"] != 2 {}
            #expect(try await failures(here).isEmpty)
        }
    }
}
