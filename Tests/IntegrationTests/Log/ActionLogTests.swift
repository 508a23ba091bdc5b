import Testing

@Suite("Cases 57, 58, 77, 78, 89, 92, 93, 97 — the action log", .timeLimit(.minutes(60)))
struct ActionLogTests {
    @Test func `case 57: a bad action never reaches the reactor or the log`() async throws {
        let session = try await sharedServer().session("alerts")
        let log = try await session.followLog()
        let huge = #"{"type":"alert","message":"\#(String(repeating: "x", count: 1_100_000))"}"#
        for (body, status) in [
            ("{", 400), (#"{"type":"dance"}"#, 422), (#"{"message":"x"}"#, 422), (huge, 413),
            (#"[{"type":"doSomeAction"},{"type":"dance"}]"#, 422),
        ] {
            #expect(try await session.client.post("\(session.path)/actions", body).status == status)
        }
        #expect(try await session.alert("good").position == "\(session.generation).1")
        #expect(try await log.next(2).map(\.name) == ["action.received", "mutation"])
    }

    @Test func `case 58: the log's mutations applied to the initial state give the present state`()
        async throws
    {
        let session = try await sharedServer().session("alerts")
        let initial = try await session.state()
        for number in 1...20 {
            try await session.alert(number.isMultiple(of: 7) ? nil : "message \(number)")
            try await session.post(#"{"type":"doSomeAction"}"#)
        }
        guard case .object(var state) = initial else {
            Issue.record("the state is \(initial)")
            return
        }
        var count = 0
        for entry in try await session.entries() where entry["kind"] == "mutation" {
            count += 1
            #expect(entry["version"] == .integer(count))
            switch entry["content"]?["type"] {
            case "setAlertMessage": state["alertMessage"] = entry["content"]?["message"] ?? nil
            case "countAction": state["actions"] = .integer((state["actions"]?.integer ?? 0) + 1)
            default: Issue.record("\(entry) is no mutation of this reactor")
            }
        }
        #expect(count == 40)
        #expect(try await session.state() == .object(state))
    }

    @Test func `case 77: an effect that fails after emitting is one failure that names its action`()
        async throws
    {
        let session = try await sharedFixtures().session("failing")
        let states = try await session.follow("states")
        let log = try await session.followLog()
        for number in 1...5 {
            let type = number == 3 ? "addThenFail" : "add"
            try await session.post(#"{"type":"\#(type)","number":1}"#)
        }
        #expect(
            try await states.next(5).map(\.data) == (1...5).map { #"{"sum":\#($0)}"# })
        let events = try await log.next(11)
        #expect(events.count(where: { $0.name == "effect.failed" }) == 1)
        #expect(events[6].name == "effect.failed")
        let failure = try JSONValue(text: events[6].data)
        #expect(failure["action"] == 3)
        #expect(failure["content"]?["place"] == "effect")
        #expect(failure["content"]?["error"]?.string?.contains("Fault") == true)
    }

    @Test func `case 77: a step that fails later is one failure too, and has no other end`()
        async throws
    {
        let session = try await sharedFixtures().session("failing")
        let log = try await session.followLog()
        try await session.post(
            #"{"type":"addThenFailLater","number":3}"#, query: SessionHandle.settled)
        try await session.post(#"{"type":"add","number":4}"#)
        let entries = try await log.entries(6)
        #expect(
            entries.compactMap { $0["kind"]?.string } == [
                "action.received", "effect.started", "mutation", "effect.failed",
                "action.received", "mutation",
            ])
        #expect(entries.compactMap { $0["action"]?.integer } == [1, 1, 1, 1, 2, 2])
        #expect(entries[1]["content"] == ["step": 1, "id": "later"])
        #expect(entries[3]["content"]?["id"] == "later")
        #expect(entries[3]["content"]?["step"] == 1)
        try await session.post(#"{"type":"addThenFail","number":5}"#)
        let refused = try await log.entry("effect.failed")
        #expect(refused["content"]?["step"] == nil)
    }

    @Test func `case 78: effects that complete early or empty are no failures`() async throws {
        let session = try await sharedFixtures().session("failing")
        let states = try await session.follow("states")
        let log = try await session.followLog()
        for number in 1...5 {
            let type = number == 3 ? "addThenEnd" : "add"
            try await session.post(#"{"type":"\#(type)","number":1}"#, query: SessionHandle.settled)
        }
        #expect(
            try await states.next(5).map(\.data) == (1...5).map { #"{"sum":\#($0)}"# })
        let names = try await log.next(12).map(\.name)
        #expect(!names.contains { $0.hasSuffix(".failed") })
        #expect(names.suffix(2) == ["action.received", "mutation"])
        #expect(names.filter { $0.hasPrefix("effect.") } == ["effect.started", "effect.ended"])
    }

    @Test func `case 89: a failing hook is logged with the action that it rejected`() async throws {
        let session = try await sharedFixtures().session("failing")
        let log = try await session.followLog()
        try await session.post(#"{"type":"poison"}"#)
        try await session.post(#"{"type":"add","number":4}"#)
        let entries = try await log.entries(4)
        #expect(
            entries.compactMap { $0["kind"]?.string } == [
                "hook.failed", "action.rejected", "action.received", "mutation",
            ])
        #expect(entries[0]["content"]?["place"] == "transformAction")
        #expect(entries[1]["content"]?["received"] == ["type": "poison"])
    }

    @Test func `case 92: a dropped action is logged as such, and nothing follows`() async throws {
        let session = try await sharedServer().session("chat")
        let log = try await session.followLog()
        let say = #"{"type":"say","author":"ada","text":" "}"#
        let response = try await session.client.post("\(session.path)/actions", say)
        #expect(response.status == 200)
        #expect(try response.json["accepted"] == false)
        #expect(try await session.read()["version"] == 0)
        try await session.post(#"{"type":"typing","author":"ada"}"#)
        let entries = try await log.entries(3)
        #expect(
            entries.compactMap { $0["kind"]?.string } == [
                "action.rejected", "action.received", "activity",
            ])
        #expect(try entries[0]["content"]?["received"] == JSONValue(text: say))
        #expect(entries[2]["content"] == ["type": "typing", "author": "ada"])
        #expect(entries[2]["version"] == nil)
    }

    @Test(arguments: [("end", "source.ended"), ("fail", "source.failed")])
    func `case 97: a source that ends or fails is logged, and the session lives`(
        action: String, kind: String
    ) async throws {
        let session = try await sharedFixtures().session("feed")
        let log = try await session.followLog()
        try await session.post(#"{"type":"\#(action)"}"#)
        let entry = try await log.entry(kind)
        #expect(entry["content"]?["source"] == "feed")
        #expect(entry["action"] == nil)
        let before = try #require(try await session.read()["version"]?.integer)
        #expect(try await session.post(#"{"type":"touch"}"#).version == before + 1)
        #expect(
            try await log.next(2).map(\.name) == ["action.received", "mutation"],
            "a source that failed has not ended as well")
    }

    @Test func `effects are logged by their ids: begun, cancelled, ended`() async throws {
        let session = try await sharedServer().session("job")
        let log = try await session.followLog()
        try await session.post(#"{"type":"start","steps":1000}"#)
        try await session.post(#"{"type":"cancel"}"#)
        let started = try await log.entry("effect.started")
        #expect(started["content"] == ["step": 1, "id": "work"])
        #expect(started["action"] == 1)
        let cancelled = try await log.entry("effect.cancelled")
        #expect(cancelled["content"] == ["step": 1, "id": "work"])
        #expect(cancelled["action"] == 1)
        try await session.post(#"{"type":"start","steps":1}"#)
        let ended = try await log.entry("effect.ended")
        #expect(ended["action"] == 3)
        #expect(ended["content"] == ["step": 2, "id": "work"])
    }

    @Test func `an action has the key of its request, and none without one`() async throws {
        let session = try await sharedServer().session("chat")
        let log = try await session.followLog()
        func post(_ body: String, key: String?) async throws {
            var request = Request.json("POST", "\(session.path)/actions", body)
            if let key { request.fields.append(("Idempotency-Key", key)) }
            #expect(try await session.client.send(request).status == 200)
        }
        func typing(_ author: String) -> String { #"{"type":"typing","author":"\#(author)"}"# }
        try await post("[\(typing("a")),\(typing("b"))]", key: #"k-"\!"#)
        try await post(typing("c"), key: nil)
        try await post(#"{"type":"say","author":"ada","text":" "}"#, key: "refused")
        let entries = try await log.entries(7).filter {
            $0["kind"]?.string?.hasPrefix("action.") == true
        }
        #expect(
            entries.map { $0["kind"]?.string } == [
                "action.received", "action.received", "action.received", "action.rejected",
            ])
        let key: JSONValue = .string(#"k-"\!"#)
        #expect(entries.map { $0["content"]?["key"] } == [key, key, nil, "refused"])
    }
}
