import Foundation
import Testing

@Suite("The options of reactor-server", .timeLimit(.minutes(60)))
struct OptionTests {
    static let names = [
        "host", "port", "loops", "journal", "body-limit", "body-budget", "state-limit",
        "connection-limit", "session-limit", "keep-bytes", "heartbeat", "connection-age",
        "stall-timeout", "idle-timeout",
        "retry", "grace", "allow-origin", "log-level", "log-format",
    ]

    @Test func `help lists every option, its variable and its default`() async throws {
        let run = try await ServerProcess.run(.server, ["--help"])
        #expect(run.exit == .code(0))
        // A long line may be wrapped onto two.
        let missing = Self.names.filter { name in
            let variable = "REACTOR_" + name.uppercased().replacing("-", with: "_")
            return !run.output.contains("--\(name) ") || !run.output.contains(variable)
        }
        #expect(missing == [])
        #expect(run.output.contains("healthcheck"))
    }

    @Test func `all bad values are reported together, and nothing is started`() async throws {
        let run = try await ServerProcess.run(
            .server,
            [
                "--port", "70000", "--loops", "0", "--journal", "paper", "--heartbeat", "15",
                "--console", "magic", "--body-limit", "1",
            ],
            environment: ["REACTOR_LOG_LEVEL": "loud", "REACTOR_GRACE": "-1s"])
        #expect(run.exit == .code(64))
        #expect(run.output.isEmpty)
        for sentence in [
            "--port is \"70000\"", "--loops is \"0\"", "--journal is \"paper\"",
            "--heartbeat is \"15\"", "--console is \"magic\"", "--body-limit is \"1\"",
            "REACTOR_LOG_LEVEL is \"loud\"", "REACTOR_GRACE is \"-1s\"",
        ] {
            #expect(run.errors.contains(sentence), "\(sentence)")
        }
    }

