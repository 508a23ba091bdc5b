import Glibc
import Testing

@Suite("Case 139 — SIGTERM under load keeps everything", .timeLimit(.minutes(60)))
struct StopTests {
    @Test func `actions acknowledged during draining are there once`() async throws {
        try await withJournal { journal in
            let server = try await journal.start()
            let session = try await server.client().session("alerts")
            let stream = try await session.follow("pulses")
            let acknowledged = try await withThrowingTaskGroup(of: [Int: String].self) { group in
                for poster in 0..<8 {
                    let handle = session.on(server)
                    group.addTask { await Self.post(poster, until: handle) }
                }
                // Under load: the hundredth event has arrived.
                _ = try await stream.next(100)
                server.signal(SIGTERM)
                return try await group.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
            }
            #expect(try await server.exit() == .code(0))
            let seen = try await stream.rest().count + 100

            let again = session.on(try await journal.start())
            let version = try #require(try await again.read()["version"]?.integer)
            #expect(version >= seen)
            #expect(acknowledged.count >= 90)
            let history = try await again.open("pulses?from=start")
            let events = try await history.next(version)
            #expect(events.map(\.id) == (1...version).map { "\(session.generation).\($0)" })
            #expect(Set(events.map(\.data)).count == version)
            for (number, text) in acknowledged {
                #expect(events[number - 1].data == "\"\(text)\"")
            }
        }
    }

    /// Posts until the server refuses; returns the acknowledged actions by number.
    private static func post(_ poster: Int, until session: SessionHandle) async -> [Int: String] {
        var acknowledged: [Int: String] = [:]
        for count in 0... {
            let text = "p\(poster)-\(count)"
            guard let receipt = try? await session.alert(text) else { break }
            acknowledged[receipt.number] = text
        }
        return acknowledged
    }
}
