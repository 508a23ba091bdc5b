import Foundation
import PostgresRig
import Testing

/// Server processes that are nodes of one cluster.
struct NodeProcesses {
    let database: PostgresServer
    let folder: TemporaryFolder

    /// Starts a node.
    ///
    /// - Parameters:
    ///   - options: In addition to those of a node.
    ///   - secret: The character of which its secret consists.
    ///   - leaseEnds: Whether the test waits until another node finds this one late or silent.
    ///     Otherwise both take the fixtures longer than a test: a slow node would lose its
    ///     sessions.
    func start(
        _ program: ServerProcess.Program = .server, _ options: [String] = [],
        environment: [String: String] = [:], secret: String = "s", leaseEnds: Bool = false
    ) async throws -> ServerProcess {
        var environment = environment
        if !leaseEnds { environment["FIXTURE_LEASE_SECONDS"] = "3600" }
        let path = "\(folder.path)/\(secret)"
        try String(repeating: secret, count: 32).write(
            toFile: path, atomically: true, encoding: .utf8)
        return try await ServerProcess.start(
            program,
            [
                "--journal", database.address("reactor"), "--link", "127.0.0.1:0",
                "--cluster-secret-file", path, "--loops", "2",
            ] + options, environment: environment)
    }

    func post(
        _ action: String, _ session: SessionHandle, key: String
    ) async throws -> Response {
        var request = Request.json("POST", "\(session.path)/actions", action)
        request.fields.append(("Idempotency-Key", key))
        return try await session.client.send(request)
    }

    /// Posts until the action is acknowledged, as a client does.
    ///
    /// - Returns: The version that it has reached.
    func accept(_ action: String, _ session: SessionHandle, key: String) async throws -> Int? {
        while true {
            let response = try await post(action, session, key: key)
            if response.status == 200 { return try response.json["version"]?.integer }
            try #require([503, 504, 409].contains(response.status), "\(response.text)")
        }
    }
}

/// A suite whose tests have a database of their own for their nodes.
protocol ProcessCluster {}

extension ProcessCluster {
    func withNodes(_ body: (NodeProcesses) async throws -> Void) async throws {
        try await Turnstile.servers.pass {
            try await body(
                NodeProcesses(database: try PostgresServer(), folder: TemporaryFolder()))
        }
    }
}
