import Testing

@Suite("Cases 44 to 57 — action, mutation, state", .timeLimit(.minutes(15)))
struct StateTests {
    private let stages = [
        "action", "transformedAction", "mutation", "transformedMutation", "reduce",
        "transformedState",
    ]

    @Test func `case 44: every stage once, in order`() async throws {
        let session = try await sharedFixtures().session("stages")
        let stream = try await session.follow("states")
        try await session.post(#"{"names":["action"]}"#)
        let expected = JSONValue.object(["names": .array(stages.map { .string($0) })])
        #expect(try await session.state() == expected)
        let event = try await stream.next()
        #expect(event.name == "state")
        #expect(try JSONValue(text: event.data) == expected)
    }

    @Test func `case 45: the initial state passes the transform and not reduce`() async throws {
        let session = try await sharedFixtures().session("stages")
        let expected: JSONValue = ["names": ["transformedState"]]
        #expect(try await session.state() == expected)
        let first = try await session.open("states").next()
        #expect(first.name == "snapshot")
        #expect(try JSONValue(text: first.data) == expected)
    }

    @Test func `case 98: the transform of the state is never reduced`() async throws {
        let session = try await sharedFixtures().session("stages")
        try await session.post(#"{"names":["one"]}"#)
        try await session.post(#"{"names":["two"]}"#)
        let names = try #require(try await session.state()["names"]?.array)
        #expect(names.count(where: { $0 == "transformedState" }) == 1)
        // Nor is it in earlier states.
        let before = try await session.client.get("\(session.path)?version=1").json
        #expect(before["state"]?["names"]?.array?.count(where: { $0 == "transformedState" }) == 1)
    }

    @Test func `case 48: a state is current before subscribers hear of it`() async throws {
        let session = try await sharedFixtures().session("passing")
        let stream = try await session.follow("states")
        for version in 1...50 {
            async let posted = session.post(#"{"type":"add","number":1}"#)
            let event = try await stream.next()
            #expect(event.id == "\(session.generation).\(version)")
            let read = try await session.read()
            #expect(try #require(read["version"]?.integer) >= version)
            _ = try await posted
        }
    }

    @Test func `case 49: a new state subscriber gets the latest only, then live`() async throws {
        let session = try await sharedServer().session("counter")
        for _ in 1...2 { try await session.post(#"{"type":"increment","number":1}"#) }
        let stream = try await session.open("states")
        let first = try await stream.next()
        #expect(first.name == "snapshot")
        #expect(first.data == #"{"count":2}"#)
        try await session.post(#"{"type":"increment","number":1}"#)
        let next = try await stream.next()
        #expect(next.name == "state")
        #expect(next.data == #"{"count":3}"#)
    }

    @Test func `case 50: one state event per mutation, an equal one too`() async throws {
        let session = try await sharedFixtures().session("pulses")
        let stream = try await session.follow("states")
        for _ in 1...3 { try await session.post(#"{"type":"setA","number":1}"#) }
        let events = try await stream.next(3)
        #expect(Set(events.map(\.data)).count == 1)
        #expect(events.map(\.id) == (1...3).map { "\(session.generation).\($0)" })
    }

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

    @Test func `case 54: the default mutate passes equal types through, else nothing`() async throws
    {
        let client = try await sharedFixtures()
        let passing = try await client.session("passing")
        let idle = try await client.session("idle")
        #expect(try await passing.post(#"{"type":"add","number":2}"#).version == 1)
        #expect(try await passing.state() == ["sum": 2])
        #expect(try await idle.post(#"{"type":"add","number":2}"#).version == 0)
        #expect(try await idle.state() == ["sum": 0])
    }

    @Test func `case 55: the default reduce keeps the state`() async throws {
        let session = try await sharedFixtures().session("unreduced")
        #expect(try await session.post(#"{"type":"add","number":2}"#).version == 1)
        #expect(try await session.state() == ["sum": 7])
    }

    @Test func `case 56: a source is started once, independent of readers`() async throws {
        let session = try await sharedFixtures().session("feed")
        let stream = try await session.open("states?from=start")
        #expect(try await stream.next().data == #"{"starts":1,"touches":0}"#)
        for _ in 1...3 {
            _ = try await session.read()
            _ = try await session.follow("states")
        }
        try await session.post(#"{"type":"touch"}"#)
        #expect(try await stream.next().data == #"{"starts":1,"touches":1}"#)
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

    @Test func `case 37: a pulse of an effect is sent when its mutation is reduced`() async throws {
        let session = try await sharedFixtures().session("held")
        let stream = try await session.follow("pulses")
        let posted = try await session.post(#"{"type":"hold","text":"late"}"#)
        #expect(posted.version == 1)
        try await session.post(#"{"type":"touch"}"#)
        try await session.post(#"{"type":"release"}"#)
        let event = try await stream.next()
        #expect(event.data == #""late""#)
        #expect(event.id == "\(session.generation).3")
    }
}

@Suite("Cases 125 to 129 — activities", .timeLimit(.minutes(15)))
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

    @Test func `case 128: an activity is not replayed to a new subscriber`() async throws {
        let session = try await sharedFixtures().session("cycle")
        try await session.post(#"{"type":"wave","hands":1}"#)
        let stream = try await session.open("activities")
        try await session.post(#"{"type":"wave","hands":2}"#)
        try await session.post(#"{"type":"wave","hands":2}"#)
        let events = try await stream.next(2)
        #expect(try events.map { try JSONValue(text: $0.data)["hands"] } == [2, 2])
        // On request it is replayed.
        let again = try await session.open("activities?from=start")
        #expect(try await JSONValue(text: again.next().data)["hands"] == 1)
    }

    @Test func `case 129: every present subscriber gets the activity`() async throws {
        let session = try await sharedServer().session("chat")
        var streams: [EventStream] = []
        for _ in 1...3 { streams.append(try await session.open("activities")) }
        try await session.post(#"{"type":"typing","author":"ada"}"#)
        for stream in streams {
            let event = try await stream.next()
            #expect(event.name == "typing")
            #expect(try JSONValue(text: event.data) == ["type": "typing", "author": "ada"])
        }
    }
}
