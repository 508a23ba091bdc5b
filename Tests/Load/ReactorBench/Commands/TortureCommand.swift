import ArgumentParser

/// Torture: a server that is killed repeatedly must lose nothing and repeat nothing.
struct TortureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture",
        abstract: "Kills a server under load, round after round, and checks what it kept.",
        discussion: """
            The server's command stands after `--`; it must say `… listening on http://…` on \
            its standard output, host `alerts`, and keep its journal in a file that is new:

              REACTOR_CONSTANTS=adjustable reactor-bench torture -- .build/debug/reactor-server \
            --port 0 --journal file:/tmp/new.sqlite --history-records 1000000000

            (A debug build, which then keeps the whole history.)

            Posters send actions, batches, and requests with an Idempotency-Key, which they \
            repeat until they are answered; readers resume with Last-Event-ID. At a random moment \
            of each round the process gets SIGKILL (every tenth time SIGTERM; and some are killed \
            while they start). With --timers, clients set, cancel and replace timers, and send \
            actions that are refused after they have set some; the server must then host `rounds`, \
            as `FIXTURE_SAMPLES=1 fixture-server` does. At the end every acknowledged action must be in the history exactly \
            once and in its order, and every stream must have told the whole history, each event \
            once. Each timer must have fired once and not early, or not at all if it was cancelled, \
            replaced or refused. The exit status is 1 if not.
            """)

    @Option(help: "How often to kill.")
    var rounds = 200

    @Option(help: "How long a round is, on average; the real lengths are random.")
    var round = TimeSpan(seconds: 1)

    @Option(help: "After this time no new round begins.")
    var seconds = TimeSpan(seconds: 1_200)

    @Option(help: "Clients that post, each one request at a time.")
    var posters = 8

    @Option(help: "Sessions; poster i uses session i mod this.")
    var sessions = 3

    @Option(help: "Readers of each session: of pulses, states and the log in turn.")
    var subscribers = 3

    @Option(help: "Clients that set timers.")
    var timers = 0

    @Option(help: "Decides what is sent and when is killed; random unless given.")
    var seed = UInt64.random(in: 1...999_999)

    @Option(help: "How long the last reading of everything may take.")
    var timeout = TimeSpan(seconds: 120)

    @Flag(help: "Print the report as JSON.")
    var json = false

    @Argument(parsing: .postTerminator, help: "The server's command.")
    var server: [String] = []

    func validate() throws {
        try Bounds.check("--rounds", rounds, 1...1_000_000)
        try Bounds.check("--posters", posters, 1...1_000)
        try Bounds.check("--sessions", sessions, 1...posters)
        try Bounds.check("--timers", timers, 0...1_000)
        try Bounds.check("--subscribers", subscribers, 0...1_000)
        if server.isEmpty { throw ValidationError("the server's command is missing after --") }
        if round.nanoseconds < 10_000_000 { throw ValidationError("--round: 10ms at least") }
    }

    func run() throws {
        #if os(Linux)
            var torture = try TortureRun(self)
            let report = try torture.report()
            print(json ? report.json : report.table)
            guard report.problems.isEmpty else { throw ExitCode.failure }
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
