import ReactorHosting
import Testing

@Suite("Large bodies are examined beside the loop", .timeLimit(.minutes(60)))
struct LargeBodyTests {
    /// An action with `count` values that its type ignores, two bytes each.
    private func large(_ message: String, values count: Int = 100_000) -> String {
        let values = String(repeating: "1,", count: count)
        return #"{"unread":[\#(values)1],"type":"alert","message":"\#(message)"}"#
    }

    private func post(
        _ session: SessionHandle, _ body: String, key: String? = nil
    ) async throws -> Response {
        var request = Request.json("POST", "\(session.path)/actions", body)
        if let key { request.fields.append(("Idempotency-Key", key)) }
        return try await session.client.send(request)
    }

    @Test func `a large action is an action`() async throws {
        let session = try await sharedServer().session("alerts")
        let stream = try await session.follow("pulses")
        #expect(try await post(session, large("wide")).status == 200)
        #expect(try await stream.next().data == #""wide""#)
        #expect(try await post(session, "[\(large("one")),\(large("two"))]").status == 200)
        #expect(try await stream.next().data == #""one""#)
        #expect(try await stream.next().data == #""two""#)
    }

    @Test func `a fault in a large body is named as in a small one`() async throws {
        let session = try await sharedServer().session("alerts")
        let faults = [
            (large("a").dropLast() + "", "malformed_json"),
            (large("a").replacing(#":"alert""#, with: #":"none""#), "not_an_action"),
            (#"{"unread":1,\#(large("a").dropFirst())"#, "malformed_json"),
            ("[" + String(repeating: "{},", count: 30_000) + "{}]", "batch_too_large"),
            (String(repeating: "[", count: 100_000), "malformed_json"),
            (String(repeating: " ", count: 100_000), "malformed_json"),
        ]
        for (body, code) in faults {
            let response = try await post(session, String(body))
            #expect(try response.json["code"]?.string == code, "\(body.prefix(40))")
        }
        #expect(try await session.read()["version"] == 0)
    }

    @Test func `a repeated large body is carried out once`() async throws {
        let session = try await sharedServer().session("alerts")
        let first = try await post(session, large("once"), key: "k")
        #expect(first.status == 200)
        let again = try await post(session, large("once"), key: "k")
        #expect(again.body == first.body)
        let other = try await post(session, large("other"), key: "k")
        #expect(other.status == 422)
        #expect(try other.json["code"]?.string == "key_reused")
        #expect(try await session.read()["version"] == 1)
    }

    // The large one waits for a thread; a small one behind it on the same connection must
    // not overtake it.
    @Test func `requests of one connection keep their order`() async throws {
        try await LocalServer.with { server in
            #expect(try await server.create("s", of: "alerts") == 201)
            let connection = try server.connect()
            var expected: [String] = []
            for round in 1...5 {
                await connection.send("POST", "/v1/sessions/s/actions", large("large \(round)"))
                await connection.send("GET", "/v1/sessions/s", "")
                expected.append("large \(round)")
            }
            let answers = await connection.answers(10)
            #expect(answers.map(\.head.status) == Array(repeating: 200, count: 10))
            for (index, message) in expected.enumerated() {
                #expect(answers[2 * index + 1].body.contains(message))
            }
        }
    }

    @Test func `bodies of many connections are examined one after the other, none is lost`()
        async throws
    {
        try await LocalServer.with { server in
            #expect(try await server.create("s", of: "alerts") == 201)
            let connections = try (1...20).map { _ in try server.connect() }
            for connection in connections {
                await connection.send("POST", "/v1/sessions/s/actions", large("x"))
            }
            // Some of them leave: their places in the queue are skipped.
            let left = try (1...20).map { _ in try server.connect() }
            for connection in left {
                await connection.send("POST", "/v1/sessions/s/actions", large("left"))
                connection.makeCloseReset()
            }
            for connection in connections {
                #expect(await connection.answers(1).first?.head.status == 200)
            }
            let probe = try server.connect()
            await probe.send("POST", "/v1/sessions/s/actions", large("last"))
            #expect(await probe.answers(1).first?.head.status == 200)
        }
    }

    @Test func `a large body is counted in the budget of all bodies while it waits`() async throws {
        try await LocalServer.with { configuration in
            configuration.bodyLimitBytes = 200_000
            configuration.bodyBudgetBytes = 400_000
        } _: { server in
            #expect(try await server.create("s", of: "alerts") == 201)
            let connections = try (1...20).map { _ in try server.connect() }
            for connection in connections {
                await connection.send(
                    "POST", "/v1/sessions/s/actions", large("x", values: 80_000))
            }
            var statuses: [Int: Int] = [:]
            for connection in connections {
                let status = try #require(await connection.answers(1).first?.head.status)
                statuses[status, default: 0] += 1
            }
            #expect(Set(statuses.keys).isSubset(of: [200, 503]), "\(statuses)")
            // All of it is given back.
            let late = try server.connect()
            await late.send("POST", "/v1/sessions/s/actions", large("x", values: 80_000))
            #expect(await late.answers(1).first?.head.status == 200)
        }
    }

    @Test func `a large body wakes its session`() async throws {
        try await withJournal { journal in
            let server = try await journal.start("--session-idle", "200ms", "--loops", "2")
            let client = server.client()
            let sessions = [try await client.session("alerts"), try await client.session("alerts")]
            while try await client.metric("sessions") != 0 { try Task.checkCancellation() }
            for session in sessions {
                #expect(try await post(session, large("awake"), key: "k").status == 200)
            }
            for session in sessions { #expect(try await session.read()["version"] == 1) }
        }
    }

    @Test func `a body that only names things is small`() async throws {
        let client = try await sharedServer()
        let body = #"{"reactor":"alerts"\#(String(repeating: " ", count: 65_536))}"#
        for request in [
            Request.json("POST", "/v1/sessions", body), .json("PUT", "/v1/sessions/wide", body),
        ] {
            let response = try await client.send(request)
            #expect(response.status == 413)
            #expect(try response.json["code"]?.string == "body_too_large")
        }
        #expect(try await client.get("/v1/sessions/wide").status == 404)
    }
}
