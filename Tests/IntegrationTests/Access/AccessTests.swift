import ReactorHosting
import Testing

@Suite("RFC 6750 — who may do what", .timeLimit(.minutes(60)))
struct AccessTests {
    /// A server with an authenticator; see `Tests/FixtureServer/Tokens.swift` for its tokens.
    private func withTokens(_ body: (ServerProcess) async throws -> Void) async throws {
        try await withServer(
            .fixtures, "--admin", "on", "--console", "on", environment: ["FIXTURE_TOKENS": "1"],
            do: body)
    }

    private static let all = "root;-;-;-;-;-;600"

    /// - Parameter token: Nil to send none.
    private func send(
        _ client: Client, _ method: String, _ path: String, _ json: String? = nil, as token: String?
    ) async throws -> Response {
        var request = json.map { Request.json(method, path, $0) } ?? Request(path: path)
        request.method = method
        if let token { request.fields.append(("Authorization", "Bearer \(token)")) }
        return try await client.send(request)
    }

    private func code(_ response: Response) throws -> String? { try response.json["code"]?.string }

    /// A request for each route; `{id}` is `session`.
    private func send(
        _ client: Client, _ route: Route, _ session: String, as token: String?
    ) async throws -> Response {
        let files = [
            "consoleFile": "console.js", "demoFile": "demo.js", "clientFile": "machine.js",
        ]
        let path = route.path.replacing("{id}", with: session).replacing("{topic}", with: "none")
            .replacing("{file}", with: files[route.operationID] ?? "")
        let bodies = [
            "postActions": #"{"type":"add","number":1}"#, "putStub": #"{"enabled":false}"#,
            "publishTopic": "1", "createSession": #"{"reactor":"passing"}"#,
            "putSession": #"{"reactor":"passing"}"#,
            "createTicket": #"{"stream":"/v1/sessions/\#(session)/pulses"}"#,
        ]
        // HEAD of a stream ends.
        let isStream = route.operationID.hasPrefix("stream")
        return try await send(
            client, isStream ? "HEAD" : route.method, path, bodies[route.operationID], as: token)
    }

