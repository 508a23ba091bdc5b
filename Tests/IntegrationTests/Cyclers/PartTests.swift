import Testing

@Suite("Case 133 — a part of a Cycler in its own session", .timeLimit(.minutes(60)))
struct PartTests {
    private func part(of session: SessionHandle) async throws -> SessionHandle {
        let id = "\(session.id)--row-1"
        let made = try await session.client.put("/v1/sessions/\(id)", #"{"reactor":"row"}"#)
        guard made.status == 201, let position = try made.json["position"]?.string else {
            throw UnexpectedAnswer(response: made)
        }
        return SessionHandle(client: session.client, id: id, created: position)
    }

    @Test func `case 133: a forwarded action is the parent's commit, on any loop`() async throws {
        try await withServer(.fixtures, "--loops", "3") { server in
            for _ in 1...6 {
                let parent = try await server.client().session("cycle")
                let states = try await parent.follow("states")
                let row = try await part(of: parent)
                #expect(
                    try await row.post(#"{"type":"forward"}"#, query: SessionHandle.settled).version
                        == 0)
                #expect(try await JSONValue(text: states.next().data)["count"] == 1)
                #expect(try await parent.read()["version"] == 1)
                #expect(try await row.post(#"{"type":"mark"}"#).version == 1)
            }
        }
    }

    @Test func `case 133: an orphan is 409, and nothing happens`() async throws {
        let orphan = try await sharedFixtures().session("row")
        try expectProblem(
            try await orphan.client.post("\(orphan.path)/actions", #"{"type":"forward"}"#), 409,
            "no_parent")
        #expect(try await orphan.post(#"{"type":"mark"}"#).version == 1)
    }

    @Test func `case 133: a missing or refusing parent is a failure, and the session lives`()
        async throws
    {
        let parent = try await sharedFixtures().session("cycle")
        let row = try await part(of: parent)
        let log = try await row.followLog()
        try await row.post(#"{"type":"forwardFailure"}"#)
        #expect(try await log.entry("effect.failed")["content"]?["error"] == "Fault()")
        #expect(try await parent.read()["version"] == 0)
        #expect(try await parent.client.delete(parent.path).status == 204)
        try await row.post(#"{"type":"forward"}"#)
        let failure = try await log.entry("effect.failed")
        #expect(failure["action"] == 2)
        #expect(failure["content"]?["error"]?.string?.contains("CyclerParentMissing") == true)
        #expect(try await row.post(#"{"type":"mark"}"#).version == 1)
    }
}
