import Foundation
import Testing

@Suite("config check refuses what the start refuses", .timeLimit(.minutes(60)))
struct StartCheckTests {
    @Test(arguments: [
        (["--auth", "jwt"], "--auth jwt needs a key"),
        (["--auth", "jwt", "--jwt-secret-file", "/nowhere/secret"], "/nowhere/secret"),
        (["--jwt-secret-file", "/nowhere/secret"], "without --auth jwt"),
        (["--host", "0.0.0.0"], "other machines can reach 0.0.0.0"),
        (["--ops-listen", "0.0.0.0:0"], "other machines can reach 0.0.0.0"),
        (["--link", "127.0.0.1:0", "--journal", "file:/nowhere/j"], "PostgreSQL"),
        (["--link-address", "10.0.0.1:7080"], "--link-address is set without --link"),
        (["--link", "0.0.0.0:0", "--journal", "postgres://127.0.0.1:1/x"], "nothing proves"),
        (["--host", "unix:/tmp/s", "--ops-listen", "unix:/tmp/s"], "--ops-listen is unix:/tmp/s"),
        (["--journal", "postgres://127.0.0.1:1/x?lanes=99"], "lanes=99: a number from 1 to 16"),
        (["--journal", "postgres://127.0.0.1:1/x?sslmod=on"], "the address cannot be read"),
        (
            [
                "--link", "127.0.0.1:7", "--ops-listen", "127.0.0.1:7", "--journal",
                "postgres://127.0.0.1:1/x",
            ], "--link is 127.0.0.1:7, the address of --ops-listen"
        ),
        // All at once.
        (
            ["--link-address", "10.0.0.1:7080", "--host", "0.0.0.0"],
            "other machines can reach 0.0.0.0"
        ),
    ])
    func `with the same status and the same words`(
        _ options: [String], _ words: String
    ) async throws {
        let check = try await ServerProcess.run(.server, ["config", "check"] + options)
        let start = try await ServerProcess.run(.server, ["--port", "0"] + options)
        #expect(check.exit == .code(64))
        #expect(start.exit == .code(64))
        #expect(check.output.isEmpty)
        let sentences = check.errors.split(separator: "\n").dropFirst()
        #expect(sentences.contains { $0.contains(words) }, "\(check.errors)")
        let logged = start.errors.replacing("\\\"", with: "\"")
        for sentence in sentences { #expect(logged.contains(sentence), "\(logged)") }
        #expect(start.errors.split(separator: "\n").count == sentences.count)
    }

    @Test func `a host that cannot be resolved is no fault of the settings`() async throws {
        let options = ["--host", "no-such-host.invalid", "--port", "0"]
        let check = try await ServerProcess.run(.server, ["config", "check"] + options)
        let start = try await ServerProcess.run(.server, options)
        #expect(check.exit == .code(1))
        #expect(start.exit == .code(1))
        let sentence = try #require(check.errors.split(separator: "\n").last)
        #expect(start.errors.replacing("\\\"", with: "\"").contains(sentence))
    }

    @Test func `a path that no socket can have`() async throws {
        let options = ["--host", "unix:/tmp/" + String(repeating: "x", count: 200)]
        let check = try await ServerProcess.run(.server, ["config", "check"] + options)
        let start = try await ServerProcess.run(.server, options)
        #expect(check.exit == .code(1))
        #expect(start.exit == .code(1))
        #expect(check.errors.contains("can't listen on unix:/tmp/xxx"))
        #expect(start.errors.contains("can't listen on unix:/tmp/xxx"))
    }

    @Test func `the address of a service in a variable is no setting`() async throws {
        let environment = [
            "REACTOR_PORT": "tcp://10.96.0.1:8080", "REACTOR_PORT_8080_UDP": "udp://10.96.0.1:8080",
        ]
        let check = try await ServerProcess.run(
            .server, ["config", "check"], environment: environment)
        #expect(check.exit == .code(0))
        #expect(check.errors.contains("warning: REACTOR_PORT is tcp://10.96.0.1:8080"))
        #expect(check.errors.contains("warning: REACTOR_PORT_8080_UDP is udp:"))
        try await withServer(.server, environment: environment) { server in
            #expect(server.log.present.errors.contains("REACTOR_PORT is tcp://10.96.0.1:8080"))
        }
    }

    @Test func `show --format file prints a file that --config accepts`() async throws {
        let folder = TemporaryFolder()
        let options = [
            "--retry", "3s", "--allow-host", "a,b", "--wake-on-demand", "--trusted-proxies",
            "10.0.0.0/8,unix", "--keep-bytes", "7", "--journal", "file:/x y/j.sqlite",
            "--jwt-issuer", "# = a",
        ]
        let shown = try await ServerProcess.run(
            .server, ["config", "show", "--format", "file"] + options)
        #expect(shown.exit == .code(0))
        let path = "\(folder.path)/server.conf"
        try shown.output.write(toFile: path, atomically: true, encoding: .utf8)
        // Without the variables of the tests, which come before a file.
        let unset = ["REACTOR_JOURNAL": "", "REACTOR_ALLOW_HOST": "", "REACTOR_LOOPS": ""]
        let again = try await ServerProcess.run(
            .server, ["config", "show", "--format", "file", "--config", path],
            environment: unset)
        #expect(again.exit == .code(0), "\(again.errors)")
        #expect(again.output == shown.output)
        let check = try await ServerProcess.run(
            .server, ["config", "check", "--config", path], environment: unset)
        #expect(check.exit == .code(0), "\(check.errors)")
        #expect(shown.output.contains("\nretry = 3s\n"))
        #expect(shown.output.contains("\n# heartbeat = 15s\n"))
        #expect(
            shown.output.contains(
                "\n# Change it when another program has this port.\n# port = 8080\n"))
        let odd = try await ServerProcess.run(
            .server, ["config", "show", "--format", "file", "--jwt-issuer", " a "])
        #expect(
            odd.output.contains(
                "\n# jwt-issuer =  a  (no line can have it: use --jwt-issuer)\n"))
        let secret = try await ServerProcess.run(
            .server,
            ["config", "show", "--format", "file", "--journal", "postgres://u:geheim@h/d"])
        #expect(!secret.output.contains("geheim"))
        #expect(secret.output.contains("\n# journal = postgres://u:***@h/d (it has a secret"))
    }
}
