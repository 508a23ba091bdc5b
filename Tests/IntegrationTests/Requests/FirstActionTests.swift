import Testing

@Suite("ADR-0095 — the first action may create its session", .timeLimit(.minutes(60)))
struct FirstActionTests {
    private static let alert = #"{"type":"alert","message":"Hello"}"#

    private func post(
        _ client: Client, _ id: String, _ reactor: String?, _ action: String = alert,
        _ fields: [(name: String, value: String)] = []
    ) async throws -> Response {
        let query = reactor.map { "?reactor=\($0)" } ?? ""
        var request = Request.json("POST", "/v1/sessions/\(id)/actions\(query)", action)
        request.fields += fields
        return try await client.send(request)
    }

    @Test func `one request creates the session and applies its action, for good`() async throws {
        try await withJournal { journal in
            var server = try await journal.start()
            let first = try await post(server.client(), "new", "alerts")
            #expect(first.status == 200, "\(first.text)")
            #expect(try first.json["version"]?.integer == 1)
            // The session exists, so the name only has to be that of its reactor.
            let second = try await post(server.client(), "new", "alerts")
            #expect(try second.json["version"]?.integer == 2)
            #expect(
                try await server.client().put("/v1/sessions/new", #"{"reactor":"alerts"}"#).status
                    == 200)
            let before = try await server.client().get("/v1/sessions/new").text
            try await server.murder()
            server = try await journal.start()
            #expect(try await server.client().get("/v1/sessions/new").text == before)
        }
    }

    @Test func `a key is one action, and one session`() async throws {
        try await withJournal { journal in
            let server = try await journal.start()
            let client = server.client()
            let key = [(name: "Idempotency-Key", value: "k")]
            let first = try await post(client, "new", "alerts", Self.alert, key)
            let again = try await post(client, "new", "alerts", Self.alert, key)
            #expect(first.status == 200 && again.text == first.text)
            #expect(again["Idempotency-Replayed"] == "true")
            withExtendedLifetime(server) {}
        }
    }

    @Test func `what cannot be created is refused by name, and an existing session is not changed`()
        async throws
    {
        try await Turnstile.servers.pass {
            let server = try await ServerProcess.start(.fixtures)
            let client = server.client()
            let add = #"{"type":"add","number":1}"#
            let refusals = [
                (try await post(client, "a", nil), 404, "unknown_session"),
                (try await post(client, "a", "nobody"), 422, "unknown_reactor"),
                (try await post(client, "a", ""), 422, "unknown_reactor"),
                (try await post(client, "a", "seat"), 422, "not_an_input"),
                (try await post(client, "a", "passing", "{"), 400, "malformed_json"),
            ]
            for (response, status, code) in refusals {
                #expect(response.status == status, "\(response.text)")
                #expect(try response.json["code"]?.string == code)
            }
            _ = try await client.put("/v1/sessions/b", #"{"reactor":"passing"}"#)
            let other = try await post(client, "b", "pulses")
            #expect(try other.status == 409 && other.json["code"] == "other_reactor")
            #expect(try await client.get("/v1/sessions/b").json["version"]?.integer == 0)
            _ = try await client.delete("/v1/sessions/b")
            let ended = try await post(client, "b", "passing", add)
            #expect(try ended.status == 410 && ended.json["code"] == "session_ended")
            for (name, value) in [("If-Match", "*"), ("Idempotency-Key", "a b")] {
                let refused = try await post(client, "d", "passing", add, [(name, value)])
                #expect(refused.status == (name == "If-Match" ? 404 : 400))
                #expect(try await client.get("/v1/sessions/d").status == 404)
            }
            // As after a PUT, the session is there.
            let unknown = try await post(client, "c", "passing", #"{"type":"none"}"#)
            #expect(try unknown.status == 422 && unknown.json["code"] == "not_an_action")
            #expect(try await client.get("/v1/sessions/c").json["version"]?.integer == 0)
            withExtendedLifetime(server) {}
        }
    }

    @Test func `a token needs create for the reactor, and the client owns the session`()
        async throws
    {
        try await Turnstile.servers.pass {
            let server = try await ServerProcess.start(
                .fixtures, ["--subject-session-limit", "2"], environment: ["FIXTURE_TOKENS": "1"])
            let add = #"{"type":"add","number":1}"#
            func post(_ id: String, as token: String) async throws -> Response {
                try await self.post(
                    server.client(), id, "passing", add,
                    [(name: "Authorization", value: "Bearer \(token)")])
            }
            #expect(try await post("a", as: "ada;act;-;-;-;-;600").status == 403)
            #expect(try await post("a", as: "ada;act,create;-;pulses;-;-;600").status == 403)
            #expect(try await post("a", as: "ada;act,create;b-*;-;-;-;600").status == 403)
            let own = "ada;act,create;@;-;-;-;600"
            #expect(try await post("a", as: own).status == 200)
            #expect(try await post("a", as: own).status == 200)
            #expect(try await post("a", as: "eve;act,create;@;-;-;-;600").status == 404)
            #expect(try await post("b", as: own).status == 200)
            let third = try await post("c", as: own)
            #expect(try third.json["code"] == "too_many_sessions", "\(third.text)")
        }
    }
}
