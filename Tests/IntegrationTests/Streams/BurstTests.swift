import Testing

@Suite("Case 73 — subscribing during a burst", .timeLimit(.minutes(60)))
struct BurstTests {
    @Test func `a reader gets every version after its snapshot once`() async throws {
        let session = try await sharedFixtures().session("passing")
        let writers = 8
        let each = 200
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...writers {
                group.addTask {
                    for _ in 1...each {
                        try await session.post(#"{"type":"add","number":1}"#)
                    }
                }
            }
            for _ in 1...20 {
                group.addTask { try await read(session, to: writers * each) }
            }
            try await group.waitForAll()
        }
        #expect(try await session.state() == ["sum": .integer(writers * each)])
    }

    /// Reads to the last version; every count must follow the previous one.
    private func read(_ session: SessionHandle, to last: Int) async throws {
        let stream = try await session.open("states")
        var count: Int?
        while count != last {
            let event = try await stream.next()
            let next = try #require(try JSONValue(text: event.data)["sum"]?.integer)
            if let count {
                guard next == count + 1 else {
                    Issue.record("\(next) came after \(count)")
                    return
                }
            }
            #expect(event.id == "\(session.generation).\(next)")
            count = next
        }
    }

    @Test func `a reader that comes and goes gets every event once`() async throws {
        let session = try await sharedFixtures().session("passing")
        let last = 600
        async let writing: Void = {
            for _ in 1...last { try await session.post(#"{"type":"add","number":1}"#) }
        }()
        var seen: [String] = []
        var id = session.created
        while seen.last != "{\"sum\":\(last)}" {
            let stream = try await session.open("states", [("Last-Event-ID", id)])
            for event in try await stream.next(min(7, last - seen.count)) {
                #expect(event.name == "state")
                seen.append(event.data)
                id = event.id
            }
            await stream.close()
        }
        try await writing
        #expect(seen == (1...last).map { "{\"sum\":\($0)}" })
    }

    @Test func `case 65: no increment is lost`() async throws {
        let session = try await sharedServer().session("counter")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...20 {
                group.addTask {
                    for _ in 1...100 {
                        try await session.post(#"{"type":"increment","number":1}"#)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await session.read()["version"] == 2_000)
        #expect(try await session.state() == ["count": 2_000])
    }
}