    // Without the tests' own variables, as a user would start it.
    @Test func `a removed option, variable or line is refused with what replaced it`() async throws
    {
        let folder = TemporaryFolder()
        let path = "\(folder.path)/server.conf"
        try "keep-records = 5\nrequest-timeout = 5s\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        for command in [[], ["config", "check"]] {
            let run = try await ServerProcess.run(
                .server,
                command + ["--unix", "/tmp/s", "--proxy-protocol", "--config", path],
                environment: [
                    "REACTOR_CLIENT_ADDRESS_FIELD": "forwarded",
                    "REACTOR_CONSTANTS": "", "REACTOR_POLLER": "", "REACTOR_SPREAD_FROM": "2",
                ])
            #expect(run.exit == .code(64))
            #expect(run.output.isEmpty)
            for sentence in [
                "--unix is no longer a setting: use --host unix:PATH",
                "--proxy-protocol is no longer a setting: a trusted proxy names its client in ",
                "REACTOR_CLIENT_ADDRESS_FIELD is no longer a setting: a trusted proxy names its ",
                "REACTOR_SPREAD_FROM is no longer a setting: it is always 256 streams of one session",
                "\(path):1: keep-records is no longer a setting: it is always 1000 records",
                "\(path):2: request-timeout is no longer a setting: --stall-timeout is the time",
            ] {
                #expect(run.errors.contains(sentence), "\(sentence)\n\(run.errors)")
            }
        }
    }

    @Test(arguments: [
        (["compact"], "journal backup FILE COPY"), (["stats"], "sqlite3 and psql"),
        (["import", "--accept-unmarked"], "export the journal again"),
    ])
    func `a removed command is refused with what replaced it`(
        _ words: [String], _ replacement: String
    ) async throws {
        let run = try await ServerProcess.run(.server, ["journal"] + words + ["/nowhere/file"])
        #expect(run.exit == .code(64))
        #expect(run.errors.hasPrefix("error: journal \(words.last ?? "") was removed: "))
        #expect(run.errors.contains(replacement))
    }

    @Test func `an unknown option is refused`() async throws {
        let run = try await ServerProcess.run(.server, ["--colour", "red"])
        #expect(run.exit == .code(64))
        #expect(run.errors.contains("--colour"))
    }

    @Test func `the environment sets values that options do not`() async throws {
        try await withServer(
            .server, "--retry", "100ms",
            environment: [
                "REACTOR_RETRY": "50s", "REACTOR_KEEP_RECORDS": "3", "REACTOR_JOURNAL": "memory",
            ]
        ) { server in
            let session = try await server.client().session("alerts")
            guard case .retry(let time) = try await session.open("pulses").nextItem() else {
                Issue.record("no retry")
                return
            }
            #expect(time < 1_000)
            for number in 1...30 { try await session.alert("\(number)") }
            let first = try await session.open("pulses?after=\(session.created)").next()
            #expect(first.name == "reset")
        }
    }

    @Test func `an address in use is reported, with exit status 1`() async throws {
        try await withServer { server in
            let run = try await ServerProcess.run(.server, ["--port", String(server.port)])
            #expect(run.exit == .code(1))
            #expect(run.output.isEmpty)
            #expect(run.errors.contains(String(server.port)))
        }
    }

    // Case 161.
    @Test func `a server whose address is in use leaves no journal behind`() async throws {
        let folder = TemporaryFolder()
        try await withServer { server in
            let run = try await ServerProcess.run(
                .server,
                ["--port", String(server.port), "--journal", "file:\(folder.path)/j.sqlite"])
            #expect(run.exit == .code(1))
            #expect(run.errors.contains(String(server.port)))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }

    @Test func `a server whose journal is in use releases its address`() async throws {
        try await withJournal { journal in
            let server = try await journal.start()
            let folder = TemporaryFolder()
            let socket = "\(folder.path)/s"
            let run = try await ServerProcess.run(
                .server, journal.options + ["--host", "unix:\(socket)"])
            #expect(run.exit == .code(1))
            #expect(run.errors.contains(String(server.pid)))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }

    @Test func `an address space that is too small is an error, with exit status 1`() async throws {
        let run = try await ServerProcess.run(
            .server, ["--port", "0"], prelude: "ulimit -v 250000")
        #expect(run.exit == .code(1))
        #expect(run.errors.contains("250000 KiB"))
    }

    @Test func `--version prints the version of the specification`() async throws {
        let run = try await ServerProcess.run(.server, ["--version"])
        #expect(run.exit == .code(0))
        let specification = try await sharedServer().get("/openapi.yaml")
        let line = try #require(
            specification.text.split(separator: "\n").first { $0.hasPrefix("  version: ") })
        #expect(run.output == "reactor-server \(line.dropFirst(11))\n")
    }

    @Test func `healthcheck --help shows only the options of healthcheck`() async throws {
        let run = try await ServerProcess.run(.server, ["healthcheck", "--help"])
        #expect(run.exit == .code(0))
        let shown = Self.names.filter { run.output.contains("--\($0) ") }
        #expect(shown == ["host", "port"])
    }

    @Test func `a name that is no host is reported, with exit status 1`() async throws {
        let run = try await ServerProcess.run(
            .server, ["--host", "no-such-host.invalid", "--port", "0"])
        #expect(run.exit == .code(1))
        #expect(run.errors.contains("no-such-host.invalid"))
    }

    @Test func `healthcheck exits with 0 for a ready server, else with 1`() async throws {
        try await withServer { server in
            let port = String(server.port)
            let well = try await ServerProcess.run(.server, ["healthcheck", "--port", port])
            #expect(well.exit == .code(0), "\(well.errors)")
            server.signal(15)
            _ = try await server.exit()
            let gone = try await ServerProcess.run(.server, ["healthcheck", "--port", port])
            #expect(gone.exit == .code(1))
            #expect(!gone.errors.isEmpty)
        }
    }

    @Test func `the log has a line for each request, up to the configured level`() async throws {
        try await withServer(.server, "--log-level", "debug") { server in
            _ = try await server.client().get("/v1/reactors")
            try await server.log.wait { $0.errors.contains("operation=listReactors") }
            let line = server.log.present.errors.split(separator: "\n").first {
                $0.contains("operation=listReactors")
            }
            #expect(try #require(line).contains("status=200"))
        }
        try await withServer(.server, "--log-level", "critical") { server in
            _ = try await server.client().get("/nothing")
            server.signal(15)
            _ = try await server.exit()
            #expect(server.log.present.errors.isEmpty)
        }
    }
}
