import Testing

@Suite("Many streams at once", .timeLimit(.minutes(60)))
struct ManyStreamsTests {
    @Test func `a thousand subscribers of one session get the same events`() async throws {
        try await withServer { server in
            let session = try await server.client().session("alerts")
            let streams = try await open(1_000) { _ in try await session.follow("pulses") }
            // A subscriber that is moving to another loop is counted on neither loop.
            while try await server.client().metric("subscribers") != 1_000 {}
            for number in 1...20 { try await session.alert("message \(number)") }
            let expected = (1...20).map {
                Event(
                    name: "alertMessage", data: "\"message \($0)\"",
                    id: "\(session.generation).\($0)")
            }
            for stream in streams {
                #expect(try await stream.next(20) == expected)
            }
            _ = try await session.client.delete(session.path)
            for stream in streams { #expect(try await stream.next().name == "end") }
        }
    }

    @Test func `two hundred sessions with two subscribers each stay apart`() async throws {
        try await withServer { server in
            let client = server.client()
            let sessions = try await open(200) { _ in try await client.session("counter") }
            let streams = try await open(400) { try await sessions[$0 / 2].follow("states") }
            for (index, session) in sessions.enumerated() {
                try await session.post(#"{"type":"increment","number":\#(index + 1)}"#)
            }
            for (index, stream) in streams.enumerated() {
                #expect(try await stream.next().data == #"{"count":\#(index / 2 + 1)}"#)
            }
        }
    }

    @Test func `streams that come and go leave no descriptor open`() async throws {
        try await withServer { server in
            let session = try await server.client().session("alerts")
            let before = try server.descriptorCount()
            for _ in 1...5 {
                let streams = try await open(100) { _ in try await session.follow("pulses") }
                for stream in streams { await stream.close() }
            }
            // A disconnection is noticed at the next write at the latest; then the connection is
            // closed.
            while try await server.client().metric("connections") ?? 0 > 2 {
                try await session.alert("who is there?")
            }
            // The portable poller closes after the last event of its sources, a moment later; a
            // leak is found by the suite's time limit.
            while try server.descriptorCount() > before + 3 {
                _ = try await server.client().get("/livez")
            }
        }
    }

    /// Opens many streams, a hundred at a time, in the order of their numbers.
    private func open<Item: Sendable>(
        _ count: Int, _ make: @escaping @Sendable (Int) async throws -> Item
    ) async throws -> [Item] {
        var items: [Item] = []
        while items.count < count {
            let start = items.count
            let end = min(start + 100, count)
            items += try await withThrowingTaskGroup(of: (Int, Item).self) { group in
                for number in start..<end {
                    group.addTask { (number, try await make(number)) }
                }
                var made: [Int: Item] = [:]
                for try await (number, item) in group { made[number] = item }
                return (start..<end).compactMap { made[$0] }
            }
        }
        return items
    }
}
