import Testing

@Suite("Cases 53 to 94 — order, effects and hooks", .timeLimit(.minutes(15)))
struct ErrandTests {
    private func begun() async throws -> SessionHandle {
        try await sharedFixtures().session("errands")
    }

    private func notes(_ stream: EventStream, _ count: Int) async throws -> [String] {
        try await stream.next(count).map { try JSONValue(text: $0.data).string ?? "-" }
    }

    @Test func `case 53: loading, the value, loading off, the pulse, in this order`() async throws {
        let session = try await begun()
        let events = try await session.open("events?pulse=alert&only=pulses&only=states")
        _ = try await events.next()
        try await session.post(#"{"type":"increase"}"#)
        try await session.post(#"{"type":"open","gate":"increase"}"#)
        let heard = try await events.next(5)
        #expect(heard.map(\.name) == ["state", "state", "state", "alert", "state"])
        let states = try [0, 1, 2].map { try JSONValue(text: heard[$0].data) }
        #expect(states.map { $0["isLoading"] } == [true, true, false])
        #expect(states.map { $0["value"] } == [0, 1, 1])
        #expect(heard[3].data == #""increased!""#)
    }

    @Test func `case 60: an action that a reactor sends to itself comes after its own turn`()
        async throws
    {
        let session = try await begun()
        let stream = try await session.follow("pulses?pulse=note")
        try await session.post(#"{"type":"relay","first":"a","then":"b"}"#)
        #expect(try await notes(stream, 3) == ["a-enter", "a-exit", "b-begin"])
        try await session.post(#"{"type":"open","gate":"b"}"#)
        #expect(try await notes(stream, 1) == ["b-end"])
    }

    @Test func `case 59: an action sent on an event comes after the turn of that event`()
        async throws
    {
        let session = try await begun()
        let stream = try await session.follow("pulses?pulse=note")
        async let posted = session.post(#"{"type":"relay","first":"a","then":"x"}"#)
        #expect(try await notes(stream, 1) == ["a-enter"])
        try await session.post(#"{"type":"note","text":"b"}"#)
        _ = try await posted
        let rest = try await notes(stream, 3)
        #expect(rest[0] == "a-exit")
        #expect(Set(rest.dropFirst()) == ["x-begin", "b"])
    }

    @Test func `case 61: dismiss, then present: the last route stays`() async throws {
        let session = try await begun()
        let routes = try await session.open("states?select=/route")
        #expect(try await routes.next().data == #""home""#)
        try await session.post(#"{"type":"present","route":null}"#)
        #expect(try await routes.next().data == "null")
        try await session.post(#"{"type":"present","route":"next"}"#)
        #expect(try await routes.next().data == #""next""#)
        #expect(try await session.state()["route"] == "next")
    }

    @Test func `case 63: concurrent effects interleave by arrival`() async throws {
        let session = try await begun()
        let stream = try await session.follow("pulses?pulse=note")
        for name in ["slow", "fast"] {
            try await session.post(#"{"type":"run","name":"\#(name)"}"#)
        }
        try await session.post(#"{"type":"open","gate":"fast"}"#)
        #expect(try await notes(stream, 3) == ["slow-begin", "fast-begin", "fast-end"])
        try await session.post(#"{"type":"open","gate":"slow"}"#)
        #expect(try await notes(stream, 1) == ["slow-end"])
    }

    @Test func `case 69: each client's actions keep their order among many clients`() async throws {
        let session = try await begun()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<8 {
                let priority: TaskPriority = client.isMultiple(of: 2) ? .high : .background
                group.addTask(priority: priority) {
                    for number in 100..<125 {
                        try await session.post(#"{"type":"note","text":"\#(client)-\#(number)"}"#)
                    }
                }
            }
            try await group.waitForAll()
        }
        let notes = try #require(try await session.state()["notes"]?.array).compactMap(\.string)
        #expect(notes.count == 200)
        for client in 0..<8 {
            let own = notes.filter { $0.hasPrefix("\(client)-") }
            #expect(own == own.sorted())
        }
    }

    @Test func `case 70: an action that waits delays no other session`() async throws {
        let slow = try await begun()
        let other = try await begun()
        async let waiting = slow.post(
            #"{"type":"search","text":"a"}"#, query: SessionHandle.settled)
        for version in 1...50 {
            #expect(try await other.post(#"{"type":"note","text":"x"}"#).version == version)
        }
        // It may not have begun when the others were answered; now it must.
        while try await slow.state()["found"] != ["a"] {
            try await slow.post(#"{"type":"open","gate":"a"}"#)
        }
        #expect(try await waiting.version == 1)
    }

    @Test func `case 75: a reader that joins on a version gets it once`() async throws {
        let session = try await begun()
        let first = try await session.follow("states")
        for version in 1...10 {
            async let posted = session.post(#"{"type":"note","text":"x"}"#)
            _ = try await first.next()
            let second = try await session.open("states")
            let seen = try await JSONValue(text: second.next().data)["notes"]?.array?.count ?? 0
            #expect(seen >= version)
            _ = try await posted
            try await session.post(#"{"type":"present","route":"x"}"#)
            #expect(try await JSONValue(text: second.next().data)["route"] == "x")
            _ = try await first.next()
        }
    }

    @Test func `cases 80, 81: a stopwatch counts while it runs, and stop is of its own session`()
        async throws
    {
        let (one, two) = (try await begun(), try await begun())
        let ticks = try await one.open("states?select=/ticks")
        let others = try await two.open("states?select=/ticks")
        _ = try await (ticks.next(), others.next())
        try await two.post(#"{"type":"start"}"#)
        for (count, last) in [(3, 0), (2, 3)] {
            try await one.post(#"{"type":"start"}"#)
            for number in 1...count {
                try await one.post(#"{"type":"tick"}"#)
                #expect(try await ticks.next().data == "\(last + number)")
            }
            try await one.post(#"{"type":"stop"}"#)
            try await one.post(#"{"type":"tick"}"#)
        }
        #expect(try await one.state()["ticks"] == 5)
        try await two.post(#"{"type":"tick"}"#)
        #expect(try await others.next().data == "1")
    }

    @Test func `case 82: a stop before the step has begun takes effect`() async throws {
        let session = try await begun()
        let states = try await session.follow("states")
        try await session.post(#"[{"type":"start"},{"type":"stop"}]"#, query: SessionHandle.settled)
        try await session.post(#"{"type":"tick"}"#)
        try await session.post(#"{"type":"note","text":"sentinel"}"#)
        let heard = try await states.next(2).map { try JSONValue(text: $0.data) }
        #expect(heard[0]["notes"] == ["started"])
        #expect(heard[1]["notes"] == ["started", "sentinel"])
        #expect(heard[1]["ticks"] == 0)
    }

    @Test func `case 84: of overlapping queries only the latest is reduced`() async throws {
        let session = try await begun()
        let found = try await session.open("states?select=/found")
        _ = try await found.next()
        for text in ["a", "ab", "abc"] {
            try await session.post(#"{"type":"search","text":"\#(text)"}"#)
        }
        for text in ["abc", "ab", "a"] {
            try await session.post(#"{"type":"open","gate":"\#(text)"}"#)
        }
        #expect(try await found.next().data == #"["abc"]"#)
        try await session.post(#"{"type":"search","text":"x"}"#)
        try await session.post(#"{"type":"open","gate":"x"}"#)
        #expect(try await found.next().data == #"["abc","x"]"#)
    }

    @Test func `case 85: while the first page loads, another is not requested`() async throws {
        let session = try await begun()
        let pages = try await session.open("states?select=/pages")
        let log = try await session.followLog()
        _ = try await pages.next()
        for _ in 1...2 { try await session.post(#"{"type":"nextPage"}"#) }
        let skipped = try await log.entry("effect.skipped")
        #expect(skipped["content"] == ["id": "page", "reason": "first"])
        try await session.post(#"{"type":"open","gate":"page"}"#)
        #expect(try await pages.next().data == "1")
        // The page is there before the effect that loaded it has ended.
        _ = try await log.entry("effect.ended")
        try await session.post(#"{"type":"nextPage"}"#)
        try await session.post(#"{"type":"open","gate":"page"}"#)
        #expect(try await pages.next().data == "2")
    }

    @Test func `case 94: a mutation is dropped or rewritten, and pulses follow the result`()
        async throws
    {
        let session = try await begun()
        let stream = try await session.follow("pulses?pulse=note")
        let log = try await session.followLog()
        #expect(try await session.post(#"{"type":"note","text":"forbidden"}"#).version == 0)
        #expect(try await session.post(#"{"type":"note","text":"old"}"#).version == 1)
        #expect(try await notes(stream, 1) == ["new"])
        #expect(
            try await log.entry("mutation.dropped")["content"]
                == ["mutation": ["type": "noted", "text": "forbidden"], "reason": "transform"])
    }

    @Test func `case 23: a change of another field is silent on this pulse`() async throws {
        let session = try await begun()
        let stream = try await session.follow("pulses?pulse=note")
        try await session.post(#"{"type":"present","route":"x"}"#)
        try await session.post(#"{"type":"note","text":"sentinel"}"#)
        #expect(try await notes(stream, 1) == ["sentinel"])
    }

    @Test func `case 99: hooks are built once, independent of readers`() async throws {
        let session = try await sharedFixtures().session("feed")
        let first = try await session.open("states?from=start")
        _ = try await first.next()
        for _ in 1...20 { await (try await session.follow("states")).close() }
        try await session.post(#"{"type":"touch"}"#)
        #expect(try await session.state()["starts"] == 1)
    }

    @Test func `case 120: a reader that leaves is subtracted once`() async throws {
        try await withServer(.fixtures) { server in
            let session = try await server.client().session("errands")
            let (stays, leaves) = (
                try await session.follow("states"), try await session.follow("states")
            )
            await leaves.close()
            await leaves.close()
            while try await !session.client.get("/metrics").text.contains(
                "\nreactor_subscribers 1\n")
            {}
            try await session.post(#"{"type":"note","text":"x"}"#)
            _ = try await stays.next()
        }
    }
}
