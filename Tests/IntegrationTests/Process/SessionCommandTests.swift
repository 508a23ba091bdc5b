import Foundation
import Testing

@Suite("reactor-server session", .timeLimit(.minutes(60)))
struct SessionCommandTests {
    /// Runs a command to its end.
    private func run(
        _ address: String, _ arguments: String..., environment: [String: String] = [:]
    ) async throws -> ProcessLog.Present {
        try await ServerProcess.run(
            .server, ["session"] + arguments + ["--server", address], environment: environment)
    }

    /// Its output, if it succeeds without a note.
    private func output(_ address: String, _ arguments: String...) async throws -> String {
        let run = try await ServerProcess.run(
            .server, ["session"] + arguments, environment: ["REACTOR_SERVER": address])
        #expect(run.exit == .code(0) && run.errors.isEmpty, "\(arguments): \(run.errors)")
        return run.output
    }

    private let count = #"{"type":"doSomeAction"}"#

    @Test func `each command does to a session what its request does`() async throws {
        try await withServer { server in
            let address = server.address
            let missing = try await run(address, "post", "a", count)
            #expect(missing.exit == .code(1))
            #expect(missing.errors.hasPrefix("reactor-server: 404 unknown_session: the session a "))
            let posted = try await output(
                address, "post", "a", count, "--reactor", "alerts", "--key", "k")
            let session = try await server.client().get("/v1/sessions/a")
            let position = try #require(try session.json["position"]?.string)
            #expect(posted == "{\"version\":1,\"position\":\"\(position)\"}\n")
            // The same request is carried out once, another one again.
            #expect(try await output(address, "post", "a", count, "--key", "k") == posted)
            #expect(try await output(address, "post", "a", count).contains("\"version\":2,"))
            #expect(
                try await output(address, "state", "a")
                    == #"{"alertMessage":null,"actions":2}"# + "\n")
            #expect(try await output(address, "state", "a", "--part", "/actions") == "2\n")
            let whole =
                try await server.client().get("/v1/sessions/a").text.trimmingCharacters(
                    in: .newlines) + "\n"
            #expect(try await output(address, "state", "a", "--json") == whole)
            let none = try await run(address, "state", "a", "--part", "/b")
            #expect(none.exit == .code(1) && none.errors.hasSuffix("the state has no part /b\n"))

            let fork = try await output(address, "fork", "a", "--at", "1").dropLast()
            #expect(try await output(address, "state", "\(fork)", "--part", "/actions") == "1\n")
            let list = try await output(address, "list", "--reactor", "alerts")
            let rows = list.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            #expect(rows.first == ["session", "reactor", "version", "changed"])
            #expect(
                Set(rows.dropFirst())
                    == [["a", "alerts", "2", "-"], ["\(fork)", "alerts", "0", "-"]])
            let short = try await run(address, "list", "--limit", "1")
            #expect(short.output.split(separator: "\n").count == 2)
            #expect(short.errors.contains("there are more sessions"))

            #expect(try await output(address, "delete", "\(fork)") == "")
            let gone = try await run(address, "delete", "\(fork)")
            #expect(gone.exit == .code(1))
            #expect(gone.errors.hasPrefix("reactor-server: 410 session_ended: "))
            #expect(gone.errors.split(separator: "\n").count == 1)
        }
    }

    @Test func `the log has every entry once, whatever its pages`() async throws {
        try await withServer(journal: "file") { server in
            let batch = "[" + Array(repeating: count, count: 600).joined(separator: ",") + "]"
            _ = try await output(server.address, "post", "l", batch, "--reactor", "alerts")
            let lines = try await output(server.address, "log", "l").split(separator: "\n")
            // Of each action: it, and a mutation.
            try #require(lines.count == 1_200)
            let kinds = lines.prefix(2).map { $0.split(separator: " ")[2] }
            #expect(kinds == ["action.received", "mutation"])
            let positions = lines.map { $0.prefix { $0 != " " } }
            #expect(Set(positions).count == 1_200)
            let rest = try await output(
                server.address, "log", "l", "--after", "\(positions[1_197])", "--limit", "2")
            #expect(rest == lines[1_198...].joined(separator: "\n") + "\n")
            let pages = try await output(server.address, "log", "l", "--json")
            #expect(pages.split(separator: "\n").count >= 2)
            let other = try await output(server.address, "log", "l", "--after", "x", "--limit", "1")
            #expect(other.hasPrefix(#"-  reset  {"reason":"malformed"}"# + "\n"))
        }
    }

    @Test func `an action comes from standard input, and its text controls no terminal`()
        async throws
    {
        try await withServer { server in
            let script = #"""
                printf '{"type":"set","value":"\302\2331mred"}' | "$0" session post d - \
                    --reactor document --server "$1" && "$0" session state d --server "$1"
                """#
            let run = try await Tool.run(
                "sh", ["-c", script, ServerProcess.Program.server.path, server.address])
            #expect(run.exit == .code(0), "\(run.errors)")
            #expect(run.output.hasSuffix(#"{"value":"\u009b1mred","emitted":null}"# + "\n"))
            let refused = try await self.run(
                server.address, "post", "d",
                #"{"type":"patch","operations":[{"op":"remove","path":"/\u001b"}]}"#)
            #expect(refused.exit == .code(1))
            #expect(refused.errors.hasPrefix("reactor-server: 422 action_refused: "))
            #expect(!refused.errors.contains("\u{1b}"))
        }
    }

    @Test func `a token comes from a file or a variable`() async throws {
        let folder = TemporaryFolder()
        let secret = "\(folder.path)/secret"
        try SignedToken.secret.write(toFile: secret, atomically: true, encoding: .utf8)
        let token = try SignedToken.make("ada")
        let file = "\(folder.path)/token"
        try "\(token)\n".write(toFile: file, atomically: true, encoding: .utf8)
        try await withServer(.server, "--auth", "jwt", "--jwt-secret-file", secret) { server in
            let none = try await run(server.address, "list")
            #expect(none.exit == .code(1) && none.errors.contains(" 401 token_missing: "))
            let wrong = try await run(
                server.address, "list", environment: ["REACTOR_TOKEN": token + "x"])
            #expect(wrong.errors.contains(" 401 token_invalid: "))
            let variable = try await run(
                server.address, "list", environment: ["REACTOR_TOKEN": token])
            #expect(variable.exit == .code(0), "\(variable.errors)")
            let option = try await run(
                server.address, "list", "--token-file", file, environment: ["REACTOR_TOKEN": "x"])
            #expect(option.exit == .code(0), "\(option.errors)")
            let lost = try await run(server.address, "list", "--token-file", file + "x")
            #expect(lost.exit == .code(64) && lost.errors.contains(": open: No such file"))
        }
    }

    @Test func `a server may have a Unix socket, or none`() async throws {
        let path = "\(TemporaryFolder.shared.path)/s\(UUID().uuidString.prefix(8))"
        let address = "unix:\(path)"
        try await withServer(.server, "--host", address) { _ in
            let list = try await output(address, "list")
            #expect(list.hasPrefix("session  reactor"))
        }
        let gone = try await run(address, "list")
        #expect(gone.exit == .code(69))
        #expect(gone.errors.hasPrefix("reactor-server: connect \(address): "))
        let tls = try await run("https://127.0.0.1", "list")
        #expect(tls.exit == .code(64) && tls.errors.contains("no TLS: use curl"))
    }

    @Test func `what is no answer of the service is called that`() async throws {
        let page = "<html>\u{1b}[2J</html>"
        let head = "HTTP/1.1 200 OK\r\nContent-Type: "
        let problem = #"{"status":409,"code":"x","detail":"a\u009b\nb","pointer":"/1"}"#
        let answers: [(String, Int32, String)] = [
            (
                "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n\(page)", 1,
                "502: the response is not one of reactor-server; its type is text/html"
            ),
            (head + "text/html; charset=utf-8\r\n\r\n\(page)", 1, "its type is text/html"),
            (head + "application/json\r\n\r\n{\"id\":", 1, "its type is application/json"),
            (head + "application/json\r\n\r\n[]", 1, "the state has no part"),
            (
                head + "application/json\r\nContent-Length: 67108865\r\n\r\n", 1,
                "The body is larger than 67108864 bytes."
            ),
            (
                head + "application/json\r\nContent-Length: 9\r\n\r\n{}", 69,
                "the response did not arrive: the connection was closed"
            ),
            ("", 69, "the response did not arrive"),
            ("220 smtp.example\r\n", 1, "The first line is not"),
            (
                "HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\n\r\n\(problem)",
                1, #"409 x: a\u009b\u000ab (at /1)"#
            ),
        ]
        for (answer, status, phrase) in answers {
            let server = try CannedServer(answer)
            let run = try await run(server.address, "state", "a")
            #expect(server.log.present.output.hasPrefix("GET /v1/sessions/a HTTP/1.1\r\n"))
            #expect(run.exit == .code(status), "\(run)")
            #expect(
                run.errors.hasPrefix("reactor-server: ") && run.errors.contains(phrase), "\(run)")
            #expect(run.output.isEmpty && !run.errors.contains("\u{1b}"), "\(run)")
        }
    }

    @Test func `a post whose answer is lost, or that comes too early, is sent again`() async throws
    {
        let busy =
            "HTTP/1.1 503 x\r\nRetry-After: 0\r\nContent-Type: application/problem+json\r\n\r\n"
            + #"{"status":503,"code":"too_busy","detail":"nothing was applied"}"#
        let server = try CannedServer(
            "", busy, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"version\":1}\n")
        let run = try await run(server.address, "post", "a", "{}")
        #expect(run.exit == .code(0) && run.output == "{\"version\":1}\n")
        #expect(run.errors.split(separator: "\n").count == 2)
        let requests = server.log.present.output
        let keys = requests.matches(of: /Idempotency-Key: (\S{20,})\r\n/).map(\.1)
        #expect(keys.count == 3 && Set(keys).count == 1, "\(requests)")
        // One that was not sent is not repeated.
        let refused = try await self.run("unix:/nowhere", "post", "a", "{}")
        #expect(refused.exit == .code(69) && !refused.errors.contains("trying again"))
    }
}
