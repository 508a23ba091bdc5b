#if os(Linux)
    /// A fault that lasts: a sequence of steps. Between the turns of the load, the present step is
    /// asked whether it is done.
    final class FaultInFlight {
        typealias Step = () throws(BenchError) -> Bool

        let fault: ClusterFault
        /// The numbers of the nodes that it concerns.
        let nodes: Set<Int>
        private var steps: ArraySlice<Step>

        init(_ fault: ClusterFault, nodes: Set<Int>, _ steps: [Step]) {
            self.fault = fault
            self.nodes = nodes
            self.steps = steps[...]
        }

        /// Whether both may last at the same time: they concern other nodes, and not both
        /// the database.
        func allows(_ other: ClusterFault, nodes others: Set<Int>) -> Bool {
            if nodes.isEmpty && others.isEmpty { return false }
            return nodes.isDisjoint(with: others)
        }

        /// Whether it is over.
        func advance() throws(BenchError) -> Bool {
            while let step = steps.first {
                guard try step() else { return false }
                steps.removeFirst()
            }
            return true
        }
    }

    /// The steps of each fault.
    struct FaultSteps {
        typealias Step = FaultInFlight.Step

        let database: DatabasePair
        let network: ClusterNetwork?
        let nodes: [ClusterNode]

        private let moment: UInt64 = 20_000_000

        /// - Parameters:
        ///   - node: the one that it concerns, if it concerns one.
        ///   - part: how long it lasts, from 0 for the shortest to 1 for the longest.
        func callAsFunction(
            _ fault: ClusterFault, at node: ClusterNode, lasting part: Double
        ) -> [Step] {
            let short = UInt64(500_000_000 + part * 7_500_000_000)
            let long = UInt64(500_000_000 + part * 14_500_000_000)
            let steps: [Step] =
                switch fault {
                case .kill: [once { node.kill() }, wait(2_000_000_000)] + start(node)
                case .pause:
                    [once { node.pause() }, wait(short), once { node.resume() }]
                case .roll: nodes.flatMap(roll)
                case .restart:
                    [
                        once { () throws(BenchError) in try database.restart() },
                        within(60, "the database does not start") { () throws(BenchError) in
                            try database.isReady()
                        },
                    ]
                case .failover: failOver()
                case .split: split(node)
                case .terminate: [endConnections("pg_terminate_backend(pid)")]
                case .cancel: [endConnections("pg_cancel_backend(pid)")]
                case .lock: lock()
                case .isolate: cut(.node(node.number), from: others(node), .both, short)
                case .deafen: cut(.node(node.number), from: others(node), .incoming, short)
                case .sever: cut(.node(node.number), from: DatabasePair.hosts, .both, long)
                case .slow:
                    between(
                        short,
                        { network throws(BenchError) in try network.narrow(.node(node.number)) }
                    ) {
                        network throws(BenchError) in try network.widen(.node(node.number))
                    }
                case .lossy:
                    between(
                        short,
                        { network throws(BenchError) in try network.thinOut(.node(node.number)) }
                    ) {
                        network throws(BenchError) in try network.heal(.node(node.number))
                    }
                case .detach:
                    cut(DatabasePair.hosts[0], from: [DatabasePair.hosts[1]], .both, short)
                }
            guard fault.concernsNode else { return steps + [wait(1_500_000_000)] }
            return [once { node.isDisturbed = true }] + steps
                + [wait(1_500_000_000), once { node.isDisturbed = false }]
        }

        private func others(_ node: ClusterNode) -> [ClusterNetwork.Host] {
            nodes.filter { $0.number != node.number }.map { .node($0.number) }
        }

        private func cut(
            _ host: ClusterNetwork.Host, from others: [ClusterNetwork.Host],
            _ dropped: ClusterNetwork.Dropped, _ time: UInt64
        ) -> [Step] {
            between(
                time, { network throws(BenchError) in try network.cut(host, from: others, dropped) }
            ) {
                network throws(BenchError) in try network.heal(host)
            }
        }

        private func between(
            _ time: UInt64, _ begin: @escaping (ClusterNetwork) throws(BenchError) -> Void,
            _ end: @escaping (ClusterNetwork) throws(BenchError) -> Void
        ) -> [Step] {
            guard let network else { return [] }
            return [
                once { () throws(BenchError) in try begin(network) }, wait(time),
                once { () throws(BenchError) in try end(network) },
            ]
        }

        func start(_ node: ClusterNode) -> [Step] {
            [
                once { () throws(BenchError) in try node.start() },
                within(60, "node \(node.number) does not start") { () throws(BenchError) in
                    try node.isStarted()
                },
            ]
        }

        /// Ends a node in order, and starts it again when it has ended.
        private func roll(_ node: ClusterNode) -> [Step] {
            [
                // A balancer that asks /readyz sends no more; a node that drains
                // accepts what comes.
                once { node.terminate() },
                within(60, "node \(node.number) does not end after SIGTERM") { node.hasEnded() },
            ] + start(node)
        }

        /// - Parameter node: It reaches the new primary alone.
        private func split(_ node: ClusterNode) -> [Step] {
            let copy = ProcessBox()
            let others = nodes.filter { $0.number != node.number }
            let restarted = others.first ?? node
            guard let network else { return [] }
            return awaitReplication() + [
                once { () throws(BenchError) in
                    let (former, new) = database.present
                    try network.cut(.node(node.number), from: [former], .both)
                    for other in others {
                        try network.cut(.node(other.number), from: [new], .both)
                    }
                    try database.promoteBesides()
                },
                // A node notices within some seconds that its connections are dead.
                wait(20_000_000_000),
                once { () throws(BenchError) in
                    for node in nodes { try network.heal(.node(node.number)) }
                },
                wait(3_000_000_000),
                once { restarted.kill() },
            ] + start(restarted) + [
                wait(3_000_000_000),
                once { () throws(BenchError) in
                    database.endFormer()
                    copy.process = try database.copyPrimary()
                },
            ] + beginStandby(copy)
        }

        /// A standby that has not begun to stream lacks what was acknowledged without it.
        private func awaitReplication() -> [Step] {
            var end = ""
            return [
                // Nodes that have connected while nobody confirmed commits find that out by and by.
                // Before that they take a promoted standby for one that may lack something.
                within(120, "the journal does not say that a standby confirms commits") {
                    () throws(BenchError) in try database.isKnownAsReplicated()
                },
                within(60, "the primary does not read its settings") {
                    () throws(BenchError) in try database.isSetToReplicate()
                },
                once { () throws(BenchError) in
                    try database.adoptSettings()
                    end = try database.flushedEnd()
                },
                within(60, "the standby does not have what the primary had") {
                    () throws(BenchError) in try database.isReplicated(through: end)
                },
            ]
        }

        private func failOver() -> [Step] {
            let copy = ProcessBox()
            return awaitReplication() + [
                once { () throws(BenchError) in
                    try database.failOver()
                    copy.process = try database.copyPrimary()
                }
            ] + beginStandby(copy)
        }

        private func beginStandby(_ copy: ProcessBox) -> [Step] {
            [
                within(120, "pg_basebackup does not end") { copy.hasEnded() },
                once { () throws(BenchError) in
                    guard copy.endCode == 0 else { throw .setup("pg_basebackup failed") }
                    try database.startStandby()
                },
            ]
        }

        private func endConnections(_ function: String) -> Step {
            once { () throws(BenchError) in
                try database.query(
                    """
                    SELECT \(function) FROM pg_stat_activity
                    WHERE application_name LIKE 'reactor/%' AND random() < 0.5
                    """)
            }
        }

        private func lock() -> [Step] {
            let lock = ProcessBox()
            return [
                once { () throws(BenchError) in
                    lock.process = try VictimProcess(database.lockAll(seconds: 3))
                },
                within(60, "the lock does not end") { lock.hasEnded() },
            ]
        }

        // MARK: Kinds of steps

        private func once(_ act: @escaping () throws(BenchError) -> Void) -> Step {
            { () throws(BenchError) in
                try act()
                return true
            }
        }

        private func wait(_ nanoseconds: UInt64) -> Step {
            var end: UInt64?
            return { () throws(BenchError) in
                let present = end ?? Clock.now() + nanoseconds
                end = present
                return Clock.now() >= present
            }
        }

        /// Asks every 20 ms; ends the run after the time.
        private func within(
            _ seconds: UInt64, _ message: String, _ isDone: @escaping Step
        ) -> Step {
            var (end, next) = (nil as UInt64?, UInt64(0))
            return { () throws(BenchError) in
                let now = Clock.now()
                let present = end ?? now + seconds * 1_000_000_000
                end = present
                guard now >= next else { return false }
                next = now + moment
                if try isDone() { return true }
                guard now < present else { throw .setup("\(message) within \(seconds) s") }
                return false
            }
        }
    }

    /// A process that several steps use.
    private final class ProcessBox {
        var process: VictimProcess?

        func hasEnded() -> Bool { process?.hasEnded() ?? true }

        var endCode: Int32? { process?.endCode }
    }
#endif
