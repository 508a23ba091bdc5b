import Foundation
import Testing

@Suite("--auth jwt", .timeLimit(.minutes(60)))
struct TokenOptionTests {
    /// HS256 with the secret below; expires in 2100. Made with Python's hmac.
    private static let parts = [
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
        """
        eyJzdWIiOiJhZGEiLCJleHAiOjQxMDI0NDQ4MDAsInJlYWN0b3IiOnsidmVyYnMiOlsiY3\
        JlYXRlIiwiYWN0IiwicmVhZCJdLCJzZXNzaW9ucyI6WyIqIl19fQ
        """,
        "NJDYMv0XWagZC5fvwjNHHq-MNdLBAzoMJ-4cBbK6Zxw",
    ]
    private static let token = parts.joined(separator: ".")

    /// The path of a new file with this text.
    private func file(_ text: String) throws -> String {
        let path = "\(TemporaryFolder.shared.path)/\(UUID().uuidString)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test func `a token is required, on a public address and under any name`() async throws {
        let secret = try file("0123456789abcdef0123456789abcdef\n")
        try await withServer(
            .server, "--host", "0.0.0.0", "--auth", "jwt", "--jwt-secret-file", secret
        ) { server in
            let client = Client(base: "http://127.0.0.1:\(server.port)")
            let name = ("Host", "reactors.example")
            let valid = ("Authorization", "Bearer \(Self.token)")
            #expect(try await client.get("/livez", [name]).status == 200)
            #expect(try await client.get("/v1/reactors", [name]).status == 401)
            #expect(try await client.get("/v1/reactors", [name, valid]).status == 200)
            #expect(try await client.get("/metrics", [valid]).status == 403)
            let other = ("Authorization", "Bearer \(Self.token.dropLast(2))AA")
            #expect(try await client.get("/v1/reactors", [other]).status == 401)
            try await server.log.wait { $0.errors.contains("a token was refused") }
            for part in Self.parts { #expect(!server.log.present.errors.contains(part)) }
        }
    }

    @Test func `a program without keys, or with keys that it does not use, does not start`()
        async throws
    {
        let short = try file("0123456789abcdef0123456789abcde\n")
        let good = try file("0123456789abcdef0123456789abcdef")
        let commands: [(ServerProcess.Program, [String], String)] = [
            (.server, ["--auth", "jwt"], "needs a key"),
            (.server, ["--auth", "jwt", "--jwt-secret-file", short], "at least 32"),
            (.server, ["--auth", "jwt", "--jwt-secret-file", "/absent"], "/absent cannot be read"),
            (.server, ["--auth", "jwt", "--jwt-key-file", good], "one block"),
            (.server, ["--auth", "jwt", "--jwt-key-file", try file(" {")], "not JSON"),
            (.server, ["--jwt-secret-file", good], "without --auth jwt"),
            (.fixtures, ["--auth", "jwt", "--jwt-secret-file", good], "no verifier"),
        ]
        for (program, options, reason) in commands {
            let run = try await ServerProcess.run(program, ["--port", "0"] + options)
            #expect(run.exit == .code(64), "\(options)")
            #expect(run.errors.contains(reason), "\(options): \(run.errors)")
        }
    }
}
