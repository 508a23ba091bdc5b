import ReactorHosting
import Testing

@Suite("RFC 9111 — every response has a Cache-Control", .timeLimit(.minutes(60)))
struct CacheControlTests {
    /// Operations whose responses a cache may keep and revalidate. It must not keep any other.
    private static let validated: Set<String> = [
        "readSession", "readLog", "readRuntime", "openapi", "home", "console", "consoleFile",
        "demo",
        "demoFile", "client", "clientFile", "clientOutbox", "clientHook",
    ]
    private static let stream = "no-store, no-transform"
    private static let bodies = [
        "postActions": #"{"type":"doSomeAction"}"#, "putStub": #"{"enabled":false}"#,
        "createSession": #"{"reactor":"alerts"}"#, "putSession": #"{"reactor":"alerts"}"#,
        "createTicket": "{}", "publishTopic": "1",
    ]

    private func check(
        _ client: Client, _ method: String, _ path: String, _ operation: String,
        _ fields: [(String, String)] = []
    ) async throws {
        let body = method == "GET" || method == "HEAD" ? nil : Self.bodies[operation]
        var request = body.map { Request.json(method, path, $0) } ?? Request(path: path)
        request.method = method
        request.fields += fields
        let response = try await client.send(request)
        let isStream = operation.hasPrefix("stream") && response.status == 200
        let mayBeKept =
            Self.validated.contains(operation) && [200, 304].contains(response.status)
            && ["GET", "HEAD"].contains(method)
        let expected = isStream ? Self.stream : mayBeKept ? "no-cache" : "no-store"
        #expect(
            response.head["Cache-Control"] == expected, "\(method) \(path): \(response.status)")
    }

    @Test func `of all routes, with success and with every kind of refusal`() async throws {
        try await withServer(.server, "--admin", "on", "--console", "on") { server in
            let client = server.client()
            let files = [
                "consoleFile": "console.js", "demoFile": "demo.js", "clientFile": "machine.js",
            ]
            for route in Route.table.sorted(by: { $1.operationID == "deleteSession" }) {
                _ = try await client.put("/v1/sessions/a", #"{"reactor":"alerts"}"#)
                let name = route.operationID
                let path = route.path.replacing("{topic}", with: "none")
                    .replacing("{file}", with: files[name] ?? "")
                let isStream = name.hasPrefix("stream")
                let query = name == "streamSessions" ? "?session=a" : ""
                let method = isStream ? "HEAD" : route.method
                for id in ["a", "absent", "a.b"] where id == "a" || path.contains("{id}") {
                    let path = path.replacing("{id}", with: id) + query
                    try await check(client, method, path, name)
                    try await check(
                        client, method, path + (query.isEmpty ? "?" : "&") + "x=1", name)
                    try await check(client, "PATCH", path, name)
                    try await check(client, "OPTIONS", path, name)
                    try await check(client, method, path, name, [("Accept", "image/png")])
                }
            }
            // Deleted by now: 410, and 204 for a stream.
            for path in ["", "/log", "/pulses"] {
                try await check(client, "GET", "/v1/sessions/a\(path)", "deleted")
            }
            let session = try await client.session("alerts")
            let tag = [("If-None-Match", "\"\(session.created)\"")]
            let known = try await client.get(session.path, tag)
            #expect(known.status == 304)
            #expect(known.head["Cache-Control"] == "no-cache")
            try await check(client, "GET", "/v1/nothing", "unknown")
        }
    }

    @Test func `a request that is none gets it, too`() async throws {
        let raw = try RawConnection(port: try await Servers.shared.process(.server).port)
        await raw.send("nonsense\r\n\r\n")
        let answer = await raw.answersToTheEnd().answers.first
        #expect(answer?.head.status == 400)
        #expect(answer?.head["Cache-Control"] == "no-store")
    }

    @Test func `a page of the log varies with Accept`() async throws {
        let session = try await sharedServer().session("alerts")
        #expect(try await session.client.get("\(session.path)/log").head["Vary"] == "Accept")
    }
}
