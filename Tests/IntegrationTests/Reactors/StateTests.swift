import Testing

@Suite("Cases 44 to 57 — action, mutation, state", .timeLimit(.minutes(60)))
struct StateTests {
    @Test func `an action with two mutations is two versions and two events`() async throws {
        let session = try await sharedFixtures().session("pulses")
        let stream = try await session.follow("events")
        #expect(try await session.post(#"{"type":"setBoth","a":1,"b":2}"#).version == 2)
        let events = try await stream.next(4)
        #expect(events.map(\.name) == ["a", "state", "b", "state"])
        #expect(try JSONValue(text: events[1].data)["b"] == .null)
        #expect(try JSONValue(text: events[3].data)["b"] == 2)
    }

    @Test func `case 51: select shows a part, and only when it changes`() async throws {
        let session = try await sharedFixtures().session("pulses")
        let stream = try await session.open("states?select=/plain")
        #expect(try await stream.next().data == "0")
        try await session.post(#"{"type":"setA","number":1}"#)
        try await session.post(#"{"type":"setA","number":2}"#)
        try await session.post(#"{"type":"touch"}"#)
        try await session.post(#"{"type":"setA","number":3}"#)
        try await session.post(#"{"type":"touch"}"#)
        let events = try await stream.next(2)
        #expect(events.map(\.data) == ["1", "2"])
        #expect(events.map(\.name) == ["state", "state"])
        #expect(events.map(\.id) == ["\(session.generation).3", "\(session.generation).5"])
    }

    @Test func `select reaches into arrays, and gives null for a missing part`() async throws {
        let session = try await sharedFixtures().session("pulses")
        let second = try await session.open("states?select=/items/1")
        #expect(try await second.next().data == "null")
        for number in [7, 8, 9] {
            try await session.post(#"{"type":"append","number":\#(number)}"#)
        }
        try await session.post(#"{"type":"reset"}"#)
        #expect(try await second.next(2).map(\.data) == ["8", "null"])
        try expectProblem(
            try await session.client.get("\(session.path)/states?select=plain"), 400, "bad_select",
            detail: "select")
        try expectProblem(
            try await session.client.get("\(session.path)/states?select=/~2"), 400, "bad_select")
    }

    @Test func `a resumed select shows later changes once`() async throws {
        let session = try await sharedFixtures().session("pulses")
        try await session.post(#"{"type":"touch"}"#)
        for number in 1...3 { try await session.post(#"{"type":"setA","number":\#(number)}"#) }
        try await session.post(#"{"type":"touch"}"#)
        let stream = try await session.open(
            "states?select=/plain", [("Last-Event-ID", "\(session.generation).1")])
        let event = try await stream.next()
        #expect(event.data == "2")
        #expect(event.id == "\(session.generation).5")
        try await session.post(#"{"type":"touch"}"#)
        #expect(try await stream.next().data == "3")
    }

    @Test func `cases 77, 89: failing code does not end a session`() async throws {
        let session = try await sharedFixtures().session("failing")
        let stream = try await session.follow("pulses")
        try await session.post(#"{"type":"add","number":1}"#)
        // The commit before the failure stays; the rest does not happen.
        try await session.post(#"{"type":"addThenFail","number":2}"#)
        let poisoned = try await session.client.post(
            "\(session.path)/actions", #"{"type":"poison"}"#)
        #expect(poisoned.status == 200)
        try await session.post(
            #"{"type":"addThenFailLater","number":3}"#, query: SessionHandle.settled)
        try await session.post(#"{"type":"add","number":4}"#)
        #expect(try await stream.next(4).map(\.data) == ["1", "3", "6", "10"])
        #expect(try await session.read()["version"] == 4)
        #expect(try await session.open("pulses").next().data == #"{"sum":10}"#)
    }

    @Test func `a refused action is 422 with the reactor's reason, and leaves no trace`()
        async throws
    {
        let session = try await sharedFixtures().session("failing")
        let stream = try await session.follow("events")
        let log = try await session.followLog()
        let before = try await session.read()
        let refuse = #"{"type":"refuse","number":2}"#
        let bodies: [(String, String?)] = [
            (refuse, nil), (#"[{"type":"add","number":1},\#(refuse)]"#, "/1"),
        ]
        for (body, pointer) in bodies {
            let answer = try await session.client.post("\(session.path)/actions", body)
            try expectProblem(answer, 422, "action_refused", detail: "Not now: 2 is too much.")
            #expect(try answer.json["refusal"] == ["code": "not_now"])
            #expect(try answer.json["pointer"]?.string == pointer)
            #expect(try await session.read() == before)
        }
        let failed = try await session.client.post(
            "\(session.path)/actions", #"{"type":"addThenFail","number":3}"#)
        #expect(try failed.json["failed"] == "Fault()")
        let poisoned = try await session.client.post(
            "\(session.path)/actions", #"[{"type":"poison"}]"#)
        #expect(try poisoned.json["reasons"] == ["0": "Fault()"])
        #expect(try await stream.next(2).map(\.data) == ["3", #"{"sum":3}"#])
        #expect(try await log.entries(2).map { $0["action"] } == [1, 1])
    }
}

@Suite("Cases 125 to 129 — activities", .timeLimit(.minutes(60)))
struct ActivityTests {
    @Test func `cases 125, 126: an activity is sent once and leaves no trace`() async throws {
        let session = try await sharedFixtures().session("cycle")
        let stream = try await session.open("activities")
        #expect(try await stream.nextItem() != .priming(""))
        for _ in 1...10 { try await session.post(#"{"type":"increment"}"#) }
        let eleventh = try await session.post(#"{"type":"increment"}"#)
        // The mutation is record 11 and the activity 12; only one of them is a version.
        #expect(eleventh == .init(version: 11, position: "\(session.generation).12"))
        try await session.post(#"{"type":"increment"}"#)
        try await session.post(#"{"type":"wave","hands":2}"#)
        let events = try await stream.next(3)
        #expect(events.map(\.name) == ["didReachBigNumber", "didReachBigNumber", "waved"])
        #expect(
            events.map(\.id) == [12, 14, 15].map { "\(session.generation).\($0)" })
        #expect(try JSONValue(text: events[2].data) == ["type": "waved", "hands": 2])
        #expect(try await session.state()["count"] == 12)
    }
}
