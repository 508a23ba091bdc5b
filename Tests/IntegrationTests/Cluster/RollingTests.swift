import Foundation
import PostgresRig
import Synchronization
import Testing

@Suite("Nodes with different programs", .timeLimit(.minutes(60)))
struct RollingTests: ProcessCluster {
    private func mark(_ text: String) -> String { #"{"type":"mark","text":"\#(text)"}"# }

    /// A session of a program with this version of its state.
    private func program(_ version: Int, _ nodes: NodeProcesses) async throws -> ServerProcess {
        try await nodes.start(.fixtures, environment: ["FIXTURE_VERSION": "\(version)"])
    }

    private func code(_ response: Response) throws -> String? {
        try response.json["code"]?.string
    }

    @Test func `a newer program takes sessions over, and an older one loses none of them`()
        async throws
    {
        try await withNodes { nodes in
            let old = try await program(1, nodes)
            let session = try await old.client().session("versioned")
            #expect(try await session.post(mark("a")).version == 1)
            let new = try await program(2, nodes)
            // A session that is awake stays where it is.
            let there = session.on(new)
            #expect(try await nodes.accept(mark("b"), there, key: "b") == 2)
            old.signal(SIGTERM)
            #expect(try await old.exit() == .code(0))
            #expect(try await nodes.accept(mark("c"), there, key: "c") == 3)
            // Back: the older program sends everything to the newer one.
            let back = try await program(1, nodes)
            let here = session.on(back)
            #expect(try await here.post(mark("d")).version == 4)
            let read = try await here.client.get(session.path)
            #expect(read.status == 200)
            let direct = try await there.client.get(session.path)
            #expect(read.text == direct.text)
            #expect(read["ETag"] == direct["ETag"] && read["ETag"] != nil)
            let same = try await here.client.get(
                session.path, [("If-None-Match", try #require(read["ETag"]))])
            #expect(same.status == 304)
            let log = try await here.client.get("\(session.path)/log?after=\(session.created)")
            #expect(log.status == 200)
            #expect(try log.json["entries"]?.array?.count == 8)
            #expect(
                try await here.client.put(session.path, #"{"reactor":"versioned"}"#).status == 200)
            new.signal(SIGTERM)
            #expect(try await new.exit() == .code(0))
            try await expectNoNode(session, on: back)
            // Nothing is lost.
            let again = try await program(2, nodes)
            #expect(try await nodes.accept(mark("e"), here, key: "e") == 5)
            let marks = try await session.on(again).state()["marks"]?.array?.compactMap(\.string)
            #expect(marks == ["a", "b", "c", "d", "e"])
            for server in [back, again] { try await server.murder() }
        }
    }

    /// The only member has an older program.
    private func expectNoNode(_ session: SessionHandle, on server: ServerProcess) async throws {
        let (client, path) = (server.client(), session.path)
        // Until the next beat the node that has ended is a member.
        var answer = try await client.post("\(path)/actions", mark("x"))
        while let code = try code(answer), code == "owner_unreachable" || code == "moved" {
            answer = try await client.post("\(path)/actions", mark("x"))
        }
        for response in [
            try await client.post("\(path)/actions", mark("x")), try await client.get(path),
            try await client.put(path, #"{"reactor":"versioned"}"#),
            try await client.get("\(path)/log"),
        ] {
            #expect(response.status == 503)
            #expect(try code(response) == "no_node_for_session")
            #expect(response["Retry-After"] == "1")
        }
        let stream = try await session.on(server).open("pulses")
        let event = try await stream.next()
        #expect(event.name == "problem" && event.data.contains("no_node_for_session"))
        #expect(try await stream.rest().isEmpty)
        let page = try await client.get("/v1/sessions")
        #expect(!page.text.contains("quarantined"))
    }

    /// Clients that post one after the other, to any node that is there.
    private final class Load: Sendable {
        private struct State {
            var clients: [Client] = []
            var isOver = false
            var surprises: [String] = []
        }

        private let state = Mutex(State())

        func add(_ server: ServerProcess) {
            state.withLock { $0.clients.append(server.client()) }
        }

        func remove(_ server: ServerProcess) {
            state.withLock { state in state.clients.removeAll { $0.base == server.address } }
        }

        func end() { state.withLock { $0.isOver = true } }

        /// Answers that no client could repeat its request after.
        var surprises: [String] { state.withLock { $0.surprises } }

        /// Posts until the end.
        ///
        /// - Returns: the marks that were acknowledged.
        func run(_ session: SessionHandle) async throws -> [String] {
            var marks: [String] = []
            while !state.withLock({ $0.isOver }) {
                let mark = "\(session.id)-\(marks.count)"
                guard try await post(mark, session, Int.random(in: 0..<8)) else { return marks }
                marks.append(mark)
            }
            return marks
        }

        /// Sends a mark to one node after the other, with one key, until it is acknowledged.
        private func post(
            _ mark: String, _ session: SessionHandle, _ first: Int
        ) async throws -> Bool {
            var request = Request.json(
                "POST", "\(session.path)/actions", #"{"type":"mark","text":"\#(mark)"}"#)
            request.fields.append(("Idempotency-Key", mark))
            for turn in first... {
                let client = state.withLock { $0.clients[turn % $0.clients.count] }
                do {
                    let response = try await client.send(request)
                    if response.status == 200 { return true }
                    let code = try response.json["code"]?.string ?? ""
                    guard Self.repeatable.contains(code) else {
                        state.withLock { $0.surprises.append(response.text) }
                        return false
                    }
                } catch is CurlFailure {
                    // The node has ended.
                    continue
                }
            }
            return false
        }

        /// Nothing was applied, or the key finds out.
        private static let repeatable: Set<String> = [
            "owner_unreachable", "moved", "draining", "outcome_unknown", "request_running",
        ]
    }

    /// Restarts every node under load, one after the other.
    ///
    /// - Parameter versions: The programs of the nodes that replace those of before, in turn.
    private func roll(_ versions: [Int], from first: Int, _ nodes: NodeProcesses) async throws {
        var servers = [try await program(first, nodes), try await program(first, nodes)]
        let load = Load()
        for server in servers { load.add(server) }
        var sessions: [SessionHandle] = []
        for _ in 0..<6 { sessions.append(try await servers[0].client().session("versioned")) }
        var marks: [String: [String]] = [:]
        try await withThrowingTaskGroup(of: (String, [String]).self) { group in
            for session in sessions {
                group.addTask { (session.id, try await load.run(session)) }
            }
            for version in versions {
                let next = try await program(version, nodes)
                load.add(next)
                let last = servers.removeFirst()
                servers.append(next)
                last.signal(SIGTERM)
                #expect(try await last.exit() == .code(0))
                load.remove(last)
            }
            load.end()
            for try await (id, acknowledged) in group { marks[id] = acknowledged }
        }
        #expect(load.surprises == [])
        for session in sessions {
            for server in servers {
                let state = try await session.on(server).state()
                #expect(state["marks"]?.array?.compactMap(\.string) == marks[session.id])
            }
            #expect(marks[session.id]?.isEmpty == false)
        }
        for server in servers { try await server.murder() }
    }

    @Test func `three restarts under load fail no request and lose no action`() async throws {
        try await withNodes { try await roll([1, 1, 1], from: 1, $0) }
    }

    @Test func `a deployment of a newer program under load fails no request`() async throws {
        try await withNodes { try await roll([2, 2, 3], from: 1, $0) }
    }

    @Test func `a node says that it ends before it refuses connections`() async throws {
        try await withNodes { nodes in
            let stays = try await program(1, nodes)
            let leaves = try await nodes.start(
                .fixtures, ["--drain-delay", "1h", "--grace", "1s"],
                environment: ["FIXTURE_VERSION": "1"])
            let made = try await leaves.client().post("/v1/sessions", #"{"reactor":"versioned"}"#)
            let session = SessionHandle(
                client: leaves.client(), id: try #require(try made.json["id"]?.string),
                created: try #require(try made.json["position"]?.string))
            #expect(try await session.post(mark("a")).version == 1)
            leaves.signal(SIGTERM)
            while try await leaves.client().get("/readyz").status == 200 {}
            // It is given up, and the other node serves what comes here.
            while try await !leaves.client().get("/metrics").text.contains(
                "reactor_handed_over_total 1\n")
            {}
            #expect(try await nodes.accept(mark("b"), session, key: "b") == 2)
            let metrics = try await stays.client().get("/metrics").text
            // This session, and those of four topics, which the node has created.
            #expect(metrics.contains("reactor_owned_sessions 5\n"))
            #expect(try await leaves.client().get("/livez").status == 200)
            try await leaves.murder()
            #expect(try await session.on(stays).post(mark("c")).version == 3)
            try await stays.murder()
        }
    }

    @Test func `effects and sources of a node that was killed continue without a request`()
        async throws
    {
        try await withNodes { nodes in
            let dies = try await nodes.start(
                .fixtures, environment: ["FIXTURE_VERSION": "1", "FIXTURE_HOLDS": "1"],
                leaseEnds: true)
            let session = try await dies.client().session("versioned")
            _ = try await dies.client().session("feed")
            let idle = try await dies.client().session("versioned")
            #expect(try await idle.post(mark("a")).version == 1)
            let receipt = try await session.post(#"{"type":"work","text":"done"}"#)
            #expect(receipt.version == 0)
            let stays = try await program(1, nodes)
            try await dies.murder()
            while try await !stays.client().get("/metrics").text.contains(
                "reactor_woken_sessions_total 2\n")
            {}
            // A read claims nothing, and wakes nobody.
            while try await session.on(stays).read()["version"]?.integer != 1 {}
            let state = try await session.on(stays).state()
            #expect(state["marks"]?.array?.compactMap(\.string) == ["done"])
            // These two sessions, and those of four topics.
            while try await !stays.client().get("/metrics").text.contains(
                "reactor_owned_sessions 6\n")
            {}
            try await stays.murder()
        }
    }

    @Test func `a reactor that one node hosts is created and served at any node`() async throws {
        try await withNodes { nodes in
            let plain = try await nodes.start(.server)
            let host = try await nodes.start(
                .fixtures, ["--drain-delay", "1h"], environment: ["FIXTURE_VERSION": "1"],
                leaseEnds: true)
            // The other node is known with the next beat, and reached a moment later.
            let path = "/v1/sessions/there"
            var made = try await plain.client().put(path, #"{"reactor":"versioned"}"#)
            while [422, 503].contains(made.status) {
                made = try await plain.client().put(path, #"{"reactor":"versioned"}"#)
            }
            #expect(made.status == 201, "\(made.text)")
            let created = try #require(try made.json["position"]?.string)
            let session = SessionHandle(client: plain.client(), id: "there", created: created)
            #expect(try await session.post(mark("a")).version == 1)
            #expect(try await session.read() == session.on(host).read())
            #expect(
                try await plain.client().put(path, #"{"reactor":"versioned"}"#).status == 200)
            let posted = try await plain.client().post("/v1/sessions", #"{"reactor":"versioned"}"#)
            #expect(posted.status == 503)
            #expect(try code(posted) == "reactor_elsewhere")
            let unknown = try await plain.client().put("/v1/sessions/x", #"{"reactor":"none"}"#)
            #expect(unknown.status == 422)
            #expect(try code(unknown) == "unknown_reactor")
            let page = try await plain.client().get("/v1/sessions")
            #expect(page.text.contains("\"there\"") && !page.text.contains("quarantined"))
            // Nothing is created at a node that is about to end, but it still hosts the reactor.
            host.signal(SIGTERM)
            var (late, count) = (made, 0)
            repeat {
                count += 1
                late = try await plain.client().put(
                    "/v1/sessions/late-\(count)", #"{"reactor":"versioned"}"#)
            } while late.status == 201
            try expectProblem(late, 503, "reactor_elsewhere", detail: "versioned")
            // A session that no node can read is deleted all the same.
            try await host.murder()
            var deleted = try await plain.client().delete(path).status
            while deleted == 503 { deleted = try await plain.client().delete(path).status }
            #expect(deleted == 204)
            try await plain.murder()
        }
    }
}
