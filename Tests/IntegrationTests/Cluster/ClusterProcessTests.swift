import Foundation
import PostgresRig
import Testing

@Suite("Two servers on one PostgreSQL are one service", .timeLimit(.minutes(60)))
struct ClusterProcessTests: ProcessCluster {
    private func post(
        _ session: SessionHandle, on server: ServerProcess, key: String
    ) async throws -> Response {
        var request = Request.json(
            "POST", "\(session.path)/actions", "{\"type\":\"alert\",\"message\":\"\(key)\"}")
        request.fields.append(("Idempotency-Key", key))
        return try await server.client().send(request)
    }

    /// Posts until the action is acknowledged, as a client does.
    private func postUntilAccepted(
        _ session: SessionHandle, on server: ServerProcess, key: String
    ) async throws -> Int? {
        while true {
            let response = try await post(session, on: server, key: key)
            if response.status == 200 { return try response.json["version"]?.integer }
            try #require([503, 504, 409].contains(response.status), "\(response.text)")
        }
    }

    private func messages(
        _ session: SessionHandle, on server: ServerProcess, count: Int
    ) async throws -> [String] {
        let stream = try await session.on(server).open(
            "pulses?after=\(session.created)", [("Accept", "text/event-stream")])
        return try await stream.next(count).map(\.data)
    }

