import Testing

@Suite("Many sessions on one stream: who may read what", .timeLimit(.minutes(60)))
struct VectorAccessTests {
    private static let all = "root;-;-;-;-;-;600"

    private func withTokens(_ body: (ServerProcess) async throws -> Void) async throws {
        try await withServer(
            .fixtures, "--loops", "2", environment: ["FIXTURE_TOKENS": "1"], do: body)
    }

    private func send(
        _ client: Client, _ method: String, _ path: String, _ json: String, as token: String = all
    ) async throws -> Response {
        var request = Request.json(method, path, json)
        request.fields.append(("Authorization", "Bearer \(token)"))
        return try await client.send(request)
    }

    private func make(
        _ client: Client, _ names: [String], of reactor: String = "pulses", as token: String = all
    ) async throws {
        for name in names {
            let made = try await send(
                client, "PUT", "/v1/sessions/\(name)", #"{"reactor":"\#(reactor)"}"#, as: token)
            #expect(made.status == 201)
        }
    }

    private func setA(_ client: Client, _ session: String, _ number: Int) async throws {
        let posted = try await send(
            client, "POST", "/v1/sessions/\(session)/actions",
            #"{"type":"setA","number":\#(number)}"#)
        #expect(posted.status == 200)
    }

    /// The events of the sessions until each has an entry.
    private func beginnings(
        _ client: Client, _ names: [String], _ query: String = "", as token: String
    ) async throws -> [[String]] {
        var reader = VectorReader(names)
        let stream = try await client.open(
            reader.path(query), [("Authorization", "Bearer \(token)")])
        guard await stream.head.status == 200 else {
            throw UnexpectedAnswer(response: await stream.response())
        }
        try await reader.read(stream) { !$0.entries.contains("-") }
        await stream.close()
        return reader.events.map { $0.map { $0.name == "end" ? $0.data : $0.name } }
    }

    @Test func `a session that the token does not permit ends alone, also one that does not exist`()
        async throws
    {
        try await withTokens { server in
            let client = server.client()
            try await make(client, ["a", "b", "c"])
            try await make(client, ["p"], of: "passing")
            try await make(client, ["own"], as: "ada;-;@;-;-;-;600")
            let forbidden = [#"{"reason":"forbidden"}"#]
            let unknown = [#"{"reason":"unknown"}"#]
            #expect(
                try await beginnings(
                    client, ["c", "a", "nobody", "b"], as: "ada;read;a,b;-;-;-;600")
                    == [forbidden, ["snapshot"], forbidden, ["snapshot"]])
            // Sessions of others, and of other reactors, do not exist.
            #expect(
                try await beginnings(
                    client, ["a", "own", "nobody"], as: "ada;read;@;-;-;-;600")
                    == [unknown, ["snapshot"], unknown])
            #expect(
                try await beginnings(
                    client, ["a", "p", "nobody"], as: "ada;read;-;passing;-;-;600")
                    == [unknown, ["snapshot"], unknown])
            // All are over: 204, without a word about which exist.
            let over = try await client.get(
                VectorReader.path(["c", "nobody"], "&after=x,x"),
                [("Authorization", "Bearer ada;read;a;-;-;-;600")])
            #expect(over.status == 204)
        }
    }

    @Test func `a client of some pulses sees them alone`() async throws {
        try await withTokens { server in
            let client = server.client()
            try await make(client, ["a", "b"])
            let token = "ada;read;-;-;a;-;600"
            let fields = [(name: "Authorization", value: "Bearer \(token)")]
            for query in ["", "&only=states", "&only=pulses,activities", "&only=pulses&pulse=b"] {
                let response = try await client.get(VectorReader.path(["a", "b"], query), fields)
                #expect(response.status == 403, "\(query)")
            }
            var reader = VectorReader(["a", "b"])
            let stream = try await client.open(reader.path("&only=pulses"), fields)
            try await reader.read(stream) { !$0.entries.contains("-") }
            #expect(reader.events.map { $0.map(\.data) } == [[#"{"a":null}"#], [#"{"a":null}"#]])
            for name in ["a", "b"] {
                let body = #"{"type":"setBoth","a":1,"b":2}"#
                _ = try await send(client, "POST", "/v1/sessions/\(name)/actions", body)
                try await setA(client, name, 3)
            }
            try await reader.read(stream) { $0.events.allSatisfy { $0.count == 3 } }
            for events in reader.events { #expect(events.dropFirst().map(\.data) == ["1", "3"]) }
        }
    }

    @Test func `the stream ends with an event when the token expires, and continues with another`()
        async throws
    {
        try await withTokens { server in
            let client = server.client()
            try await make(client, ["a", "b"])
            var reader = VectorReader(["a", "b"])
            // On a busy machine a token may be over before its stream is open: then a longer one.
            for seconds in [2, 8, 32, 128] where reader.others.isEmpty {
                let stream = try await client.open(
                    reader.path(), [("Authorization", "Bearer ada;read;-;-;-;-;\(seconds)")])
                guard await stream.head.status == 200 else { continue }
                var fresh = VectorReader(["a", "b"])
                for event in try await stream.rest() { fresh.read(.event(event)) }
                if !fresh.entries.contains("-") { reader = fresh }
                #expect(await stream.endedCleanly)
            }
            #expect(reader.others.map(\.name) == ["problem"])
            let problem = try JSONValue(text: reader.others.last?.data ?? "")
            #expect(problem["status"] == 401)
            #expect(problem["code"] == "token_invalid")
            for name in ["a", "b"] { try await setA(client, name, 1) }
            let again = try await client.open(
                reader.path("&only=pulses"),
                [
                    ("Authorization", "Bearer ada;read;-;-;-;-;600"),
                    ("Last-Event-ID", reader.vector),
                ])
            var next = VectorReader(["a", "b"], from: reader.entries)
            try await next.read(again) { $0.events.allSatisfy { $0.count == 1 } }
            #expect(next.events.map { $0.map(\.data) } == [["1"], ["1"]])
        }
    }

    // MARK: Tickets

    private func ticket(_ client: Client, as token: String = all) async throws -> String {
        let response = try await send(
            client, "POST", "/v1/tickets", #"{"stream":"/v1/events"}"#, as: token)
        try #require(response.status == 201, "\(response.text)")
        return try #require(try response.json["ticket"]?.string)
    }

    @Test func `a ticket opens the stream, and resumes it after its use`() async throws {
        try await withTokens { server in
            let client = server.client()
            let names = (0..<6).map { "s\($0)" }
            try await make(client, names)
            var reader = VectorReader(names)
            let query = "&only=pulses&ticket=\(try await ticket(client))"
            let first = try await client.open(reader.path(query))
            try await reader.read(first) { !$0.entries.contains("-") }
            await first.close()
            for round in 1...3 {
                for name in names { try await setA(client, name, round) }
                // As EventSource does it: the same URL, with the id in a field.
                let again = try await client.open(
                    reader.path(query), [("Last-Event-ID", reader.vector)])
                var next = VectorReader(names, from: reader.entries)
                try await next.read(again) { $0.events.allSatisfy { $0.count == 1 } }
                #expect(next.events.map { $0.map(\.data) } == names.map { _ in ["\(round)"] })
                reader = next
                await again.close()
            }
        }
    }

    @Test func `a ticket permits what its token does, for any sessions or for those of its query`()
        async throws
    {
        try await withTokens { server in
            let client = server.client()
            try await make(client, ["a", "b", "c"])
            let any = try await ticket(client, as: "ada;read;a,b;-;-;-;600")
            let first = try await client.open(VectorReader.path(["a", "c"], "&ticket=\(any)"))
            let ended = try await first.next(2).first { $0.name == "c/end" }
            #expect(ended?.data == #"{"reason":"forbidden"}"#)
            let elsewhere = try await client.get("/v1/sessions/a/events?ticket=\(any)")
            #expect(elsewhere.status == 401)
            // The query of the stream, without its ticket.
            let path = VectorReader.path(["a", "b"], "")
            let made = try await send(
                client, "POST", "/v1/tickets", #"{"stream":"\#(path)"}"#,
                as: "ada;read;a,b;-;-;-;600")
            let bound = try #require(try made.json["ticket"]?.string, "\(made.text)")
            let second = try await client.open("\(path)&ticket=\(bound)")
            #expect(await second.head.status == 200)
            for sessions in [["b", "a"], ["a"], ["a", "c"]] {
                let refused = try await client.get(VectorReader.path(sessions, "&ticket=\(bound)"))
                #expect(refused.status == 401)
                #expect(try refused.json["code"] == "ticket_invalid")
            }
            for (body, status) in [
                (#"{"stream":"/v1/event"}"#, 422), (#"{"stream":"/v1/events"}"#, 201),
            ] {
                let response = try await send(client, "POST", "/v1/tickets", body)
                #expect(response.status == status, "\(body)")
            }
            let posting = try await send(
                client, "POST", "/v1/tickets", #"{"stream":"/v1/events"}"#,
                as: "ada;act;-;-;-;-;600")
            #expect(posting.status == 403)
        }
    }
}
