import ArgumentParser

/// Storm: whatever clients send, in whatever order, the server answers or closes, and lives.
struct StormCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storm",
        abstract: "Sends anything to every route while the server is killed again and again.",
        discussion: """
            The server's program, and arguments if need be, stand behind `--`; it must host \
            `alerts`, `counter`, `chat` and `job`, as reactor-server does:

              reactor-bench storm --duration 60s -- reactor-server

            Many connections on few sessions send valid and invalid requests of every route: \
            pipelined, in halves, byte by byte, never read, reset. The server has small limits, \
            and a journal in memory and in a file in turn. Every few seconds it gets SIGKILL or \
            SIGTERM. It must never end by itself, never answer a 5xx but 503, 504 and 507, and \
            `journal check` must find nothing; one client counts, and what it was told must be \
            there after every kill. The exit status is 1 if not; the report then has what was \
            sent last. An hour: --duration 60m.
            """)

    @Option(help: "How long it runs.")
    var duration = TimeSpan(seconds: 60)

    @Option(help: "Connections at the same time, besides the one that counts.")
    var connections = 32

    @Option(help: "Sessions; each of the server's reactors has one in four.")
    var sessions = 6

    @Option(help: "Decides what is sent and when is killed; random unless given.")
    var seed = UInt64.random(in: 1...999_999)

    @Flag(help: "Print the report as JSON.")
    var json = false

    @Argument(parsing: .postTerminator, help: "The server's program, and its first arguments.")
    var server: [String] = []

    func validate() throws {
        try Bounds.check("--connections", connections, 1...10_000)
        try Bounds.check("--sessions", sessions, 1...1_000)
        if server.isEmpty { throw ValidationError("the server's program is missing behind --") }
    }

    func run() throws {
        #if os(Linux)
            // Now: a storm that is ended from outside prints no report.
            StormRun.announce(seed)
            var storm = try StormRun(self, in: StormRun.makeDirectory())
            let report = try storm.report()
            print(json ? report.json : report.table)
            guard report.problems.isEmpty else { throw ExitCode.failure }
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
