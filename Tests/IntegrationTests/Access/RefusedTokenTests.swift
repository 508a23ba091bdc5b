import ReactorHosting
import Testing

@Suite("Tokens that are refused, and whose they are", .timeLimit(.minutes(60)))
struct RefusedTokenTests {
    private func withTokens(
        _ options: String..., do body: (ServerProcess) async throws -> Void
    ) async throws {
        try await Turnstile.servers.pass {
            let server = try await ServerProcess.start(
                .fixtures, ["--trusted-proxies", "127.0.0.1", "--loops", "1"] + options,
                environment: ["FIXTURE_TOKENS": "1"])
            try await body(server)
        }
    }

    private func request(_ token: String, from client: String, id: String? = nil) -> Request {
        var request = Request(path: "/v1/reactors")
        request.fields = [("Authorization", "Bearer \(token)"), ("X-Forwarded-For", client)]
        if let id { request.fields.append(("X-Request-Id", id)) }
        return request
    }

    @Test func `each line about a request names it and its client, behind a proxy too`()
        async throws
    {
        try await withTokens("--request-rate", "1", "--request-burst", "2") { server in
            let client = server.client()
            for (number, token) in ["unknown", "down"].enumerated() {
                _ = try await client.send(
                    request(token, from: "192.0.2.\(number)", id: "mine-\(number)"))
            }
            // Three within a second exceed the burst of two. A slow machine needs more tries.
            while try await client.send(request("x", from: "192.0.2.9", id: "fast")).status != 429 {
            }
            try await server.log.wait { $0.errors.contains("status=429") }
            let lines = server.log.present.errors.split(separator: "\n")
            func line(_ part: String, _ id: String) throws -> Substring {
                try #require(
                    lines.lazy.map { $0 + " " }.first {
                        $0.contains(part) && $0.contains("request_id=\(id) ")
                    })
            }
            #expect(try line("a token was refused", "mine-0").contains("client=192.0.2.0 "))
            #expect(try line("message=request", "mine-0").contains("client=192.0.2.0 "))
            #expect(try line("could not be verified", "mine-1").contains("client=192.0.2.1 "))
            #expect(try line("status=429", "fast").contains("client=192.0.2.9 "))
        }
    }

    @Test func `a client whose tokens wait for their verification keeps out no other`() async throws
    {
        try await withTokens { server in
            let client = server.client()
            try await withThrowingTaskGroup(of: Int.self) { group in
                // A quarter of 256, and one more.
                for number in 0...64 {
                    let waiting = request("held\(number);-;-;-;-;-;600", from: "192.0.2.1")
                    group.addTask { try await client.send(waiting).status }
                }
                // Only the refusal arrives while the authenticator holds the others.
                #expect(try await group.next() == 503)
                let other = try await client.send(
                    request("ada;-;-;-;-;-;600", from: "192.0.2.2"))
                #expect(other.status == 200)
                let released = try await client.send(
                    request("release;-;-;-;-;-;600", from: "192.0.2.2"))
                #expect(released.status == 200)
                for try await status in group { #expect(status == 200) }
            }
            // The client's places are free again.
            let again = try await client.send(request("held;-;-;-;-;-;600", from: "192.0.2.1"))
            #expect(again.status == 200)
        }
    }
}