    @Test func `posts at any node are one history`() async throws {
        try await withNodes { nodes in
            let first = try await nodes.start()
            let second = try await nodes.start()
            #expect(first.log.present.output.contains(", links: 127.0.0.1:"))
            let session = try await first.client().session("alerts")
            for number in 0..<20 {
                let server = number.isMultiple(of: 2) ? first : second
                #expect(
                    try await postUntilAccepted(session, on: server, key: "\(number)")
                        == number + 1)
            }
            #expect(try await session.read() == session.on(second).read())
            let pages = [
                try await first.client().get("/metrics").text,
                try await second.client().get("/metrics").text,
            ]
            // The owner forwards nothing.
            #expect(
                pages.contains { !$0.contains("reactor_forwarded_total{outcome=\"answered\"} 0\n") }
            )
            for server in [second, first] {
                server.signal(SIGTERM)
                #expect(try await server.exit() == .code(0))
            }
        }
    }

    /// The journal keeps it in two rows, and the owner sends no record of this size.
    @Test func `a large event reaches the readers of another node without a reset`()
        async throws
    {
        try await withNodes { nodes in
            let first = try await nodes.start()
            let second = try await nodes.start()
            let session = try await first.client().session("alerts")
            let streams = [
                try await session.follow("pulses"),
                try await session.on(second).follow("pulses"),
            ]
            for count in [100_000, 20_000, 100_000] {
                try await session.alert(String(repeating: "x", count: count))
                for stream in streams {
                    let event = try await stream.next()
                    #expect(event.name == "alertMessage")
                    #expect(event.data.count == count + 2)
                }
            }
        }
    }

    @Test func `the first action creates its session once, whichever nodes are asked`()
        async throws
    {
        try await withNodes { nodes in
            var servers: [ServerProcess] = []
            for _ in 0..<3 { servers.append(try await nodes.start()) }
            for number in 0..<6 {
                try await withThrowingTaskGroup { group in
                    for (index, server) in servers.enumerated() {
                        group.addTask {
                            var request = Request.json(
                                "POST", "/v1/sessions/s\(number)/actions?reactor=alerts",
                                #"{"type":"alert","message":"a"}"#)
                            request.fields.append(("Idempotency-Key", "\(index)"))
                            while true {
                                let response = try await server.client().send(request)
                                if response.status == 200 { return }
                                try #require(
                                    [503, 504, 409].contains(response.status), "\(response.text)")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let read = try await servers[0].client().get("/v1/sessions/s\(number)")
                #expect(try read.json["version"]?.integer == 3)
            }
            for server in servers { try await server.murder() }
        }
    }

    @Test func `a killed owner loses nothing, and the next post is served`() async throws {
        try await withNodes { nodes in
            let owner = try await nodes.start()
            let other = try await nodes.start()
            let session = try await owner.client().session("alerts")
            #expect(try await postUntilAccepted(session, on: owner, key: "a") == 1)
            #expect(try await postUntilAccepted(session, on: other, key: "b") == 2)
            try await owner.murder()
            // The first post finds out that nobody listens there.
            let response = try await post(session, on: other, key: "c")
            #expect(response.status == 200, "\(response.text)")
            #expect(try response.json["version"]?.integer == 3)
            #expect(
                try await messages(session, on: other, count: 3) == [#""a""#, #""b""#, #""c""#])
            try await other.murder()
        }
    }

    /// A session of the server that was asked, wherever its home is.
    private func session(ownedBy server: ServerProcess) async throws -> SessionHandle {
        let created = try await server.client().post("/v1/sessions", #"{"reactor":"alerts"}"#)
        guard created.status == 201, let id = try created.json["id"]?.string,
            let position = try created.json["position"]?.string
        else { throw UnexpectedAnswer(response: created) }
        return SessionHandle(client: server.client(), id: id, created: position)
    }

    @Test func `streams at another node than the owner lose and double nothing when it is killed`()
        async throws
    {
        try await withNodes { nodes in
            let owner = try await nodes.start()
            let other = try await nodes.start()
            let session = try await session(ownedBy: owner)
            let pulses = try await session.on(other).open("pulses?after=\(session.created)")
            let states = try await session.on(other).follow("states")
            for number in 0..<10 {
                let server = number.isMultiple(of: 2) ? owner : other
                #expect(
                    try await postUntilAccepted(session, on: server, key: "\(number)")
                        == number + 1)
            }
            // The last ones are not read yet.
            #expect(try await pulses.next(5).map(\.data) == (0..<5).map { "\"\($0)\"" })
            try await owner.murder()
            for number in 10..<20 {
                #expect(
                    try await postUntilAccepted(session, on: other, key: "\(number)")
                        == number + 1)
            }
            #expect(try await pulses.next(15).map(\.data) == (5..<20).map { "\"\($0)\"" })
            let shown = try await states.next(20)
            #expect(shown.map(\.id) == (1...20).map { "\(session.generation).\($0)" })
            #expect(shown.allSatisfy { $0.name == "state" })
            try await other.murder()
        }
    }

    @Test func `streams at another node show the last events before the end`() async throws {
        try await withNodes { nodes in
            let owner = try await nodes.start()
            let other = try await nodes.start()
            let session = try await session(ownedBy: owner)
            let pulses = try await session.on(other).follow("pulses")
            let states = try await session.on(other).follow("states")
            for key in ["a", "b", "c"] {
                _ = try await postUntilAccepted(session, on: owner, key: key)
            }
            #expect(try await owner.client().delete(session.path).status == 204)
            let events = try await pulses.rest()
            #expect(events.map(\.data).prefix(3) == [#""a""#, #""b""#, #""c""#])
            #expect(events.map(\.name).suffix(1) == ["end"] && events.count == 4)
            #expect(try await states.rest().map(\.name) == ["state", "state", "state", "end"])
            for server in [owner, other] { try await server.murder() }
        }
    }

    @Test func `a paused owner is deposed, and notices it`() async throws {
        try await withNodes { nodes in
            let owner = try await nodes.start()
            let other = try await nodes.start()
            let session = try await owner.client().session("alerts")
            #expect(try await postUntilAccepted(session, on: other, key: "a") == 1)
            owner.signal(SIGSTOP)
            #expect(try await postUntilAccepted(session, on: other, key: "b") == 2)
            owner.signal(SIGCONT)
            #expect(try await postUntilAccepted(session, on: owner, key: "c") == 3)
            #expect(try await postUntilAccepted(session, on: other, key: "d") == 4)
            // A key is one action, whichever node was asked.
            #expect(try await postUntilAccepted(session, on: owner, key: "b") == 2)
            let last = try await other.client().get(session.path)
            #expect(try last.json["version"]?.integer == 4)
            for server in [owner, other] { try await server.murder() }
        }
    }

    @Test func `a node with another secret reaches no owner`() async throws {
        try await withNodes { nodes in
            let owner = try await nodes.start()
            let stranger = try await nodes.start(secret: "t")
            let session = try await owner.client().session("alerts")
            #expect(try await postUntilAccepted(session, on: owner, key: "a") == 1)
            let response = try await post(session, on: stranger, key: "b")
            #expect(response.status == 503)
            #expect(try response.json["code"]?.string == "owner_unreachable")
            #expect(try await postUntilAccepted(session, on: owner, key: "c") == 2)
            try await owner.log.wait { $0.errors.contains("the same secret") }
            for server in [owner, stranger] { try await server.murder() }
        }
    }
}
