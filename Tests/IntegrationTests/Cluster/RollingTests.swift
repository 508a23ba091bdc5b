import Foundation
import PostgresRig
import Testing

@Suite("Nodes with different programs", .timeLimit(.minutes(15)))
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

    @Test func `a reactor that one node hosts is created and served at any node`() async throws {
        try await withNodes { nodes in
            let plain = try await nodes.start(.server)
            let host = try await program(1, nodes)
            // The other node is known with the next beat.
            let path = "/v1/sessions/there"
            var made = try await plain.client().put(path, #"{"reactor":"versioned"}"#)
            while made.status == 422 {
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
            // A session that no node can read is deleted all the same.
            try await host.murder()
            var deleted = try await plain.client().delete(path).status
            while deleted == 503 { deleted = try await plain.client().delete(path).status }
            #expect(deleted == 204)
            try await plain.murder()
        }
    }
}
