import ArgumentParser

/// Servers on PostgreSQL under faults must lose nothing and repeat nothing.
struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Runs a server on PostgreSQL under load and faults, and checks what clients saw.",
        discussion: """
            Starts PostgreSQL with a synchronous standby, in a temporary folder, and one server or \
            several: the command stands after `--`, and gets `--port` and `--journal` from this tool, \
            and `--link` where there are several:

              reactor-bench cluster --duration 5m -- reactor-server --log-level critical

            Posters send actions, batches, and requests with an Idempotency-Key to any node; \
            readers resume with Last-Event-ID at any node. With --timers, clients also set, cancel \
            and replace timers, and send actions that are refused after they have set some; the \
            server must then host `rounds`, as `FIXTURE_SAMPLES=1 fixture-server` does. One fault after the other is inflicted. \
            At the end every acknowledged action must be in the history exactly once and in its \
            order, what was refused must not be there, each answer and each read must follow those \
            before it, and every stream must have told the whole history, each event once, \
            without a reset. Each timer must have fired once and (without --clocks) not early, or not \
            at all if it was cancelled, replaced or refused. With --observers, each list by tags \
            must match the states, also right after a change, at any node, and followed as a \
            stream; and each node must show the names of the open streams at all nodes. The \
            server must then host `order`. The exit status is 1 if not.

            With --network each node and each database has a network namespace of its own, and \
            packets are dropped and delayed too. That needs root, ip(8), tc(8) and iptables(8); a \
            run that is killed leaves the namespaces behind. With --clocks the wall clock of the second \
            node is an hour behind; that of the third is an hour ahead, and all of its clocks are \
            fast by a fifth. That needs the library WrongClock beside this program (swift build \
            --product WrongClock), and a server that is linked with the system's C library.
            """)

    @Option(help: "How long faults are inflicted.")
    var duration = TimeSpan(seconds: 60)

    @Option(help: "Nodes, each a process; more than one needs a server with links.")
    var nodes = 1

    @Option(help: "Sessions; each has one poster for each node.")
    var sessions = 12

    @Option(help: "Readers: of pulses, states and the log in turn.")
    var readers = 36

    @Option(help: "Clients that set timers.")
    var timers = 0

    @Option(help: "Clients that change tags; as many are readers with names.")
    var observers = 0

    @Option(help: "Requests of all posters together, a second.")
    var rate = 300

    @Option(parsing: .upToNextOption, help: "The faults; all that are possible unless given.")
    var faults: [ClusterFault] = []

    @Option(help: "Faults at the same time, at different nodes or at a node and the database.")
    var atOnce = 1

    @Flag(name: .customLong("network"), help: "Network namespaces, dropped and delayed packets.")
    var hasNetwork = false

    @Flag(name: .customLong("clocks"), help: "Clocks that are behind, ahead and fast.")
    var hasWrongClocks = false

    @Option(help: "Decides what is sent and which faults follow each other; random unless given.")
    var seed = UInt64.random(in: 1...999_999)

    @Flag(help: "Print the report as JSON.")
    var json = false

    @Argument(parsing: .postTerminator, help: "The server's command.")
    var server: [String] = []

    var chosenFaults: [ClusterFault] {
        guard faults.isEmpty else { return faults }
        return ClusterFault.allCases.filter { hasNetwork || !$0.needsNetwork }
    }

    #if os(Linux)
        /// All that have a namespace of their own.
        var hosts: [ClusterNetwork.Host] {
            DatabasePair.hosts + (0..<nodes).map { .node($0) }
        }

        /// The command of one node. Without a network, all nodes listen for each other on loopback.
        func words(
            of node: Int, _ journal: String, _ network: ClusterNetwork?, _ clocks: WrongClock?
        ) -> [String] {
            var words = server + ["--port", "0", "--journal", journal]
            let link = "\(linkPort + node)"
            if let network {
                let address = network.address(.node(node))
                words += ["--host", address, "--auth", "none", "--allow-public"]
                if nodes > 1 {
                    words += ["--link", "\(address):\(link)"]
                    words += ["--cluster-secret-file", network.secretPath]
                }
            } else if nodes > 1 {
                words += ["--link", "127.0.0.1:\(link)"]
            }
            words = clocks?.words(of: node, words) ?? words
            return network?.words(words, on: .node(node)) ?? words
        }
    #endif

    /// The port of the first node's links: one that two runs beside each other hardly share.
    private var linkPort: Int { 20_000 + Int(seed % 1_000) * 10 }

    func validate() throws {
        try Bounds.check("--nodes", nodes, 1...9)
        try Bounds.check("--sessions", sessions, 1...1_000)
        try Bounds.check("--readers", readers, 0...1_000)
        try Bounds.check("--timers", timers, 0...1_000)
        try Bounds.check("--observers", observers, 0...100)
        try Bounds.check("--rate", rate, 1...100_000)
        try Bounds.check("--at-once", atOnce, 1...4)
        if let fault = faults.first(where: \.needsNetwork), !hasNetwork {
            throw ValidationError("the fault \(fault.rawValue) needs --network")
        }
        if server.isEmpty { throw ValidationError("the server's command is missing after --") }
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
