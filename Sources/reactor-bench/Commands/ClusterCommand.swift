import ArgumentParser

/// Servers on PostgreSQL under faults must lose nothing and repeat nothing.
struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Runs a server on PostgreSQL under load and faults, and checks what clients saw.",
        discussion: """
            Starts PostgreSQL with a synchronous standby, in a temporary folder, and one server or \
            several: the command stands behind `--`, and gets `--port` and `--journal` from this tool, \
            and `--link` where there are several:

              reactor-bench cluster --duration 5m -- reactor-server --log-level critical

            Posters send actions, batches, and requests with an Idempotency-Key to any node; \
            readers resume with Last-Event-ID at any node. One fault after the other is inflicted. \
            At the end every acknowledged action must be in the history exactly once and in its \
            order, what was refused must not be there, each answer and each read must follow those \
            before it, and every stream must have told the whole history, each event once, \
            without a reset. The exit status is 1 if not.
            """)

    @Option(help: "How long faults are inflicted.")
    var duration = TimeSpan(seconds: 60)

    @Option(help: "Nodes, each a process; more than one needs a server with links.")
    var nodes = 1

    @Option(help: "Sessions; each has one poster for each node.")
    var sessions = 12

    @Option(help: "Readers: of pulses, states and the log in turn.")
    var readers = 36

    @Option(help: "Requests of all posters together, a second.")
    var rate = 300

    @Option(parsing: .upToNextOption, help: "The faults; all unless given.")
    var faults: [ClusterFault] = []

    @Option(help: "Decides what is sent and which faults follow each other; random unless given.")
    var seed = UInt64.random(in: 1...999_999)

    @Flag(help: "Print the report as JSON.")
    var json = false

    @Argument(parsing: .postTerminator, help: "The server's command.")
    var server: [String] = []

    var chosenFaults: [ClusterFault] { faults.isEmpty ? ClusterFault.allCases : faults }

    /// The command of one node. All nodes listen for each other on loopback.
    func words(of node: Int, _ journal: String) -> [String] {
        let link = nodes > 1 ? ["--link", "127.0.0.1:\(linkPort + node)"] : []
        return server + ["--port", "0", "--journal", journal] + link
    }

    /// The port of the first node's links: one that two runs beside each other hardly share.
    private var linkPort: Int { 20_000 + Int(seed % 1_000) * 10 }

    func validate() throws {
        try Bounds.check("--nodes", nodes, 1...9)
        try Bounds.check("--sessions", sessions, 1...1_000)
        try Bounds.check("--readers", readers, 0...1_000)
        try Bounds.check("--rate", rate, 1...100_000)
        if server.isEmpty { throw ValidationError("the server's command is missing behind --") }
    }

    func run() throws {
        #if os(Linux)
            var cluster = try ClusterRun(self)
            let report = try cluster.report()
            print(json ? report.json : report.table)
            guard report.problems.isEmpty else { throw ExitCode.failure }
        #else
            throw BenchError.unsupportedPlatform
        #endif
    }
}
