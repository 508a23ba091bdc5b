import Foundation
import ReactorHosting
import Testing

@Suite("Tickets for EventSource", .timeLimit(.minutes(60)))
struct TicketTests {
    private static let all = "root;-;-;-;-;-;600"

    private func withTokens(
        _ options: String..., do body: (ServerProcess) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            let server = try await ServerProcess.start(
                .fixtures, ["--log-level", "trace"] + options, environment: ["FIXTURE_TOKENS": "1"])
            try await body(server)
            #expect(server.log.present.exit != .signal(11), "\(server.log.present.errors)")
        }
    }

    private func send(
        _ client: Client, _ method: String, _ path: String, _ json: String? = nil,
        as token: String? = all
    ) async throws -> Response {
        var request = json.map { Request.json(method, path, $0) } ?? Request(path: path)
        request.method = method
        if let token { request.fields.append(("Authorization", "Bearer \(token)")) }
        return try await client.send(request)
    }

    private func makeSession(_ client: Client, _ name: String) async throws {
        let made = try await send(
            client, "PUT", "/v1/sessions/\(name)", #"{"reactor":"pulses"}"#)
        #expect(made.status == 201)
    }

    /// A ticket for the stream at this path.
    private func ticket(
        _ client: Client, _ path: String, as token: String = all
    ) async throws -> String {
        let response = try await send(
            client, "POST", "/v1/tickets", #"{"stream":"\#(path)"}"#, as: token)
        try #require(response.status == 201, "\(response.text)")
        return try #require(try response.json["ticket"]?.string)
    }

    private func setA(_ client: Client, _ session: String, _ number: Int) async throws {
        let posted = try await send(
            client, "POST", "/v1/sessions/\(session)/actions",
            #"{"type":"setA","number":\#(number)}"#)
        #expect(posted.status == 200)
    }

    @Test func `a ticket opens its stream and resumes it, on any loop`() async throws {
        try await withTokens { server in
            let client = server.client()
            for session in (0..<6).map({ "s\($0)" }) {
                try await makeSession(client, session)
                let path = "/v1/sessions/\(session)/pulses"
                let url = "\(path)?pulse=a&ticket=\(try await ticket(client, path))"
                let first = try await client.open(url)
                #expect(try await first.next().data == #"{"a":null}"#)
                try await setA(client, session, 1)
                #expect(try await first.next().data == "1")
                let position = await first.lastID
                await first.close()
                try await setA(client, session, 2)
                let second = try await client.open(url, [("Last-Event-ID", position)])
                #expect(try await second.next().data == "2")
                await second.close()
            }
        }
    }

    @Test func `the response is not stored, and the ticket is for the stream that it names`()
        async throws
    {
        try await withTokens { server in
            let client = server.client()
            try await makeSession(client, "a")
            let body = #"{"stream":"/v1/sessions/a/pulses"}"#
            let made = try await send(client, "POST", "/v1/tickets", body)
            #expect(made.status == 201)
            #expect(made["Cache-Control"] == "no-store")
            #expect(made["Referrer-Policy"] == "no-referrer")
            #expect(try made.json["expiresAt"]?.string?.hasSuffix("Z") == true)
            let anonymous = try await send(client, "POST", "/v1/tickets", body, as: nil)
            #expect(anonymous.status == 401)
            let refused: [(String, String, Int)] = [
                (body, "ada;read;other;-;-;-;600", 403), (body, "ada;act;a;-;-;-;600", 403),
                (#"{"stream":"/v1/sessions/a/states"}"#, "ada;-;-;-;a;-;600", 403),
                (#"{"stream":"/v1/sessions/a/log"}"#, "ada;read;-;-;-;-;600", 403),
                (#"{"stream":"/v1/sessions/a/log"}"#, "ada;log;-;-;-;-;600", 201),
                (body, "ada;read;a;-;a;-;600", 201),
                ("{}", Self.all, 422), ("[]", Self.all, 422), ("{", Self.all, 400),
                (#"{"stream":7}"#, Self.all, 422), (#"{"stream":""}"#, Self.all, 422),
                (#"{"stream":"/v1/sessions/a"}"#, Self.all, 422),
                (#"{"stream":"/v1/sessions"}"#, Self.all, 201),
                (#"{"stream":"/v1/sessions/a/actions"}"#, Self.all, 422),
                (#"{"stream":"/v1/sessions/a%62/pulses"}"#, Self.all, 422),
                (#"{"stream":"/v1/sessions/a/pulses?pulse=a"}"#, Self.all, 201),
                (#"{"stream":"/v1/sessions/a/pulses?a=b c"}"#, Self.all, 422),
                (#"{"stream":"/v1/sessions/a/pulses?a=é"}"#, Self.all, 422),
                (#"{"stream":"/v1/sessions/a/pulses?a=1&ticket=x"}"#, Self.all, 422),
                (#"{"stream":"/v1/sessions/a/pulses#a"}"#, Self.all, 422),
                (#"{"stream":"http://a/v1/sessions/a/pulses"}"#, Self.all, 422),
                (#"{"stream":"/v1/sessions/a/pulses","until":9}"#, Self.all, 422),
            ]
            for (body, token, status) in refused {
                let response = try await send(client, "POST", "/v1/tickets", body, as: token)
                #expect(response.status == status, "\(body) \(token)")
                if status == 422 { #expect(try response.json["code"] == "not_a_ticket") }
            }
            // Whether the session exists is not revealed.
            let absent = try await send(
                client, "POST", "/v1/tickets", #"{"stream":"/v1/sessions/absent/pulses"}"#)
            #expect(absent.status == 201)
        }
    }

    @Test func `a ticket opens nothing else`() async throws {
        try await withTokens { server in
            let client = server.client()
            for session in ["a", "b"] { try await makeSession(client, session) }
            let path = "/v1/sessions/a/pulses"
            let ticket = try await ticket(client, path)
            let requests: [(String, String, Int, String)] = [
                ("GET", "/v1/sessions/b/pulses?ticket=\(ticket)", 401, "ticket_invalid"),
                ("GET", "/v1/sessions/a/events?ticket=\(ticket)", 401, "ticket_invalid"),
                ("GET", "/v1/sessions/a?ticket=\(ticket)", 400, "ticket_not_accepted"),
                ("GET", "/v1/sessions/a/log?ticket=\(ticket)", 400, "ticket_not_accepted"),
                ("GET", "/v1/sessions?ticket=\(ticket)", 400, "ticket_not_accepted"),
                ("GET", "/metrics?ticket", 400, "ticket_not_accepted"),
                ("POST", "/v1/sessions/a/actions?ticket=\(ticket)", 400, "ticket_not_accepted"),
                ("POST", "/v1/tickets?ticket=\(ticket)", 400, "ticket_not_accepted"),
                ("DELETE", "/v1/sessions/a?ticket=\(ticket)", 400, "ticket_not_accepted"),
                ("GET", "\(path)?ticket=\(ticket)&ticket=\(ticket)", 400, "ticket_repeated"),
                ("GET", "\(path)?ticket=", 401, "ticket_invalid"),
                ("GET", "\(path)?ticket=\(ticket)0", 401, "ticket_invalid"),
                ("GET", "\(path)?ticket=\(ticket.uppercased())G", 401, "ticket_invalid"),
                (
                    "GET", "\(path)?ticket=00000000000000000000000000000000", 401, "ticket_invalid"
                ),
                ("GET", "\(path)?%74icket=\(ticket)", 401, "token_missing"),
            ]
            for (method, target, status, code) in requests {
                let response = try await send(client, method, target, as: nil)
                #expect(response.status == status, "\(method) \(target)")
                #expect(try response.json["code"]?.string == code, "\(method) \(target)")
                #expect(!response.text.contains(ticket), "\(method) \(target)")
                if status == 401 { #expect(response["WWW-Authenticate"] != nil) }
            }
            let head = try await send(client, "HEAD", "\(path)?ticket=\(ticket)", as: nil)
            #expect(head.status == 400)
            let both = try await send(client, "GET", "\(path)?ticket=\(ticket)")
            #expect(both.status == 400)
            #expect(try both.json["code"] == "ticket_beside_token")
            // Earlier uses have not used the ticket up.
            for query in ["", "&pulse=a"] {
                let stream = try await client.open("\(path)?ticket=\(ticket)\(query)")
                #expect(try await stream.next().name == "snapshot")
            }
        }
    }

    @Test func `a ticket for a query opens that one, and each ticket any number of streams`()
        async throws
    {
        try await withTokens { server in
            let client = server.client()
            try await makeSession(client, "a")
            let path = "/v1/sessions/a/pulses"
            let ticket = try await ticket(client, "\(path)?pulse=a&ping=events")
            var streams: [EventStream] = []
            for query in [
                "pulse=a&ping=events&ticket=\(ticket)", "ticket=\(ticket)&pulse=a&ping=events",
                "pulse=a&ticket=\(ticket)&ping=events",
            ] {
                streams.append(try await client.open("\(path)?\(query)"))
            }
            for stream in streams { #expect(try await stream.next().name == "snapshot") }
            for query in [
                "pulse=a&ticket=\(ticket)", "ping=events&pulse=a&ticket=\(ticket)",
                "ticket=\(ticket)", "pulse=a&ping=events&&ticket=\(ticket)",
                "pulse=a&ping=events&pulse=b&ticket=\(ticket)",
            ] {
                let refused = try await client.get("\(path)?\(query)")
                #expect(refused.status == 401, "\(query)")
                #expect(try refused.json["code"] == "ticket_invalid")
            }
            try await setA(client, "a", 1)
            for stream in streams { #expect(try await stream.next().data == "1") }
        }
    }

    @Test func `tickets are never used up, by their client or by others`() async throws {
        try await withTokens { server in
            let client = server.client()
            try await makeSession(client, "a")
            let path = "/v1/sessions/a/pulses"
            let first = try await ticket(client, path)
            for number in 0..<300 {
                _ = try await ticket(client, path, as: "n\(number % 2);-;-;-;-;-;600")
            }
            let stream = try await client.open("\(path)?ticket=\(first)")
            #expect(try await stream.next().name == "snapshot")
            // A request target has no room for a longer ticket.
            let name = String(repeating: "n", count: 200)
            let lists = String(repeating: "a,", count: 3_000)
            let refused = try await send(
                client, "POST", "/v1/tickets", #"{"stream":"\#(path)"}"#,
                as: "\(name);read;a,\(lists);-;-;-;600")
            #expect(refused.status == 422)
            #expect(try refused.json["code"] == "token_not_for_ticket")
        }
    }

    @Test func `a stream with a ticket ends with its token, and so does the ticket`() async throws {
        try await withTokens { server in
            let client = server.client()
            try await makeSession(client, "a")
            let path = "/v1/sessions/a/states"
            var url = ""
            var events: [Event] = []
            // On a busy machine a token may be over before its stream is open: then a longer one.
            for seconds in [4, 16, 64] where events.isEmpty {
                let token = "ada;read;a;-;-;-;@\(Int(Date.now.timeIntervalSince1970) + seconds)"
                url = "\(path)?ticket=\(try await ticket(client, path, as: token))"
                events = try await client.open(url).rest()
            }
            #expect(events.map(\.name) == ["snapshot", "problem"])
            let problem = try JSONValue(text: events.last?.data ?? "")
            #expect(problem["code"] == "token_invalid")
            let again = try await client.get(url)
            #expect(again.status == 401)
            #expect(try again.json["code"] == "token_invalid")
        }
    }

    @Test func `no ticket and no token is in a log line, an error or a metric`() async throws {
        try await withTokens("--access-log", "on") { server in
            let client = server.client()
            try await makeSession(client, "a")
            let path = "/v1/sessions/a/pulses"
            let ticket = try await ticket(client, path)
            let stream = try await client.open("\(path)?ticket=\(ticket)")
            #expect(try await stream.next().name == "snapshot")
            await stream.close()
            let targets = [
                "\(path)?ticket=\(ticket)&pulse=x", "/v1/sessions/b/pulses?ticket=\(ticket)",
                "/v1/sessions/a?ticket=\(ticket)", "/nothing?ticket=\(ticket)",
                "/livez?ticket=\(ticket)", "\(path)?ticket=\(ticket)&ticket=\(ticket)",
                "\(path)?ticket=\(ticket)%zz",
                "/v1/sessions/b/pulses?from=\(ticket)x&ticket=\(ticket)",
            ]
            var texts: [String] = []
            for target in targets { texts.append(try await client.get(target).text) }
            // Bytes that are not HTTP.
            for line in [
                "GET \(path)?ticket=\(ticket)\u{1} HTTP/1.1", "GET \(path)?ticket=\(ticket)",
                "GET \(path)?ticket=\(ticket)\(String(repeating: "x", count: 20_000)) HTTP/1.1",
            ] {
                let raw = try RawConnection(port: server.port)
                await raw.send(
                    "\(line)\r\nHost: localhost\r\nAuthorization: Bearer \(Self.all)\r\n\r\n")
                texts.append(await raw.receiveAll().text)
            }
            texts.append(try await send(client, "GET", "/metrics").text)
            let unknown = try await send(client, "GET", "/v1/reactors", as: "secret;token")
            #expect(unknown.status == 401)
            texts.append(unknown.text)
            try await server.log.wait { $0.errors.contains("status=401") }
            server.signal(15)
            #expect(try await server.exit() == .code(0))
            let log = server.log.present.errors
            #expect(log.contains("operation=streamPulses"))
            for text in texts + [log] {
                #expect(!text.contains(ticket))
                #expect(!text.contains("root;-"))
                #expect(!text.contains("secret;token"))
            }
        }
    }

    @Test func `a page of an allowed origin can make a ticket and read the stream`() async throws {
        try await withTokens("--allow-origin", "https://a.example") { server in
            let client = server.client()
            try await makeSession(client, "a")
            let origin = (name: "Origin", value: "https://a.example")
            let preflight = try await client.send(
                Request(
                    method: "OPTIONS", path: "/v1/tickets",
                    fields: [origin, ("Access-Control-Request-Method", "POST")]))
            #expect(preflight.status == 204)
            #expect(preflight["Access-Control-Allow-Methods"]?.contains("POST") == true)
            #expect(preflight["Access-Control-Allow-Headers"]?.contains("Authorization") == true)
            let path = "/v1/sessions/a/pulses"
            let url = "\(path)?ticket=\(try await ticket(client, path))"
            let stream = try await client.open(url, [origin])
            #expect(await stream.head["Access-Control-Allow-Origin"] == "https://a.example")
            let refused = try await client.get(url + "0", [origin])
            #expect(refused.status == 401)
            #expect(refused["Access-Control-Allow-Origin"] == "https://a.example")
        }
    }

    @Test func `without authentication nothing needs a ticket`() async throws {
        let client = try await Servers.shared.process(.server).client()
        let made = try await client.post("/v1/tickets", #"{"stream":"/v1/sessions/a/pulses"}"#)
        #expect(made.status == 403)
        #expect(try made.json["code"] == "authentication_off")
        let session = try await client.session("alerts")
        let stream = try await client.open("\(session.path)/pulses?ticket=x")
        #expect(await stream.head.status == 200)
    }
}
