import Testing

@Suite("Contract §3.1 — posting actions", .timeLimit(.minutes(60)))
struct ActionTests {
    @Test func `the reply to an action has the version and position it reached`() async throws {
        let session = try await sharedServer().session("alerts")
        let response = try await session.client.post(
            "\(session.path)/actions", #"{"type":"alert","message":"Hello"}"#)
        #expect(response.status == 200)
        #expect(response["Content-Type"] == "application/json")
        #expect(response["Durability"] == ServerVariant.current.durability)
        #expect(
            try response.json == [
                "version": 1, "position": .string("\(session.generation).1"),
            ])
        // Like every other response, so that a shell's prompt is on its own line.
        #expect(response.text.hasSuffix("}\n"))
    }

    @Test func `case 47: an acknowledged action is visible to readers`() async throws {
        let session = try await sharedServer().session("counter")
        for count in 1...50 {
            let receipt = try await session.post(#"{"type":"increment","number":1}"#)
            #expect(receipt.version == count)
            let read = try await session.read()
            #expect(read["version"] == .integer(count))
            #expect(read["state"] == ["count": .integer(count)])
        }
    }

    @Test func `a batch is applied in order`() async throws {
        let session = try await sharedServer().session("alerts")
        let stream = try await session.follow("pulses")
        let receipt = try await session.post(
            #"[{"type":"alert","message":"a"},{"type":"doSomeAction"},{"type":"alert","message":"b"}]"#
        )
        #expect(receipt.version == 3)
        #expect(try await stream.next(2).map(\.data) == [#""a""#, #""b""#])
    }

    @Test func `a batch with one bad action leaves no trace`() async throws {
        let session = try await sharedServer().session("alerts")
        let stream = try await session.follow("pulses")
        try expectProblem(
            try await session.client.post(
                "\(session.path)/actions",
                #"[{"type":"alert","message":"a"},{"type":"alert","message":7}]"#),
            422, "not_an_action", detail: "/1/message")
        #expect(try await session.read()["version"] == 0)
        try await session.alert("sentinel")
        #expect(try await stream.next().data == #""sentinel""#)
    }

    @Test func `a batch has at least one action and at most the limit`() async throws {
        let session = try await sharedServer().session("counter")
        let path = "\(session.path)/actions"
        let one = #"{"type":"increment","number":1}"#
        try expectProblem(try await session.client.post(path, "[]"), 422, "empty_batch")
        let full = "[" + Array(repeating: one, count: 1_000).joined(separator: ",") + "]"
        #expect(try await session.post(full).version == 1_000)
        let tooMany = "[" + Array(repeating: one, count: 1_001).joined(separator: ",") + "]"
        try expectProblem(
            try await session.client.post(path, tooMany), 422, "batch_too_large", detail: "1000")
        #expect(try await session.state() == ["count": 1_000])
    }

    @Test func `an action that the reactor rejects is reported as such (case 92)`() async throws {
        let session = try await sharedServer().session("chat")
        let path = "\(session.path)/actions"
        let silent = #"{"type":"say","author":"ada","text":" "}"#
        let spoken = #"{"type":"say","author":"ada","text":"Hi"}"#
        let one = try await session.client.post(path, silent)
        #expect(one.status == 200)
        #expect(
            try one.json == [
                "version": 0, "position": .string(session.created), "accepted": false,
            ])
        let batch = try await session.client.post(path, "[\(spoken),\(silent),\(spoken)]")
        #expect(try batch.json["accepted"] == false)
        #expect(try batch.json["rejected"] == [1])
        #expect(try batch.json["version"] == 2)
    }

    @Test func `extra fields and any order of fields are accepted`() async throws {
        let session = try await sharedServer().session("alerts")
        try await session.post(
            #" { "message" : "Hello" , "more":[1,{"a":null}], "type":"alert" } "#)
        #expect(try await session.state()["alertMessage"] == "Hello")
        // A missing optional is nil.
        try await session.post(#"{"type":"alert"}"#)
        #expect(try await session.state()["alertMessage"] == .null)
    }

    @Test(arguments: ["application/json", "Application/JSON", "application/json; charset=utf-8"])
    func `JSON media types are accepted`(type: String) async throws {
        let session = try await sharedServer().session("alerts")
        let response = try await session.client.send(
            Request(
                method: "POST", path: "\(session.path)/actions",
                fields: [("Content-Type", type)],
                body: .bytes(Array(#"{"type":"doSomeAction"}"#.utf8))))
        #expect(response.status == 200)
    }

    /// Case 153.
    @Test func `a trace's parent is returned, and one without its form is ignored`() async throws {
        let session = try await sharedServer().session("alerts")
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let long = parent + "-" + String(repeating: "a", count: 15_000)
        for sent in [parent, long, "nonsense", "00--", ""] {
            let response = try await session.client.send(
                Request(
                    method: "POST", path: "\(session.path)/actions",
                    fields: [("Content-Type", "application/json"), ("traceparent", sent)],
                    body: .bytes(Array(#"{"type":"doSomeAction"}"#.utf8))))
            #expect(response.status == 200)
            #expect(response["traceparent"] == (sent == parent ? parent : nil))
        }
    }
}

@Suite("Contract §3.1 — If-Match", .timeLimit(.minutes(60)))
struct IfMatchTests {
    private func post(
        _ session: SessionHandle, ifMatch: String
    ) async throws -> Response {
        try await session.client.send(
            Request(
                method: "POST", path: "\(session.path)/actions",
                fields: [("Content-Type", "application/json"), ("If-Match", ifMatch)],
                body: .bytes(Array(#"{"type":"doSomeAction"}"#.utf8))))
    }

    @Test func `an If-Match with the present position or * permits the action`() async throws {
        let session = try await sharedServer().session("alerts")
        let first = try await post(session, ifMatch: "\"\(session.created)\"")
        #expect(first.status == 200)
        let position = try #require(try first.json["position"]?.string)
        #expect(try await post(session, ifMatch: "\"x\", \"\(position)\"").status == 200)
        #expect(try await post(session, ifMatch: "*").status == 200)
        #expect(try await session.read()["version"] == 3)
    }

    @Test func `case 137: another position is 412 with the present one, without a trace`()
        async throws
    {
        let session = try await sharedServer().session("alerts")
        let position = try await session.alert("Hello").position
        for other in ["\"\(session.created)\"", "\"\(session.generation).2\"", "W/\"\(position)\""]
        {
            let refused = try await post(session, ifMatch: other)
            // Without this hint, the client's tag and the current position would look equal in the
            // message.
            try expectProblem(refused, 412, "position_changed", detail: "a weak tag, W/")
            #expect(refused["ETag"] == "\"\(position)\"")
        }
        try expectProblem(
            try await post(session, ifMatch: position), 400, "malformed_entity_tag",
            detail: "If-Match")
        #expect(try await session.read()["version"] == 1)
    }
}

@Suite("Contract §3.1 — a refused action leaves no trace (case 57)", .timeLimit(.minutes(60)))
struct RefusedActionTests {
    static let bodies: [(body: String, status: Int, code: String, detail: String)] = [
        ("", 400, "malformed_json", "byte 0"),
        ("{", 400, "malformed_json", "byte"),
        (#"{"type":"alert","message":"Hello"} x"#, 400, "malformed_json", "byte"),
        (#"{'type':'alert'}"#, 400, "malformed_json", "byte"),
        (#"{"type":"alert","message":"\ud800"}"#, 400, "malformed_json", "byte"),
        ("nul", 400, "malformed_json", "byte"),
        (
            #"{"type":"alarm"}"#, 422, "not_an_action",
            "/type: unknown type \"alarm\"; GET /v1/reactors has examples of alert, doSomeAction"
        ),
        (#"[{"type":"alarm"}]"#, 422, "not_an_action", "examples of alert, doSomeAction"),
        (#"{"message":"Hello"}"#, 422, "not_an_action", "type"),
        (#"{"type":"alert","message":5}"#, 422, "not_an_action", "/message"),
        (#"{"type":7}"#, 422, "not_an_action", "type"),
        (#""alert""#, 422, "not_an_action", ""),
        ("null", 422, "not_an_action", ""),
        ("42", 422, "not_an_action", ""),
        ("[[]]", 422, "not_an_action", "/0"),
    ]

    @Test(arguments: bodies)
    func `a body that is no action is refused`(
        body: String, status: Int, code: String, detail: String
    ) async throws {
        let session = try await sharedServer().session("alerts")
        let stream = try await session.follow("events")
        try expectProblem(
            try await session.client.post("\(session.path)/actions", body), status, code,
            detail: detail)
        let receipt = try await session.alert("sentinel")
        #expect(receipt.version == 1)
        #expect(receipt.number == 1)
        #expect(try await stream.next().data == #""sentinel""#)
    }

    @Test func `a missing field is named`() async throws {
        let session = try await sharedServer().session("counter")
        try expectProblem(
            try await session.client.post("\(session.path)/actions", #"{"type":"increment"}"#),
            422, "not_an_action", detail: "number")
        try expectProblem(
            try await session.client.post(
                "\(session.path)/actions", #"{"type":"increment","number":1.5}"#),
            422, "not_an_action", detail: "/number")
        try expectProblem(
            try await session.client.post(
                "\(session.path)/actions", #"{"type":"increment","number":9223372036854775808}"#),
            422, "not_an_action", detail: "/number")
    }

    @Test func `bytes that are not UTF-8 are malformed JSON`() async throws {
        let session = try await sharedServer().session("alerts")
        let body = Array(#"{"type":"alert","message":""#.utf8) + [0xff] + Array(#""}"#.utf8)
        try expectProblem(
            try await session.client.send(
                Request(
                    method: "POST", path: "\(session.path)/actions",
                    fields: [("Content-Type", "application/json")], body: .bytes(body))),
            400, "malformed_json")
    }

    @Test func `unbounded depth is refused, not parsed`() async throws {
        let session = try await sharedServer().session("alerts")
        let deep = String(repeating: "[", count: 500_000)
        let response = try await session.client.post("\(session.path)/actions", deep)
        #expect(response.status == 400)
        #expect(try await session.alert("still here").version == 1)
    }

    @Test(arguments: ["text/plain", "application/jsonx", "application/x-www-form-urlencoded"])
    func `another media type is 415`(type: String) async throws {
        let session = try await sharedServer().session("alerts")
        var request = Request.json("POST", "\(session.path)/actions", #"{"type":"doSomeAction"}"#)
        request.fields = [("Content-Type", type)]
        try expectProblem(
            try await session.client.send(request), 415, "unsupported_media_type", detail: type)
        request.fields = []
        try expectProblem(
            try await session.client.send(request), 415, "media_type_missing",
            detail: "Content-Type")
        #expect(try await session.read()["version"] == 0)
    }

    @Test func `a body over the limit is 413`() async throws {
        let session = try await sharedServer().session("alerts")
        let text = String(repeating: "x", count: 1_048_576)
        let client = session.client
        try expectProblem(
            try await client.post(
                "\(session.path)/actions", #"{"type":"alert","message":"\#(text)"}"#),
            413, "body_too_large", detail: "1048576")
        var chunked = Request.json("POST", "\(session.path)/actions", "")
        chunked.body = .chunked(Array(#"{"type":"alert","message":"\#(text)"}"#.utf8))
        try expectProblem(try await client.send(chunked), 413, "body_too_large")
        #expect(try await session.read()["version"] == 0)
    }

    @Test func `a body of exactly the limit is accepted`() async throws {
        let session = try await sharedServer().session("alerts")
        let frame = #"{"type":"alert","message":""}"#
        let text = String(repeating: "x", count: 1_048_576 - frame.utf8.count)
        try await session.alert(text)
        #expect(try await session.state()["alertMessage"] == .string(text))
    }

    @Test(arguments: [("gzip", 415), ("br, gzip", 415), ("x", 415), ("Identity", 200)])
    func `a body with a content coding is refused, not read`(
        coding: String, status: Int
    ) async throws {
        let session = try await sharedServer().session("alerts")
        let answer = try await session.client.send(
            Request(
                method: "POST", path: "\(session.path)/actions",
                fields: [("Content-Type", "application/json"), ("Content-Encoding", coding)],
                body: .bytes(Array(#"{"type":"doSomeAction"}"#.utf8))))
        guard status == 415 else {
            #expect(answer.status == status)
            return
        }
        try expectProblem(answer, 415, "unsupported_content_encoding", detail: "Content-Encoding")
        #expect(answer["Accept-Encoding"] == "identity")
        #expect(try await session.read()["version"] == 0)
    }
}
