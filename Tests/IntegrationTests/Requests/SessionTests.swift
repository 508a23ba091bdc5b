import Testing

@Suite("Contract §3 — sessions are created, read and deleted", .timeLimit(.minutes(60)))
struct SessionTests {
    @Test func `POST creates a session with an id of 128 random bits`() async throws {
        let client = try await sharedServer()
        var ids: Set<String> = []
        for _ in 1...20 {
            let response = try await client.post("/v1/sessions", #"{"reactor":"alerts"}"#)
            #expect(response.status == 201)
            let id = try #require(try response.json["id"]?.string)
            #expect(response["Location"] == "/v1/sessions/\(id)")
            // 22 characters of 6 bits hold 128 bits.
            #expect(id.utf8.count >= 22)
            ids.insert(id)
        }
        #expect(ids.count == 20)
    }

    @Test func `a session that POST created exists`() async throws {
        let client = try await sharedServer()
        let made = try await client.post("/v1/sessions", #"{"reactor":"counter"}"#)
        let location = try #require(made["Location"])
        let read = try await client.get(location).json
        #expect(read["reactor"] == "counter")
        #expect(read["version"] == 0)
        #expect(try read["position"] == made.json["position"])
        #expect(read["state"] == ["count": 0])
    }

    @Test func `PUT returns 201, then 200, and 409 for another reactor`() async throws {
        let client = try await sharedServer()
        let path = "/v1/sessions/put-\(UInt64.random(in: 0 ... .max))"
        let first = try await client.put(path, #"{"reactor":"alerts"}"#)
        let second = try await client.put(path, #"{"reactor":"alerts"}"#)
        #expect(first.status == 201)
        #expect(first["Location"] == path)
        #expect(second.status == 200)
        #expect(try first.json == second.json)
        try expectProblem(
            try await client.put(path, #"{"reactor":"counter"}"#), 409, "other_reactor",
            detail: "alerts")
    }

    @Test func `a session that is put again keeps its state`() async throws {
        let session = try await sharedServer().session("counter")
        try await session.post(#"{"type":"increment","number":5}"#)
        let again = try await session.client.put(session.path, #"{"reactor":"counter"}"#)
        #expect(try again.json["version"] == 1)
        #expect(try await session.state() == ["count": 5])
    }

    @Test func `the body of a new session names a hosted reactor`() async throws {
        let client = try await sharedServer()
        for send in [
            { try await client.post("/v1/sessions", $0) },
            { try await client.put("/v1/sessions/unmade", $0) },
        ] as [(String) async throws -> Response] {
            try expectProblem(
                try await send(#"{"reactor":"weather"}"#), 422, "unknown_reactor",
                detail: "weather")
            try expectProblem(try await send("{}"), 422, "not_a_session", detail: "reactor")
            try expectProblem(try await send(#"{"reactor":7}"#), 422, "not_a_session")
            try expectProblem(try await send("[]"), 422, "not_a_session")
            try expectProblem(
                try await send(#"{"reactor":"alerts","fromm":1}"#), 422, "not_a_session",
                detail: "/fromm: unknown member; the members are reactor, input, from")
            try expectProblem(
                try await send(#"{"reactor":"alerts","from":{"session":"a","verison":1}}"#), 422,
                "not_a_session", detail: "/from/verison: unknown member")
            try expectProblem(try await send("{"), 400, "malformed_json")
            try expectProblem(try await send(""), 400, "malformed_json")
        }
        #expect(try await client.get("/v1/sessions/unmade").status == 404)
    }

    @Test func `GET returns the state, with its position as ETag`() async throws {
        let session = try await sharedServer().session("alerts")
        let receipt = try await session.alert("Hello")
        let response = try await session.client.get(session.path)
        #expect(response.status == 200)
        #expect(response["Content-Type"] == "application/json")
        #expect(response["ETag"] == "\"\(receipt.position)\"")
        #expect(
            try response.json == [
                "id": .string(session.id), "reactor": "alerts", "version": 1,
                "position": .string(receipt.position),
                "state": ["alertMessage": "Hello", "actions": 0],
            ])
    }

    @Test(arguments: ["{}", "W/{}", "\"other\", {}", "W/\"x\" ,\t{}", "*"])
    func `If-None-Match with the present position gets 304`(form: String) async throws {
        let session = try await sharedServer().session("alerts")
        let receipt = try await session.alert("Hello")
        let tag = "\"\(receipt.position)\""
        let known = form.replacing("{}", with: tag)
        let response = try await session.client.get(session.path, [("If-None-Match", known)])
        #expect(response.status == 304)
        #expect(response.body.isEmpty)
        #expect(response["ETag"] == tag)
        #expect(response["Content-Length"] == nil)
    }

    @Test func `If-None-Match with an older position gets the full response`() async throws {
        let session = try await sharedServer().session("alerts")
        let tag = "\"\(try await session.alert("Hello").position)\""
        try await session.alert("Hello")
        let response = try await session.client.get(session.path, [("If-None-Match", tag)])
        #expect(response.status == 200)
        #expect(try response.json["version"] == 2)
        try expectProblem(
            try await session.client.get(session.path, [("If-None-Match", "unquoted")]), 400,
            "malformed_entity_tag", detail: "If-None-Match")
    }

    @Test func `version selects the state at that version`() async throws {
        let session = try await sharedServer().session("counter")
        for _ in 1...5 { try await session.post(#"{"type":"increment","number":3}"#) }
        for version in 0...5 {
            let response = try await session.client.get("\(session.path)?version=\(version)")
            #expect(try response.json["version"] == .integer(version))
            #expect(try response.json["state"] == ["count": .integer(3 * version)])
            // Case 158. Beyond ten it emits an activity, which is a record and no version.
            let position = "\(session.generation).\(version < 5 ? version : 6)"
            #expect(try response.json["position"] == .string(position))
            #expect(response["ETag"] == "\"\(position)\"")
        }
        try expectProblem(
            try await session.client.get("\(session.path)?version=6"), 404, "unknown_version",
            detail: "0 to 5")
        for bad in ["-1", "x", "", "1.0", "18446744073709551616"] {
            try expectProblem(
                try await session.client.get("\(session.path)?version=\(bad)"), 400,
                "bad_version", detail: "version")
        }
    }

    @Test func `case 3: reading never counts`() async throws {
        let session = try await sharedServer().session("alerts")
        let stream = try await session.follow("pulses")
        for _ in 1...50 { _ = try await session.read() }
        try await session.alert("sentinel")
        #expect(try await stream.next().data == #""sentinel""#)
    }

    @Test func `case 66: a hundred first requests to one id create one session`() async throws {
        let client = try await sharedServer()
        let path = "/v1/sessions/first-\(UInt64.random(in: 0 ... .max))"
        let responses = try await withThrowingTaskGroup(of: Response.self) { group in
            for _ in 1...100 {
                group.addTask { try await client.put(path, #"{"reactor":"alerts"}"#) }
            }
            return try await group.reduce(into: [Response]()) { $0.append($1) }
        }
        #expect(responses.count(where: { $0.status == 201 }) == 1)
        #expect(responses.count(where: { $0.status == 200 }) == 99)
        #expect(Set(try responses.map { try $0.json["position"]?.string }).count == 1)
    }

    @Test func `two sessions do not affect each other (case 8)`() async throws {
        let client = try await sharedServer()
        let one = try await client.session("alerts")
        let other = try await client.session("alerts")
        #expect(one.generation != other.generation)
        let stream = try await other.follow("pulses")
        try await one.alert("for one")
        try await other.alert("sentinel")
        #expect(try await stream.next().data == #""sentinel""#)
        #expect(try await other.read()["version"] == 1)
    }
}

@Suite("Contract §3 — the end of a session", .timeLimit(.minutes(60)))
struct SessionEndTests {
    @Test func `a deleted session is gone: 410, and 204 for streams`() async throws {
        let session = try await sharedServer().session("alerts")
        let client = session.client
        let answer = try await client.delete(session.path)
        #expect(answer.status == 204)
        #expect(answer.body.isEmpty)
        #expect(answer["Content-Length"] == nil)
        try expectProblem(try await client.get(session.path), 410, "session_ended")
        try expectProblem(try await client.delete(session.path), 410, "session_ended")
        try expectProblem(
            try await client.put(session.path, #"{"reactor":"alerts"}"#), 410, "session_ended")
        try expectProblem(
            try await client.post("\(session.path)/actions", #"{"type":"doSomeAction"}"#), 410,
            "session_ended", detail: session.id)
        for stream in ["pulses", "activities", "states", "events"] {
            let response = try await client.get("\(session.path)/\(stream)")
            #expect(response.status == 204)
            #expect(response.body.isEmpty)
        }
    }

    @Test func `a session that never existed is 404 everywhere, and is not created`() async throws {
        let client = try await sharedServer()
        let path = "/v1/sessions/never-\(UInt64.random(in: 0 ... .max))"
        for stream in ["pulses", "activities", "states", "events"] {
            try expectProblem(
                try await client.get("\(path)/\(stream)"), 404, "unknown_session")
        }
        try expectProblem(
            try await client.post("\(path)/actions", #"{"type":"doSomeAction"}"#), 404,
            "unknown_session")
        try expectProblem(try await client.delete(path), 404, "unknown_session")
        try expectProblem(try await client.get(path), 404, "unknown_session")
    }

    @Test func `a session limit refuses new ones and leaves the old alone`() async throws {
        try await withServer(.server, "--session-limit", "2", "--loops", "1") { server in
            let client = server.client()
            let first = try await client.session("alerts")
            _ = try await client.session("alerts")
            let refused = try await client.post("/v1/sessions", #"{"reactor":"alerts"}"#)
            try expectProblem(refused, 503, "session_limit")
            #expect(refused["Retry-After"] != nil)
            #expect(try await first.alert("still here").version == 1)
            #expect(try await client.delete(first.path).status == 204)
            #expect(
                try await client.post("/v1/sessions", #"{"reactor":"alerts"}"#).status == 201)
        }
    }
}

@Suite("Contract §3 — session ids", .timeLimit(.minutes(60)))
struct SessionIDTests {
    @Test(arguments: ["a", "A-z_0-9", String(repeating: "x", count: 128)])
    func `an id of the alphabet is accepted`(id: String) async throws {
        let client = try await sharedServer()
        let path = "/v1/sessions/\(id)"
        #expect([200, 201].contains(try await client.put(path, #"{"reactor":"alerts"}"#).status))
    }

    @Test(arguments: [
        String(repeating: "x", count: 129), "a.b", "a%20b", "a%2Fb", "%C3%A4", "a%00", "~", "a:b",
        "a@b", "..", "*", "%61", "%61dmin", "a%2", "%ff",
    ])
    func `any other id is 400`(id: String) async throws {
        let client = try await sharedServer()
        let path = "/v1/sessions/\(id)"
        let detail = "session id"
        try expectProblem(
            try await client.put(path, #"{"reactor":"alerts"}"#), 400, "bad_session_id",
            detail: detail)
        try expectProblem(try await client.get(path), 400, "bad_session_id", detail: detail)
        try expectProblem(
            try await client.get("\(path)/pulses"), 400, "bad_session_id", detail: detail)
    }

    @Test func `a broken percent escape is named`() async throws {
        let client = try await sharedServer()
        try expectProblem(
            try await client.get("/v1/sessions?after=%zz"), 400, "malformed_percent_escape")
    }
}
