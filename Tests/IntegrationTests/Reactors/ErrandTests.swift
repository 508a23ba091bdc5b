import Testing

@Suite("Cases 69 to 75 — order among clients and sessions", .timeLimit(.minutes(60)))
struct ErrandTests {
    private func begun() async throws -> SessionHandle {
        try await sharedFixtures().session("errands")
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
            try await slow.post(#"{"type":"open"}"#)
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
}
