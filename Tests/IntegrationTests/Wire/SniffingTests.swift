import Testing

@Suite("Fetch Standard §3.6 — every response keeps its media type", .timeLimit(.minutes(60)))
struct SniffingTests {
    private let action = #"{"type":"doSomeAction"}"#

    private func request(
        _ method: String, _ path: String, _ fields: [(name: String, value: String)] = []
    ) -> Request {
        Request(method: method, path: path, fields: fields)
    }

    @Test func `every kind of response has nosniff once`() async throws {
        let client = try await sharedServer()
        let session = try await client.session("alerts")
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        var traced = Request.json("POST", "\(session.path)/actions", action)
        traced.fields.append(("traceparent", trace))
        var old = request("GET", "/livez")
        old.version = .http10
        let kinds: [(status: Int, Request)] = [
            (200, .json("POST", "\(session.path)/actions", action)),
            (200, traced),
            (200, request("GET", session.path)),
            (200, request("HEAD", session.path)),
            (304, request("GET", session.path, [("If-None-Match", "*")])),
            (200, request("GET", "/openapi.yaml")),
            (200, request("GET", "/metrics")),
            (200, old),
            (204, request("OPTIONS", session.path)),
            (405, request("PATCH", session.path)),
            (404, request("GET", "/nothing")),
            (422, .json("POST", "\(session.path)/actions", #"{"type":"none"}"#)),
            (200, request("HEAD", "\(session.path)/pulses")),
            (204, request("DELETE", session.path)),
            (410, request("GET", session.path)),
        ]
        for (status, request) in kinds {
            let response = try await client.send(request)
            let name = "\(request.method) \(request.path)"
            #expect(response.status == status, "\(name)")
            #expect(response.head.sniffing == ["nosniff"], "\(name)")
        }
    }

    @Test func `streams have it, those that end at once too`() async throws {
        try await withServer(.server, "--subscriber-limit", "1") { server in
            let session = try await server.client().session("alerts")
            let stream = try await session.follow("pulses")
            #expect(await stream.head.sniffing == ["nosniff"])
            let refused = try await session.open("pulses")
            #expect(try await refused.next().name == "problem")
            #expect(await refused.head.sniffing == ["nosniff"])
        }
    }

    @Test func `a refusal of malformed bytes has it; 100 Continue has no field`() async throws {
        let port = try await Servers.shared.process(.server).port
        let malformed = try RawConnection(port: port)
        await malformed.send("hello\r\n\r\n")
        let (refused, _) = await malformed.answersToTheEnd()
        #expect(refused.map(\.head.sniffing) == [["nosniff"]])

        let body = #"{"reactor":"none"}"#
        let expecting = try RawConnection(port: port)
        await expecting.send(
            "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Expect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
        let interim = await expecting.answers(1)
        await expecting.send(body)
        let answers = interim + (await expecting.answers(1))
        #expect(answers.map(\.head.status) == [100, 422])
        #expect(answers.map(\.head.sniffing) == [[], ["nosniff"]])
    }
}

extension ResponseHead {
    fileprivate var sniffing: [String] {
        fields.filter { $0.name.lowercased() == "x-content-type-options" }.map(\.value)
    }
}
