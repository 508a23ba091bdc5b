import Foundation
import Testing

@Suite("RFC 7519 §2 — a client's name is its bytes", .timeLimit(.minutes(60)))
struct IdentityTests {
    /// Names that Swift's `String` compares as equal, although their bytes differ.
    private static let pairs = [
        ("Am\u{E9}lie", "Ame\u{301}lie"), ("Kate", "\u{212A}ate"), ("a;b", "a\u{37E}b"),
        ("\u{AC00}", "\u{1100}\u{1161}"),
    ]

    private func send(
        _ server: ServerProcess, _ method: String, _ path: String, _ json: String? = nil,
        as token: String, key: String? = nil
    ) async throws -> Response {
        var request = json.map { Request.json(method, path, $0) } ?? Request(path: path)
        request.method = method
        request.fields.append(("Authorization", "Bearer \(token)"))
        if let key { request.fields.append(("Idempotency-Key", key)) }
        return try await server.client().send(request)
    }

    private func start(_ journal: JournalFile, _ more: String...) async throws -> ServerProcess {
        let secret = "\(journal.path).secret"
        try SignedToken.secret.write(toFile: secret, atomically: true, encoding: .utf8)
        return try await ServerProcess.start(
            .server,
            ["--journal", "file:\(journal.path)", "--auth", "jwt", "--jwt-secret-file", secret]
                + more)
    }

    private static let body = #"{"reactor":"counter"}"#

    @Test func `a name that is only canonically equal has no access to another client's session`()
        async throws
    {
        try await withJournal { journal in
            var server = try await start(journal, "--subject-session-limit", "1")
            for isRestarted in [false, true] {
                if isRestarted {
                    try await server.murder()
                    server = try await start(journal, "--subject-session-limit", "1")
                }
                for (number, (one, other)) in Self.pairs.enumerated() {
                    #expect(one == other)
                    let first = try SignedToken.make(one, sessions: "[]", own: true)
                    let second = try SignedToken.make(other, sessions: "[]", own: true)
                    let path = "/v1/sessions/s\(number)"
                    if !isRestarted {
                        let made = try await send(server, "PUT", path, Self.body, as: first)
                        #expect(made.status == 201)
                    }
                    let increment = #"{"type":"increment","number":1}"#
                    #expect(try await send(server, "GET", path, as: first).status == 200)
                    #expect(try await send(server, "GET", path, as: second).status == 404, "\(one)")
                    let posted = try await send(
                        server, "POST", path + "/actions", increment, as: second)
                    #expect(posted.status == 404, "\(one)")
                    let put = try await send(server, "PUT", path, Self.body, as: second)
                    #expect(put.status == 409, "\(one)")
                    #expect(try await send(server, "DELETE", path, as: second).status == 404)
                    // Each client may own one session, and each owns a different one.
                    let more = "/v1/sessions/t\(number)"
                    let own = try await send(server, "PUT", more, Self.body, as: second)
                    #expect(own.status == (isRestarted ? 200 : 201), "\(one)")
                    for token in [first, second] {
                        let third = try await send(
                            server, "PUT", "/v1/sessions/u\(number)", Self.body, as: token)
                        #expect(third.status == 403, "\(one)")
                    }
                }
            }
        }
    }

    @Test func `nor does it get another client's answer, in memory or from the journal`()
        async throws
    {
        try await withJournal { journal in
            var server = try await start(journal)
            let path = "/v1/sessions/s/actions"
            _ = try await send(
                server, "PUT", "/v1/sessions/s", Self.body, as: try SignedToken.make("root"))
            var positions: [String?] = []
            for isRestarted in [false, true] {
                if isRestarted {
                    try await server.murder()
                    server = try await start(journal)
                }
                var repeated: [String?] = []
                for (number, (one, other)) in Self.pairs.enumerated() {
                    for (name, amount) in [(one, 1), (other, 2)] {
                        let answer = try await send(
                            server, "POST", path, #"{"type":"increment","number":\#(amount)}"#,
                            as: try SignedToken.make(name), key: "k\(number)")
                        #expect(answer.status == 200, "\(name): \(answer.text)")
                        repeated.append(try answer.json["position"]?.string)
                    }
                }
                if !isRestarted { positions = repeated }
                #expect(repeated == positions)
            }
            #expect(Set(positions).count == positions.count)
        }
    }

    @Test func `a name with a control character is refused, and the log says so`() async throws {
        try await withJournal { journal in
            let server = try await start(journal)
            for name in ["ada\0x", "\0", "ada\n", "a\tb", "\u{7F}", "\u{85}"] {
                let token = try SignedToken.make(name)
                #expect(try await send(server, "GET", "/v1/reactors", as: token).status == 401)
            }
            try await server.log.wait { $0.errors.contains("sub contains a control character") }
        }
    }
}
