import Testing

@Suite("RFC 9110 §9 — methods", .timeLimit(.minutes(60)))
struct MethodTests {
    static let allowed: [(path: String, allow: String)] = [
        ("/v1/reactors", "GET, HEAD, OPTIONS"),
        ("/v1/sessions", "GET, HEAD, POST, OPTIONS"),
        ("/v1/sessions/a", "DELETE, GET, HEAD, PUT, OPTIONS"),
        ("/v1/sessions/a/actions", "POST, OPTIONS"),
        ("/v1/sessions/a/pulses", "GET, HEAD, OPTIONS"),
        ("/v1/sessions/a/activities", "GET, HEAD, OPTIONS"),
        ("/v1/sessions/a/states", "GET, HEAD, OPTIONS"),
        ("/v1/sessions/a/events", "GET, HEAD, OPTIONS"),
        ("/livez", "GET, HEAD, OPTIONS"), ("/readyz", "GET, HEAD, OPTIONS"),
        ("/metrics", "GET, HEAD, OPTIONS"), ("/openapi.yaml", "GET, HEAD, OPTIONS"),
        ("/", "GET, HEAD, OPTIONS"), ("/console", "GET, HEAD, OPTIONS"),
        ("/console/console.js", "GET, HEAD, OPTIONS"),
    ]

    @Test(arguments: allowed)
    func `OPTIONS lists the methods of a path, and any other is 405`(
        path: String, allow: String
    ) async throws {
        let client = try await sharedServer()
        let names = Set(allow.split(separator: ", ").map(String.init))
        let options = try await client.send(Request(method: "OPTIONS", path: path))
        #expect(options.status == 204)
        #expect(fieldNames(options["Allow"]) == names)
        let all: Set = ["GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"]
        for method in all.subtracting(names) {
            let response = try await client.send(Request(method: method, path: path))
            try expectProblem(response, 405, "method_not_allowed")
            #expect(fieldNames(response["Allow"]) == names)
        }
    }

    @Test(arguments: [
        "/v1/reactors", "/v1/sessions", "/livez", "/readyz", "/metrics", "/openapi.yaml", "/",
        "/console", "/console/console.js",
    ])
    func `HEAD is GET without the body`(path: String) async throws {
        let client = try await sharedServer()
        let head = try await client.send(Request(method: "HEAD", path: path))
        let get = try await client.get(path)
        #expect(head.status == 200)
        #expect(head.body.isEmpty)
        #expect(head["Content-Type"] == get["Content-Type"])
        #expect(head["Content-Length"] != nil)
        #expect(get["Content-Length"] == String(get.body.count))
    }

    @Test func `HEAD of a session has its length and its tag`() async throws {
        let session = try await sharedServer().session("alerts")
        let head = try await session.client.send(Request(method: "HEAD", path: session.path))
        let get = try await session.client.get(session.path)
        #expect(head["Content-Length"] == get["Content-Length"])
        #expect(head["ETag"] == get["ETag"])
        #expect(head.body.isEmpty)
        let missing = try await session.client.send(
            Request(method: "HEAD", path: "/v1/sessions/never"))
        #expect(missing.status == 404)
        #expect(missing.body.isEmpty)
    }

    @Test func `HEAD of a stream ends, and the connection stays open`() async throws {
        let session = try await sharedServer().session("alerts")
        for stream in ["pulses", "activities", "states", "events"] {
            let head = try await session.client.send(
                Request(method: "HEAD", path: "\(session.path)/\(stream)"))
            #expect(head.status == 200)
            #expect(head["Content-Type"] == "text/event-stream; charset=utf-8")
            #expect(head["Cache-Control"] == "no-store, no-transform")
            // RFC 9110 §8.6: no length that GET does not have.
            #expect(head["Content-Length"] == nil)
            #expect(head.body.isEmpty)
        }
    }

    @Test(arguments: [
        "//", "/v1", "/v1/", "/v1/session", "/v1/sessions/", "/v1/sessions/a/log2",
        "/v1/sessions/a/pulses/", "//v1/sessions", "/v1//sessions", "/livez/", "/V1/reactors",
    ])
    func `any other path is 404`(path: String) async throws {
        let client = try await sharedServer()
        for method in ["GET", "POST", "OPTIONS"] {
            try expectProblem(
                try await client.send(Request(method: method, path: path)), 404, "unknown_path")
        }
    }

    private func fieldNames(_ value: String?) -> Set<String> {
        Set((value ?? "").split(separator: ",").map { String($0.drop { $0 == " " }) })
    }
}
