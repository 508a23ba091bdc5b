import ReactorHosting
import Testing

@Suite("A request is refused when its head is complete", .timeLimit(.minutes(60)))
struct HeadRefusalTests {
    private func head(
        _ method: String, _ path: String, length: Int, _ fields: String = ""
    ) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(length)\r\n\(fields)\r\n"
    }

    @Test(arguments: [
        ("POST", "/v1/nothing", 404, "unknown_path"), ("POST", "/livez", 405, "method_not_allowed"),
        ("PATCH", "/v1/sessions/a", 405, "method_not_allowed"),
        ("PUT", "/v1/sessions/%61", 400, "bad_session_id"),
        ("POST", "/v1/sessions?x=1", 400, "unknown_parameter"),
    ])
    func `an unknown path, a wrong method and a malformed target do not wait for the body`(
        method: String, path: String, status: Int, code: String
    ) async throws {
        let port = try await Servers.shared.process(.server).port
        for fields in ["", "Expect: 100-continue\r\n"] {
            let raw = try RawConnection(port: port)
            await raw.send(head(method, path, length: 500_000, fields))
            let (answers, ending) = await raw.answersToTheEnd()
            #expect(answers.map(\.head.status) == [status], "no 100 comes first")
            #expect(try JSONValue(text: answers.last?.body ?? "")["code"]?.string == code)
            #expect(ending == .finished)
        }
    }

    @Test func `a client that sends its body all the same can read the refusal`() async throws {
        let raw = try RawConnection(port: try await Servers.shared.process(.server).port)
        await raw.send(head("POST", "/v1/nothing", length: 500_000))
        await raw.send(String(repeating: " ", count: 500_000))
        let (answers, ending) = await raw.answersToTheEnd()
        #expect(answers.map(\.head.status) == [404])
        #expect(ending == .finished)
    }

    @Test func `requests before it are answered, and one with its body keeps the connection`()
        async throws
    {
        let raw = try RawConnection(port: try await Servers.shared.process(.server).port)
        let livez = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
        await raw.send(livez + head("POST", "/v1/nothing", length: 2) + "{}" + livez)
        #expect(await raw.answers(3).map(\.head.status) == [200, 404, 200])
        await raw.send(livez + head("POST", "/v1/nothing", length: 9_999) + "{")
        #expect(
            await raw.answersToTheEnd().answers.map(\.head.status) == [200, 404])
    }

    @Test func `a request counts once for the rate of its client, however it arrives`() async throws
    {
        try await LocalServer.with {
            ($0.requestRate, $0.requestBurst) = (1, 3)
            $0.trustedProxies = ["127.0.0.1"]
        } _: { server in
            let raw = try server.connect()
            let body = #"{"reactor":"alerts"}"#
            let text = head(
                "PUT", "/v1/sessions/a", length: body.utf8.count,
                "X-Forwarded-For: 192.0.2.1\r\nExpect: 100-continue\r\n")
            for status in [201, 200, 200] {
                await raw.send(text)
                #expect(await raw.answers(1).map(\.head.status) == [100])
                await raw.send(body)
                #expect(await raw.answers(1).map(\.head.status) == [status])
            }
        }
    }

    // The metrics page counts its own request as well.
    @Test func `a request counts once in the metrics, however it arrives`() async throws {
        try await LocalServer.with {
            $0.loops = 1
        } _: { server in
            func count() async throws -> Int {
                let page = try await server.client().get("/metrics").text
                let line = page.split(separator: "\n").first {
                    $0.hasPrefix("reactor_requests_total ")
                }
                return try #require(line.flatMap { Int($0.dropFirst(23)) })
            }
            var known = try await count()
            func counted() async throws -> Int {
                let now = try await count()
                defer { known = now }
                return now - known - 1
            }
            let body = #"{"reactor":"alerts"}"#
            let expecting = head(
                "PUT", "/v1/sessions/a", length: body.utf8.count, "Expect: 100-continue\r\n")
            let raw = try server.connect()
            await raw.send(head("PUT", "/v1/sessions/a", length: body.utf8.count) + body)
            #expect(await raw.answers(1).map(\.head.status) == [201])
            #expect(try await counted() == 1)
            await raw.send(expecting)
            #expect(await raw.answers(1).map(\.head.status) == [100])
            #expect(try await counted() == 1, "the body may never come")
            await raw.send(body)
            #expect(await raw.answers(1).map(\.head.status) == [200])
            #expect(try await counted() == 0)
            await raw.send(head("POST", "/v1/nothing", length: 500_000))
            #expect(await raw.answers(1).map(\.head.status) == [404])
            #expect(try await counted() == 1)
        }
    }

    @Test func `a client of a proxy uses no more than its own part of the body budget`()
        async throws
    {
        try await LocalServer.with {
            ($0.bodyBudgetBytes, $0.bodyLimitBytes) = (400_000, 50_000)
            $0.trustedProxies = ["127.0.0.1"]
        } _: { server in
            let livez = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let other = try server.connect()
            func begin(for client: String) async throws -> RawConnection {
                let raw = try server.connect()
                let field = "X-Forwarded-For: \(client)\r\n"
                await raw.send(head("POST", "/v1/sessions", length: 45_000, field))
                await raw.send(String(repeating: " ", count: 40_000))
                // The bytes above arrive before this request.
                await other.send(livez)
                return raw
            }
            var greedy: [RawConnection] = []
            for _ in 1...3 { greedy.append(try await begin(for: "192.0.2.1")) }
            let refused = await greedy[2].answersToTheEnd()
            #expect(refused.answers.map(\.head.status) == [503])
            let neighbour = try await begin(for: "192.0.2.2")
            let rest = #"{"reactor":"alerts"}"#
            await neighbour.send(rest + String(repeating: " ", count: 5_000 - rest.utf8.count))
            #expect(await neighbour.answers(1).map(\.head.status) == [201])
        }
    }
}
