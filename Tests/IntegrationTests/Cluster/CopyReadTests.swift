import Testing

@Suite("ADR-0049 — any node reads a session of another one", .timeLimit(.minutes(60)))
struct CopyReadTests {
    /// How many rebuilds of small states run at a time.
    private static let running = 8

    private func closed(_ client: Client) async throws -> Int? {
        let lines = try await client.get("/metrics").text.split(separator: "\n")
        let line = lines.first { $0.hasPrefix("reactor_connections_closed_total ") }
        return line.flatMap { Int($0.split(separator: " ")[1]) }
    }

    @Test func `a version of a copy is not rebuilt for a client that has left`() async throws {
        try await Turnstile.servers.pass {
            try await LocalCluster.with { cluster in
                let session = try await cluster.session(ownedBy: 1)
                for message in ["a", "b"] { try await session.alert(message) }
                let (archive, port) = (cluster.journal.archive, cluster.servers[0].port)
                let path = "\(session.path)?version=1"
                func ask() async throws -> RawConnection {
                    let answers = archive.answers
                    let connection = try RawConnection(port: port)
                    await connection.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
                    while archive.answers == answers { await Task.yield() }
                    return connection
                }
                #expect(try await session.client.get(path).status == 200)
                let each = archive.snapshots
                try #require(each > 0)
                archive.hold()
                var readers: [RawConnection] = []
                for _ in 0..<Self.running { readers.append(try await ask()) }
                var last: RawConnection? = try await ask()
                // The loop gets the journal's answer before it gets this request.
                let before = try #require(try await closed(session.client))
                #expect(archive.snapshots == each + Self.running)
                last?.makeCloseReset()
                last = nil
                while try await closed(session.client) == before {}
                archive.release()
                for reader in readers { #expect(await reader.answers(1).first?.head.status == 200) }
                #expect(try await session.client.get(path).status == 200)
                #expect(archive.snapshots == (Self.running + 2) * each)
            }
        }
    }
}
