import Foundation
import ReactorHosting
import Testing

/// In a cluster, the journal counts a client's sessions before the client may create another one.
@Suite("A creation that waits for the journal", .timeLimit(.minutes(60)))
struct LateCreationTests {
    private func send(
        _ cluster: LocalCluster, _ method: String, _ path: String
    ) async throws -> Response {
        var request = Request.json(method, path, #"{"reactor":"alerts"}"#)
        request.fields.append(("Authorization", "Bearer ada"))
        return try await cluster.client(0).send(request)
    }

    @Test func `needs room when it continues`() async throws {
        let secret = "\(TemporaryFolder.shared.path)/\(UUID().uuidString)"
        try String(repeating: "s", count: 32).write(
            toFile: secret, atomically: true, encoding: .utf8)
        try await Turnstile.servers.pass {
            try await LocalCluster.with(
                1, authenticator: ClusterTicketTests.Names(),
                {
                    $1.clusterSecretPath = secret
                    $1.loops = 1
                    $1.sessionLimit = 1
                    $1.subjectSessionLimit = 100
                }
            ) { cluster in
                let counts = cluster.journal.counts
                counts.begin()
                async let one = send(cluster, "POST", "/v1/sessions")
                async let other = send(cluster, "PUT", "/v1/sessions/s")
                while counts.count < 2 { await Task.yield() }
                counts.end()
                let answers = [try await one, try await other]
                #expect(answers.map(\.status).sorted() == [201, 503])
                let refused = try #require(answers.first { $0.status == 503 })
                #expect(try refused.json["code"] == "session_limit")
            }
        }
    }
}
