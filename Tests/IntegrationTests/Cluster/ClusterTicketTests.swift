import Foundation
import ReactorHosting
import Testing

@Suite("A ticket in a cluster", .timeLimit(.minutes(60)))
struct ClusterTicketTests {
    /// Accepts each token, whose text is the name of a client that may do everything.
    struct Names: Authenticator {
        func authenticate(bearer token: String) async throws(AuthenticationFailure) -> Principal {
            Principal(subject: token, grants: .all, expiresAtSeconds: 4_102_444_800)
        }
    }

    private func secret(_ lines: String) throws -> String {
        let path = "\(TemporaryFolder.shared.path)/\(UUID().uuidString)"
        try lines.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private static let old = String(repeating: "old", count: 11)
    private static let new = String(repeating: "new", count: 11)

    private func send(
        _ client: Client, _ method: String, _ path: String, _ json: String
    ) async throws -> Response {
        var request = Request.json(method, path, json)
        request.fields.append(("Authorization", "Bearer ada"))
        return try await client.send(request)
    }

    @Test func `is valid at every node, also while nodes have another first secret`() async throws {
        // In the second step of a change only one node has the new order.
        let paths = try [
            secret("\(Self.old)\n\(Self.new)\n"), secret("\(Self.new)\r\n\(Self.old)\r\n"),
        ]
        try await LocalCluster.with(
            authenticator: Names(),
            { $1.clusterSecretPath = paths[$0] }
        ) { cluster in
            let path = "/v1/sessions/s"
            let made = try await send(cluster.client(0), "PUT", path, #"{"reactor":"alerts"}"#)
            #expect(made.status == 201)
            for maker in 0..<2 {
                let body = #"{"stream":"\#(path)/pulses"}"#
                let answer = try await send(cluster.client(maker), "POST", "/v1/tickets", body)
                let ticket = try #require(try answer.json["ticket"]?.string, "\(answer.text)")
                let url = "\(path)/pulses?ticket=\(ticket)"
                var position = ""
                // EventSource reconnects with its URL, to any node.
                for reader in [1 - maker, maker, 1 - maker] {
                    let fields = position.isEmpty ? [] : [("Last-Event-ID", position)]
                    let stream = try await cluster.client(reader).open(url, fields)
                    #expect(await stream.head.status == 200)
                    if position.isEmpty { #expect(try await stream.next().name == "snapshot") }
                    // The link works too, although its ends present different secrets.
                    let alert = #"{"type":"alert","message":"m"}"#
                    let posted = try await send(
                        cluster.client(reader), "POST", "\(path)/actions", alert)
                    #expect(posted.status == 200, "\(posted.text)")
                    #expect(try await stream.next().data == #""m""#)
                    position = await stream.lastID
                    await stream.close()
                }
            }
        }
    }
}
