#if os(Linux)
    import Glibc

    /// A cluster under load, one fault after the other, and the comparison at the end.
    struct ClusterRun: ~Copyable {
        private let options: ClusterCommand
        private let database: DatabasePair
        private let network: ClusterNetwork?
        private let nodes: [ClusterNode]
        private let steps: FaultSteps
        private var inFlight: [FaultInFlight] = []
        private var pool: ClientPool
        private var driver: ClusterDriver
        private var observers: Observers
        private var random: SeededNumbers
        private let run: String
        private var faults: [ClusterFault: Int] = [:]
        /// The slowest answer while a fault lasted, in seconds.
        private var slowest: [ClusterFault: Double] = [:]
        private var usual = 0.0
        private var recovery = 0.0
        /// When a reader goes to another node.
        private var nextMove: UInt64 = 0

        init(_ options: ClusterCommand) throws(BenchError) {
            // First: an initializer that throws must not have begun with the other members.
            let clocks = options.hasWrongClocks ? try WrongClock() : nil
            let network = options.hasNetwork ? try ClusterNetwork(options.hosts) : nil
            let database = try DatabasePair(on: network)
            let observers = try Observers(options.observers, seed: options.seed &+ 3)
            var pool = try ClientPool(
                connections: options.sessions * options.nodes + options.timers + options.readers)
            pool.hasSeveralServers = true
            self.pool = pool
            self.observers = observers
            self.database = database
            self.network = network
            self.options = options
            random = SeededNumbers(seed: options.seed)
            nodes = (0..<options.nodes).map { number in
                ClusterNode(number, options.words(of: number, database.journal, network, clocks))
            }
            steps = FaultSteps(database: database, network: network, nodes: nodes)
            let sessions = options.sessions
            let readers = (0..<options.readers).map { index in
                TortureReader(
                    session: index % sessions,
                    stream: TortureReader.Stream.allCases[index / sessions % 3])
            }
            let run = "cluster-" + String(options.seed, radix: 36)
            self.run = run
            // One poster for each session and node, so that at the end each pair is tried.
            let posters = (0..<sessions * options.nodes).map { index in
                TorturePoster(number: UInt16(index), session: index % sessions)
            }
            let clients = TortureDriver(
                run: run, posters: posters,
                timers: (0..<options.timers).map {
                    TimerClient(
                        name: "\(run)-timers-\($0)", checksEarly: !options.hasWrongClocks)
                },
                readers: readers, sessions: sessions, seed: options.seed &+ 1)
            let pace = UInt64(posters.count) * 1_000_000_000 / UInt64(options.rate)
            driver = ClusterDriver(
                clients, nodes: options.nodes, pace: pace, seed: options.seed &+ 2)
        }

        /// Plays faults until the time is over, then compares the responses with the sessions.
        mutating func report() throws(BenchError) -> Report {
            defer {
                database.remove()
                network?.remove()
            }
            observers.begin(run, watching: Self.watched(run))
            for node in nodes { try start(node) }
            let begin = Clock.now()
            try play(until: begin + 3_000_000_000)
            usual = driver.takeSlowest()
            let end = begin + options.duration.nanoseconds
            while Clock.now() < end || !inFlight.isEmpty {
                if Clock.now() < end { try beginFaults() }
                try play(until: Clock.now() + 5_000_000)
                try advanceFaults()
            }
            try restoreNodes()
            try awaitRecovery()
            try readHistories()
            try observers.compareAll(watched: Self.watched(run))
            recordObservations()
            return report(seconds: Double(Clock.now() - begin) / 1e9)
        }

        /// The sessions whose readers have names.
        private static func watched(_ run: String) -> [String] { ["\(run)-0", "\(run)-1"] }

        // MARK: Time

        private mutating func play(until end: UInt64) throws(BenchError) {
            while Clock.now() < end {
                for node in nodes { driver.targets[node.number] = node.target }
                try driver.act(&pool)
                try pool.turn(until: min(end, Clock.now() + 5_000_000), &driver)
                observers.use(nodes.compactMap(\.target))
                try observers.turn(until: 0)
                recordObservations()
                guard Clock.now() >= nextMove else { continue }
                nextMove = Clock.now() + 100_000_000
                driver.moveReader(&pool)
            }
        }

        private mutating func recordObservations() {
            for fault in observers.takeFaults() { driver.record(.answer, fault) }
        }

        private mutating func start(_ node: ClusterNode) throws(BenchError) {
            let start = FaultInFlight(.kill, nodes: [], steps.start(node))
            while try !start.advance() { try play(until: Clock.now() + 20_000_000) }
        }

        // MARK: Faults

        private mutating func beginFaults() throws(BenchError) {
            guard inFlight.count < options.atOnce,
                let fault = options.chosenFaults.randomElement(using: &random),
                let node = nodes.randomElement(using: &random)
            else { return }
            let part = Double.random(in: 0...1, using: &random)
            let concerned =
                if fault.concernsNode { Set([node.number]) } else if fault == .roll {
                    Set(nodes.map(\.number))
                } else { Set<Int>() }
            guard inFlight.allSatisfy({ $0.allows(fault, nodes: concerned) }) else { return }
            faults[fault, default: 0] += 1
            inFlight.append(
                FaultInFlight(
                    fault, nodes: concerned, steps(fault, at: node, lasting: part)))
        }

        private mutating func advanceFaults() throws(BenchError) {
            driver.disturbedNodes = Set(nodes.filter(\.isDisturbed).map(\.number))
            var rest: [FaultInFlight] = []
            for fault in inFlight {
                guard try fault.advance() else {
                    rest.append(fault)
                    continue
                }
                slowest[fault.fault] = max(slowest[fault.fault] ?? 0, driver.takeSlowest())
            }
            inFlight = rest
        }

        private mutating func restoreNodes() throws(BenchError) {
            for node in nodes where node.target == nil { try start(node) }
        }

        // MARK: The end

        /// Five seconds after the last fault each session takes an action at each node.
        private mutating func awaitRecovery() throws(BenchError) {
            let begin = Clock.now()
            try driver.pinPosters(sessions: options.sessions, &pool)
            let before = driver.clients.posters.map(\.acknowledged)
            func missing(_ driver: borrowing ClusterDriver) -> [Int] {
                before.indices.filter { driver.clients.posters[$0].acknowledged == before[$0] }
            }
            while !missing(driver).isEmpty, Clock.now() < begin + 30_000_000_000 {
                try play(until: Clock.now() + 20_000_000)
            }
            recovery = Double(Clock.now() - begin) / 1e9
            for place in missing(driver).prefix(5) {
                driver.record(
                    .answer,
                    "session \(place % options.sessions) takes nothing at node "
                        + "\(place / options.sessions)")
            }
            if recovery > 5 {
                driver.record(.answer, "all sessions at all nodes only after \(recovery) s")
            }
        }

        private mutating func readHistories() throws(BenchError) {
            for code in nodes.flatMap(\.faultyEnds) {
                driver.record(.answer, "exit \(code) after SIGTERM")
            }
            driver.finish()
            let deadline = Clock.now() + 60_000_000_000
            while !driver.clients.areDone, Clock.now() < deadline {
                try play(until: Clock.now() + 20_000_000)
            }
            if !driver.clients.areDone {
                driver.record(.answer, "posts or timers without an answer")
            }
            try driver.addHistorians(&pool)
            while !driver.clients.haveReadAll, Clock.now() < deadline {
                try driver.act(&pool)
                try pool.turn(until: Clock.now() + 20_000_000, &driver)
            }
            driver.close()
        }

        private borrowing func report(seconds: Double) -> Report {
            var report = Report(
                title: "cluster: \(options.nodes) nodes, \(options.sessions) sessions, "
                    + "\(driver.clients.posters.count) posters, \(options.readers) readers, "
                    + "seed \(options.seed)")
            report.add("run", seconds, .seconds)
            report.add("slowest answer without a fault", usual, .seconds)
            for fault in ClusterFault.allCases {
                guard let count = faults[fault] else { continue }
                report.add("fault \(fault.rawValue)", Double(count), .count)
                report.add("slowest answer beside it", slowest[fault] ?? 0, .seconds)
            }
            report.add("all sessions at all nodes after", recovery, .seconds)
            let posts = driver.clients.ledger.posts
            report.add("posts", Double(posts.count), .count)
            for (status, count) in driver.statuses.sorted(by: { $0.key < $1.key }) {
                report.add("answers with \(status)", Double(count), .count)
            }
            report.add(
                "posts without an outcome", Double(posts.count { $0.outcome == .unanswered }),
                .count)
            report.add(
                "actions in the histories",
                Double(driver.clients.histories.reduce(0) { $0 + $1.count }), .count)
            report.add("timers that fired once", Double(driver.clients.timers.fired), .count)
            report.add("timers that were gone", Double(driver.clients.timers.gone), .count)
            report.add(
                "events checked", Double(driver.clients.readers.reduce(0) { $0 + $1.count }), .count
            )
            observers.add(to: &report)
            for fault in TortureFault.allCases {
                report.add(fault.rawValue, Double(driver.clients.ledger.counts[fault] ?? 0), .count)
            }
            report.problems = driver.clients.ledger.messages
            if driver.clients.posters.allSatisfy({ $0.acknowledged == 0 }) {
                report.problems.append("nothing was acknowledged")
            }
            return report
        }
    }
#endif
