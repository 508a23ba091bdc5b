import ArgumentParser

/// Storm: the server must respond to any bytes in any order, or close, and must not crash.
struct StormCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storm",
        abstract: "Sends anything to every route while the server is killed again and again.",
        discussion: """
            The server's program, and arguments if need be, stand after `--`; it must host \
            `alerts`, `counter`, `chat`, `job`, `countdown`, `conversation` and `document`, as \
            reactor-server does:

              reactor-bench storm --duration 60s -- reactor-server

            Round after round a server starts with other small limits, on a journal in a file or \
            in memory, and after at most four seconds gets SIGKILL or SIGTERM. Meanwhile \
            connections that make noise send valid and invalid requests of every route: \
            pipelined, in halves, byte by byte, never read, reset. On one hot session, over \
            connections that stay, half the clients post batches and keyed actions, and half page \
            the log where it is trimmed. Hunters post with new keys to sessions that have just \
            come back while others delete them. With --timers, clients set, cancel and replace \
            timers, and send actions that are refused after they have set some; the server must \
            then host `rounds`, as `FIXTURE_SAMPLES=1 fixture-server` does.

            The server must never end by itself, never answer a 5xx but 503, 504 and 507, send \
            nothing malformed, stay below --memory-limit, and answer the hot session's clients. \
            Acknowledged data must be there after every kill, and a key must get the same answer again. \
            Each timer must fire once and not early, or not at all if it was cancelled, replaced \
            or refused. With --observers, each list by tags must match the states, also right \
            after a change and followed as a stream, and the names of present readers must be \
            those of open streams; the server must then host `order`. \
            `journal check` must find nothing, in a backup and in an import of an export neither. \
            The exit status is 1 if not; the report then has the server's arguments and what \
            those concerned sent last. An hour: --duration 60m.
            """)

    @Option(help: "How long it runs.")
    var duration = TimeSpan(seconds: 60)

    @Option(help: "Connections at the same time that make noise.")
    var connections = 32

    @Option(help: "Sessions; each of the server's reactors has one in five.")
    var sessions = 6

    @Option(help: "Clients that post to the hot session; as many page its log.")
    var posters = 4

    @Option(
        help: "Sessions at the same time that are deleted beside a post; three connections each.")
    var hunts = 16

    @Option(help: "Clients that set timers.")
    var timers = 0

    @Option(help: "Clients that change tags; as many are readers with names.")
    var observers = 0

    @Option(help: "Resident MiB that the server may have.")
    var memoryLimit = 128

    @Option(help: "How long an answer, or the end after SIGTERM, may take.")
    var timeout = TimeSpan(seconds: 30)

    @Option(help: "Decides what is sent and when is killed; random unless given.")
    var seed = UInt64.random(in: 1...999_999)

    @Flag(help: "Print the report as JSON.")
    var json = false

    @Argument(parsing: .postTerminator, help: "The server's program, and its first arguments.")
    var server: [String] = []

    func validate() throws {
        try Bounds.check("--connections", connections, 1...10_000)
        try Bounds.check("--sessions", sessions, 1...1_000)
        try Bounds.check("--posters", posters, 1...1_000)
        try Bounds.check("--timers", timers, 0...1_000)
        try Bounds.check("--observers", observers, 0...100)
        try Bounds.check("--hunts", hunts, 0...1_000)
        try Bounds.check("--memory-limit", memoryLimit, 1...1_000_000)
        if server.isEmpty { throw ValidationError("the server's program is missing after --") }
    }

    func run() throws {
        #if os(Linux)
            // Printed at once: a storm that is killed prints no report.
            StormRun.announce(seed)
            var storm = try StormRun(self)
            let report = try storm.report()
            print(json ? report.json : report.table)
            guard report.problems.isEmpty else { throw ExitCode.failure }
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