    @Test func `every route refuses a client without a token, or without its verb`() async throws {
        try await withTokens { server in
            let client = server.client()
            // Deleted last: the other routes need the session.
            for route in Route.table.sorted(by: { $1.operationID == "deleteSession" }) {
                _ = try await send(
                    client, "PUT", "/v1/sessions/here", #"{"reactor":"passing"}"#, as: Self.all)
                let anonymous = try await send(client, route, "here", as: nil)
                guard case .verb(let verb, _) = route.access else {
                    // The sample server alone has the page /demo.
                    let open = route.operationID.hasPrefix("demo") ? [404] : [200, 204]
                    let expected = route.access == .client ? [401] : open
                    #expect(expected.contains(anonymous.status), "\(route.operationID)")
                    continue
                }
                #expect(anonymous.status == 401, "\(route.operationID)")
                #expect(anonymous.head["WWW-Authenticate"]?.hasPrefix("Bearer realm=") == true)
                let verbs = Grants.Verb.allCases.filter { $0 != verb }.map(\.rawValue)
                let others = "eve;\(verbs.joined(separator: ","));-;-;-;-;600"
                let here = try await send(client, route, "here", as: others)
                let absent = try await send(client, route, "absent", as: others)
                let elsewhere = "eve;-;other-*;-;-;-;600"
                #expect(here.status == 403, "\(route.operationID)")
                #expect(here.head["WWW-Authenticate"]?.contains("insufficient_scope") == true)
                #expect(here.text == absent.text, "\(route.operationID)")
                #expect(here.status == absent.status, "\(route.operationID)")
                if route.concernsSession {
                    let here = try await send(client, route, "here", as: elsewhere)
                    let absent = try await send(client, route, "absent", as: elsewhere)
                    #expect(here.status == 403, "\(route.operationID)")
                    #expect(here.text == absent.text, "\(route.operationID)")
                }
                let admitted = try await send(
                    client, route, "here", as: "ada;\(verb.rawValue);-;-;-;-;600")
                #expect(![401, 403].contains(admitted.status), "\(route.operationID)")
            }
        }
    }

    @Test func `a field that is no bearer token is refused`() async throws {
        try await withTokens { server in
            let client = server.client()
            let tokens = [
                "Basic YWRhOmFkYQ==", "Bearer", "Bearer ", "Bearer\t\(Self.all)",
                "Bear \(Self.all)",
                "Bearer \(Self.all) x", "Bearer x, Bearer \(Self.all)", "Bearer,\(Self.all)",
                "Bearer \(String(repeating: "a", count: 8_193))", "Bearer é", "\(Self.all)",
            ]
            for token in tokens {
                let response = try await client.get("/v1/reactors", [("Authorization", token)])
                #expect(response.status == 401, "\(token.prefix(40))")
                #expect(response.head["WWW-Authenticate"] != nil, "\(token.prefix(40))")
            }
            let two = [("Authorization", "Bearer \(Self.all)"), ("Authorization", "Bearer x")]
            #expect(try await client.get("/v1/reactors", two).status == 401)
            for scheme in ["Bearer", "bearer", "BEARER", "Bearer  "] {
                let field = [("Authorization", "\(scheme) \(Self.all)")]
                #expect(try await client.get("/v1/reactors", field).status == 200, "\(scheme)")
            }
            // Kept from the request before, or verified: the same response.
            for _ in 0..<2 {
                let response = try await send(client, "GET", "/v1/reactors", as: "x;;;;;;60")
                #expect(try response.json == ["reactors": []] || response.status == 403)
            }
            #expect(
                try await send(client, "GET", "/metrics", as: "ada;read;-;-;-;-;60").status == 403)
            #expect(
                try await send(client, "GET", "/metrics", as: "ada;admin;-;-;-;-;60").status == 200)
            #expect(
                try await send(client, "GET", "/v1/reactors", as: "ada;-;-;-;-;-;0").status == 401)
            #expect(
                try await client.send(Request(method: "OPTIONS", path: "/v1/sessions")).status
                    == 204)
        }
    }

    @Test func `a session of a reactor that is not granted does not exist`() async throws {
        try await withTokens { server in
            let client = server.client()
            _ = try await send(
                client, "PUT", "/v1/sessions/a", #"{"reactor":"pulses"}"#, as: Self.all)
            let token = "ada;-;-;passing;-;-;600"
            for route in Route.table where route.concernsSession {
                let response = try await send(client, route, "a", as: token)
                let isPut = route.operationID == "putSession"
                #expect(response.status == (isPut ? 409 : 404), "\(route.operationID)")
                #expect(!response.text.contains("pulses") || route.method == "HEAD")
            }
            // A deleted one looks as if it had never existed.
            _ = try await send(
                client, "PUT", "/v1/sessions/was", #"{"reactor":"pulses"}"#, as: Self.all)
            #expect(
                try await send(client, "DELETE", "/v1/sessions/was", as: Self.all).status == 204)
            #expect(try await send(client, "GET", "/v1/sessions/was", as: Self.all).status == 410)
            for route in Route.table where route.concernsSession {
                let was = try await send(client, route, "was", as: token)
                if route.operationID == "putSession" {
                    #expect(try was.json["code"] == "other_reactor")
                    continue
                }
                let never = try await send(client, route, "never", as: token)
                #expect(was.status == 404 && never.status == 404, "\(route.operationID)")
                #expect(was.text == never.text.replacing("never", with: "was"))
            }
            let other = #"{"reactor":"pulses"}"#
            #expect(try await send(client, "PUT", "/v1/sessions/b", other, as: token).status == 403)
            #expect(try await send(client, "POST", "/v1/sessions", other, as: token).status == 403)
            let reactors = try await send(client, "GET", "/v1/reactors", as: token)
            #expect(try reactors.json["reactors"]?[0]?["name"] == "passing")
            #expect(try reactors.json["reactors"]?[1] == nil)
            #expect(try await send(client, "GET", "/v1/sessions", as: token).status == 403)
            let list = try await send(client, "GET", "/v1/sessions?reactor=passing", as: token)
            #expect(list.status == 200)
            #expect(try await send(client, "GET", "/v1/sessions/a", as: Self.all).status == 200)
        }
    }

    // A tag is a part of the state, which contains every pulse.
    @Test func `a client of some pulses sees no tags`() async throws {
        try await withTokens { server in
            let client = server.client()
            _ = try await send(
                client, "PUT", "/v1/sessions/a", #"{"reactor":"order"}"#, as: Self.all)
            let some = "some;-;-;-;status;-;600"
            for query in ["tag=status:open", "reactor=order&sort=changed"] {
                let refused = try await send(client, "GET", "/v1/sessions?\(query)", as: some)
                #expect(refused.status == 403, "\(query)")
            }
            let page = try await send(client, "GET", "/v1/sessions", as: some)
            #expect(page.status == 200 && page.text.contains(#""id":"a""#))
            #expect(!page.text.contains("open") && !page.text.contains("changed"))
            let whole = try await send(client, "GET", "/v1/sessions", as: Self.all)
            #expect(whole.text.contains(#""tags":{"status":"open"}"#))
        }
    }

    @Test func `a client of some pulses sees them alone`() async throws {
        try await withTokens { server in
            let client = server.client()
            let body = #"{"reactor":"pulses"}"#
            _ = try await send(client, "PUT", "/v1/sessions/a", body, as: Self.all)
            let token = [("Authorization", "Bearer ada;-;-;-;a,value;-;600")]
            let stream = try await client.open("/v1/sessions/a/pulses", token)
            let snapshot = try await stream.next()
            #expect(snapshot.name == "snapshot")
            #expect(snapshot.data == #"{"value":0,"a":null}"#)
            for action in [#"{"type":"setBoth","a":1,"b":2}"#, #"{"type":"setA","number":3}"#] {
                _ = try await send(
                    client, "POST", "/v1/sessions/a/actions", action, as: Self.all)
            }
            #expect(try await stream.next(2).map(\.data) == ["1", "3"])
            // The clients of this project read `/events` or `/v1/events`.
            let events = try await client.open("/v1/sessions/a/events?only=pulses", token)
            let present = try await events.next()
            #expect(present.name == "snapshot")
            #expect(present.data.contains(#""a":3"#) && !present.data.contains(#""b":"#))
            for path in ["a/pulses?pulse=a&pulse=b", "absent/pulses?pulse=b", "a/pulses?pulse=no"] {
                #expect(
                    try await client.get("/v1/sessions/\(path)", token).status == 403, "\(path)")
            }
            let absent = try await client.get("/v1/sessions/absent/pulses?pulse=a", token)
            #expect(absent.status == 404)
            for path in [
                "a", "a/states", "a/activities", "a/events", "a/events?only=states",
                "a/events?only=pulses,activities", "a/events?only=pulses&pulse=b",
                "absent/events",
            ] {
                #expect(
                    try await client.get("/v1/sessions/\(path)", token).status == 403, "\(path)")
            }
            // A client that accepts no stream gets a problem that shows whether the session has
            // ended.
            let asks = token + [("Accept", "application/problem+json")]
            for (path, status) in [("a/pulses", 406), ("absent/pulses", 404), ("a", 403)] {
                #expect(
                    try await client.get("/v1/sessions/\(path)", asks).status == status, "\(path)")
            }
            let fork = #"{"reactor":"pulses","from":{"session":"a"}}"#
            #expect(
                try await send(client, "POST", "/v1/sessions", fork, as: "ada;-;-;-;a;-;60").status
                    == 403)
            #expect(
                try await send(client, "POST", "/v1/sessions", fork, as: "ada;create;-;-;-;-;60")
                    .status == 403)
            #expect(
                try await send(client, "POST", "/v1/sessions", fork, as: Self.all).status == 201)
            _ = try await send(client, "DELETE", "/v1/sessions/a", as: Self.all)
            #expect(try await client.get("/v1/sessions/a/pulses", token).status == 204)
            try expectProblem(
                try await client.get("/v1/sessions/a/pulses", asks), 410, "session_ended")
        }
    }

    @Test func `a client of some action cases posts them alone`() async throws {
        try await withTokens { server in
            let client = server.client()
            for (session, reactor) in [("a", "pulses"), ("v", "values")] {
                _ = try await send(
                    client, "PUT", "/v1/sessions/\(session)", #"{"reactor":"\#(reactor)"}"#,
                    as: Self.all)
            }
            let posts: [(String, Int)] = [
                (#"{"type":"setA","number":1}"#, 200), (#"{"type":"setB","number":1}"#, 403),
                (#"[{"type":"setA","number":1},{"type":"touch"}]"#, 200),
                (#"[{"type":"setA","number":1},{"type":"setB","number":1}]"#, 403),
                (#"{"type":"setA","number":1,"type":"setB"}"#, 400),
                (#"{"type":"setA","t\u0079pe":"setB","number":1}"#, 400),
                (#"{"t\u0079pe":"setB","number":1}"#, 403), (#"{"setB":{"number":1}}"#, 403),
                (#"{"number":1}"#, 403), ("7", 403), (#"{"type":7}"#, 403), ("{", 400),
                (#""setB""#, 403), (#"[[{"type":"setA","number":1}]]"#, 403),
            ]
            for (action, status) in posts {
                let response = try await send(
                    client, "POST", "/v1/sessions/a/actions", action,
                    as: "ada;-;-;-;-;setA,touch;600")
                #expect(response.status == status, "\(action)")
            }
            let state = try await send(client, "GET", "/v1/sessions/a", as: Self.all).json
            #expect(state["version"] == 3)
            #expect(state["state"]?["b"] == .some(.null))
        }
    }

    /// The refusal of a repeated request must mean that the first one was not applied.
    @Test func `a key is looked for before the cases of actions are judged`() async throws {
        try await withTokens { server in
            let client = server.client()
            _ = try await send(
                client, "PUT", "/v1/sessions/a", #"{"reactor":"pulses"}"#, as: Self.all)
            func post(_ actions: String, granted: String) async throws -> Response {
                var request = Request.json("POST", "/v1/sessions/a/actions", actions)
                request.fields += [
                    ("Authorization", "Bearer ada;-;-;-;-;\(granted);600"),
                    ("Idempotency-Key", "k"),
                ]
                return try await client.send(request)
            }
            let body = #"{"type":"setB","number":1}"#
            let applied = try await post(body, granted: "setB")
            #expect(applied.status == 200)
            // Meanwhile the same client has got another token.
            let again = try await post(body, granted: "setA")
            #expect(again["Idempotency-Replayed"] == "true")
            #expect(again.text == applied.text)
            // An empty batch asks for the answer, whatever the body was.
            let asked = try await post("[]", granted: "setA")
            #expect(asked["Idempotency-Replayed"] == "true")
            #expect(asked.text == applied.text)
        }
    }

    @Test func `a stream ends with an event when its token expires`() async throws {
        try await withTokens { server in
            let client = server.client()
            let body = #"{"reactor":"passing"}"#
            _ = try await send(client, "PUT", "/v1/sessions/a", body, as: Self.all)
            var events: [Event] = []
            // On a busy machine a token may be over before its stream is open: then a longer one.
            for seconds in [2, 8, 32, 128] where events.isEmpty {
                let field = [("Authorization", "Bearer ada;read;a;-;-;-;\(seconds)")]
                let stream = try await client.open("/v1/sessions/a/states", field)
                events = try await stream.rest()
                #expect(await stream.endedCleanly)
            }
            #expect(events.map(\.name) == ["snapshot", "problem"])
            let problem = try JSONValue(text: events.last?.data ?? "")
            #expect(problem["status"] == 401)
            #expect(problem["code"] == "token_invalid")
        }
    }

    @Test func `a token that cannot be verified is a temporary problem`() async throws {
        try await withTokens { server in
            let client = server.client()
            let get = try await send(client, "GET", "/v1/sessions/a", as: "down")
            #expect(get.status == 503)
            #expect(get.head["Retry-After"] == "1")
            #expect(try code(get) == "tokens_unavailable")
            let stream = try await client.open(
                "/v1/sessions/a/pulses", [("Authorization", "Bearer down")])
            #expect(await stream.head.status == 200)
            #expect(try await stream.rest().map(\.name) == ["problem"])
        }
    }

    @Test func `requests after one that waits for its token keep their order, on any loop`()
        async throws
    {
        try await withTokens { server in
            let raw = try RawConnection(port: server.port)
            var requests = ""
            // Each has a token of its own, so each waits; the sessions are of both loops.
            for number in 0..<24 {
                let body = #"{"reactor":"passing"}"#
                requests += """
                    PUT /v1/sessions/s\(number) HTTP/1.1\r\nHost: localhost\r\n\
                    Authorization: Bearer c\(number);-;-;-;-;-;600\r\n\
                    Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\
                    \(body)
                    """
            }
            #expect(await raw.send(requests))
            let answers = await raw.answers(24)
            #expect(answers.map(\.head.status) == Array(repeating: 201, count: 24))
            let ids = try answers.map { try JSONValue(text: $0.body)["id"]?.string }
            #expect(ids == (0..<24).map { "s\($0)" })
        }
    }

    private func post(_ token: String?, length: Int, expects: Bool = true) -> String {
        "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + (token.map { "Authorization: Bearer \($0)\r\n" } ?? "")
            + (expects ? "Expect: 100-continue\r\n" : "") + "Content-Length: \(length)\r\n\r\n"
    }

    @Test(arguments: [
        (nil, 401, "token_missing"), ("wrong", 401, "token_invalid"),
        ("ada;read;-;-;-;-;600", 403, "forbidden"), ("down", 503, "tokens_unavailable"),
    ])
    func `a client without the right gets its refusal before its body`(
        token: String?, status: Int, code: String
    ) async throws {
        try await withTokens { server in
            // The second time the token is already verified.
            for expects in [true, false, true] {
                let raw = try RawConnection(port: server.port)
                await raw.send(post(token, length: 1_048_576, expects: expects))
                let (answers, ending) = await raw.answersToTheEnd()
                #expect(answers.map(\.head.status) == [status], "no 100 comes first")
                #expect(try JSONValue(text: answers.last?.body ?? "")["code"]?.string == code)
                #expect(answers.last?.head["Connection"] == "close")
                #expect(ending == .finished)
            }
        }
    }

    @Test func `a body follows when its token is verified, with or without 100 Continue`()
        async throws
    {
        try await withTokens { server in
            let body = #"{"reactor":"passing"}"#
            for (number, expects) in [true, false].enumerated() {
                let raw = try RawConnection(port: server.port)
                let token = "held\(number);-;-;-;-;-;600"
                let head = post(token, length: body.utf8.count, expects: expects)
                // While the token is being verified, some of the body arrives, and later another
                // request.
                await raw.send(expects ? head : head + body.prefix(7))
                if !expects { await raw.send(String(body.dropFirst(7))) }
                _ = try await send(server.client(), "GET", "/livez", as: "release;-;-;-;-;-;60")
                _ = try await send(
                    server.client(), "GET", "/v1/reactors", as: "release;-;-;-;-;-;60")
                if expects {
                    #expect(await raw.answers(1).map(\.head.status) == [100])
                    await raw.send(body)
                }
                await raw.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                let statuses = await raw.answers(expects ? 3 : 2).map(\.head.status)
                #expect(statuses.suffix(2) == [201, 200])
            }
        }
    }

    @Test func `a client that leaves while its token is verified leaves nothing behind`()
        async throws
    {
        try await withTokens { server in
            let client = server.client()
            let get = { (name: String) in
                """
                GET /v1/sessions/a HTTP/1.1\r\nHost: localhost\r\n\
                Authorization: Bearer \(name);-;-;-;-;-;600\r\n\r\n
                """
            }
            var leaving = try (0..<20).map { _ in try RawConnection(port: server.port) }
            for (number, raw) in leaving.enumerated() { await raw.send(get("held\(number)")) }
            let staying = try RawConnection(port: server.port)
            await staying.send(get("held"))
            try await untilOpen(22, at: client)
            // Reset: a client that only ends its output still waits for the response.
            for raw in leaving { raw.makeCloseReset() }
            leaving = []
            try await untilOpen(2, at: client)
            #expect(
                try await send(client, "GET", "/v1/reactors", as: "release;-;-;-;-;-;60").status
                    == 200)
            let answer = await staying.answers(1)
            #expect(answer.map(\.head.status) == [404])
            #expect(try await send(client, "GET", "/v1/sessions/a", as: Self.all).status == 404)
        }
    }

    /// Waits until the server has that many connections, the one that asks included.
    private func untilOpen(_ count: Int, at client: Client) async throws {
        while true {
            let metrics = try await send(client, "GET", "/metrics", as: Self.all)
            if metrics.text.contains("reactor_connections \(count)\n") { return }
            await Task.yield()
        }
    }
}
