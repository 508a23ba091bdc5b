import Foundation
import Testing

@Suite("reactor-server config", .timeLimit(.minutes(60)))
struct ConfigCommandTests {
    private let folder = TemporaryFolder()

    private func file(_ text: String) throws -> String {
        let path = "\(folder.path)/server.conf"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test func `show prints each value and its origin`() async throws {
        let path = try file("# the file\nretry = 3s\nport = 1\n")
        let run = try await ServerProcess.run(
            .server, ["config", "show", "--config", path, "--port", "81"],
            environment: ["REACTOR_LOG_LEVEL": "debug"])
        #expect(run.exit == .code(0), "\(run.errors)")
        let rows = run.output.split(separator: "\n").map {
            $0.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        }
        #expect(rows.contains(["retry", "3s", "\(path):2"]))
        #expect(rows.contains(["port", "81", "--port"]))
        #expect(rows.contains(["log-level", "debug", "REACTOR_LOG_LEVEL"]))
        #expect(rows.contains(["heartbeat", "15s", "default"]))
        #expect(rows.contains(["link", "none", "default"]))
        // Every option of the server.
        let help = try await ServerProcess.run(.server, ["--help"])
        let options = help.output.split(separator: "\n").filter { $0.hasPrefix("  --") }
        let names = options.map { String($0.dropFirst(4).prefix { $0 != " " && $0 != "," }) }
        #expect(
            rows.map { $0[0] }.sorted()
                == names.filter { $0 != "version" && $0 != "help" }.sorted())
    }

    @Test(arguments: ["check", "show"])
    func `every fault is printed at once, and nothing is done`(command: String) async throws {
        let path = try file("retry = soon\nprot = 1\n")
        let run = try await ServerProcess.run(
            .server,
            [
                "config", command, "--config", path, "--port", "x", "--journal",
                "file:\(folder.path)/j",
            ], environment: ["REACTOR_GRACE": "0s", "REACTOR_PROT": "1"])
        #expect(run.exit == .code(64))
        #expect(run.output.isEmpty)
        for sentence in [
            "\(path):1: retry is \"soon\"", "\(path):2: there is no setting \"prot\"",
            "--port is \"x\"", "REACTOR_GRACE is \"0s\"", "warning: REACTOR_PROT",
        ] {
            #expect(run.errors.contains(sentence), "\(sentence)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["server.conf"])
    }

    @Test func `check exits with 0 without a fault`() async throws {
        let run = try await ServerProcess.run(
            .server, ["config", "check"], environment: ["REACTOR_RETRY": "1s"])
        #expect(run.exit == .code(0))
        #expect(run.output.hasSuffix(" settings, no faults\n"))
        #expect(run.errors.isEmpty)
    }

    @Test func `a server and its health check read the file`() async throws {
        let path = try file("retry = 100ms\nlog-level = critical\n")
        try await withServer(.server, "--config", path) { server in
            let session = try await server.client().session("alerts")
            guard case .retry(let time) = try await session.open("pulses").nextItem() else {
                Issue.record("no retry")
                return
            }
            #expect(time < 1_000)
            let check = try file("port = \(server.port)\n")
            let health = try await ServerProcess.run(.server, ["healthcheck", "--config", check])
            #expect(health.exit == .code(0), "\(health.errors)")
        }
    }

    @Test func `the arguments in the Compose files are valid`() async throws {
        let page = try DeploymentPage()
        let secret = "\(folder.path)/secret"
        try SignedToken.secret.write(toFile: secret, atomically: true, encoding: .utf8)
        let commands = page.serverCommands
        #expect(commands.count == 4)
        for command in commands {
            let arguments = command.split(separator: " ").map {
                $0.hasPrefix("/run/secrets/") ? secret : String($0)
            }
            let run = try await ServerProcess.run(.server, ["config", "check"] + arguments)
            #expect(run.exit == .code(0), "\(command): \(run.errors)")
        }
    }

    @Test func `a server without tokens answers to the name of the site`() async throws {
        let command = try #require(try DeploymentPage().commandWithoutTokens)
        let arguments = command.replacing("${SITE:-localhost}", with: "app.example")
        let server = try await ServerProcess.start(
            .server, arguments.split(separator: " ").map(String.init))
        for (host, status) in [("app.example", 200), ("evil.example", 421)] {
            let answer = try await server.client().get("/v1/reactors", [("Host", host)])
            #expect(answer.status == status, "\(host)")
        }
    }
}

/// The commands in Deployment.md that start containers.
private struct DeploymentPage {
    /// The `command` of each service that is built from our Dockerfile.
    let serverCommands: [String]
    /// The command for a private network, which replaces the first one.
    let commandWithoutTokens: String?

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let page = root.appending(path: "Sources/ReactorHosting/ReactorHosting.docc/Deployment.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        // `command: --a b` or `command: >-` and lines that are indented further.
        let commands = text.matches(of: /command: (?:>-\n\s+)?(--.*(?:\n {6}.*)*)\n/)
        serverCommands = commands.map { found in
            found.1.split { $0.isWhitespace }.joined(separator: " ")
        }
        commandWithoutTokens = text.firstMatch(of: /`(--auth none[^`]*\$\{SITE[^`]*)`/).map {
            String($0.1)
        }
    }
}
