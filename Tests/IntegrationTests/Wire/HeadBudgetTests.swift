import ReactorHosting
import Testing

@Suite("Case 153 — arriving heads count towards the body budget", .timeLimit(.minutes(60)))
struct HeadBudgetTests {
    private static let livez = "GET /livez HTTP/1.1\r\nHost: a\r\n"

    private func passes(_ connection: RawConnection, _ text: String) async -> Bool {
        await connection.send(text)
        return await connection.answers(1).first?.head.status == 200
    }

    @Test func `six of 10 000 bytes fit into 64 KiB, the seventh is closed`() async throws {
        try await LocalServer.with {
            $0.bodyBudgetBytes = 65_536
            $0.bodyLimitBytes = 4_096
        } _: { server in
            let other = try server.connect()
            let part = Self.livez + "A: " + String(repeating: "a", count: 10_000)
            var parts: [RawConnection] = []
            for _ in 1...7 {
                let connection = try server.connect()
                #expect(await passes(connection, Self.livez + "\r\n"))
                await connection.send(part)
                // It has arrived before this request, and is read before it.
                #expect(await passes(other, Self.livez + "\r\n"))
                parts.append(connection)
            }
            let refused = await parts[6].receiveAll()
            #expect(refused.bytes == [])
            #expect(refused.ending == .finished)
            for connection in parts.prefix(6) {
                #expect(await passes(connection, "\r\n\r\n"))
            }
            let again = try server.connect()
            #expect(await passes(again, part + "\r\n\r\n"))
        }
    }
}
