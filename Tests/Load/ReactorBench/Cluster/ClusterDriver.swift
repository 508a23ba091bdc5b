#if os(Linux)
    /// The clients of `torture`, spread over several nodes: a client that loses its connection, or
    /// that changes its mind, continues at another node.
    struct ClusterDriver: ClientDriver {
        private(set) var clients: TortureDriver
        /// By node; nil for a node that is down.
        var targets: [ServerTarget?]
        /// The nodes at which how long answers take is the length of a fault.
        var disturbedNodes: Set<Int> = []
        /// The node at which each place connected last.
        private var nodes: [Int?]
        /// When a place connects or sends its next request.
        private var dueAt: [UInt64]
        /// The nodes that posters use at the end, by place; nil: any.
        private var finalNodes: [Int?]
        private var random: SeededNumbers
        /// The mean time between two requests of a poster, in nanoseconds.
        private let pace: UInt64
        /// When posters have sent their oldest requests without an answer.
        private var sentAt: [UInt64?]
        /// The longest time that a post or a read took at a node that no fault concerned, in
        /// nanoseconds, since it was last asked for.
        private var slowest: UInt64 = 0
        /// The number of posters' answers by status.
        private(set) var statuses: [Int: Int] = [:]

        /// A client gives a request up as faulty after this time.
        private static let answerLimit: UInt64 = 30_000_000_000

        init(_ clients: TortureDriver, nodes: Int, pace: UInt64, seed: UInt64) {
            self.clients = clients
            self.clients.asksAtOnce = false
            self.clients.allowsProblems = true
            self.pace = pace
            targets = [ServerTarget?](repeating: nil, count: nodes)
            dueAt = [UInt64](repeating: 0, count: clients.places)
            sentAt = [UInt64?](repeating: nil, count: clients.places)
            self.nodes = [Int?](repeating: nil, count: clients.places)
            finalNodes = [Int?](repeating: nil, count: clients.places)
            random = SeededNumbers(seed: seed)
        }

        /// The slowest answer since the last call, in seconds.
        mutating func takeSlowest() -> Double {
            defer { slowest = 0 }
            return Double(slowest) / 1e9
        }

        // MARK: What is due

        /// Connects places that are due, and sends the requests that are.
        mutating func act(_ pool: inout ClientPool) throws(BenchError) {
            let now = Clock.now()
            for place in dueAt.indices where dueAt[place] <= now {
                if !pool.connections[place].isOpen {
                    try open(place, &pool)
                } else if place < clients.askers, pool.connections[place].isConnected,
                    pool.connections[place].outstanding == 0
                {
                    try ask(place, &pool)
                } else if let since = sentAt[place], now - since > Self.answerLimit {
                    clients.ledger.record(.answer, "no answer to poster \(place) for 30 s")
                    pool.close(place)
                    try lost(place, .failed, &pool)
                }
            }
        }

        private mutating func open(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            let node = finalNodes[place] ?? targets.indices.randomElement(using: &random)
            guard let node, let target = targets[node] else {
                return wait(place, 20_000_000)
            }
            // A paused node accepts connections and says nothing: the request shows it.
            wait(place, 1_000_000_000)
            nodes[place] = node
            try pool.open(place, to: target)
        }

        private mutating func ask(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            try clients.ask(place, &pool)
            guard pool.connections[place].outstanding > 0 else { return wait(place, pace) }
            sentAt[place] = Clock.now()
            wait(place, 0)
        }

        private mutating func wait(_ place: Int, _ nanoseconds: UInt64) {
            let most = max(nanoseconds * 2, 2)
            dueAt[place] = Clock.now() + UInt64.random(in: 0..<most, using: &random)
        }

        /// Closes a reader's connection, so that it resumes at another node.
        mutating func moveReader(_ pool: inout ClientPool) {
            guard let reader = clients.readers.indices.randomElement(using: &random) else { return }
            let place = clients.askers + reader
            pool.close(place)
            dueAt[place] = 0
        }

        // MARK: The end

        /// Lets poster `p` use the node `p / sessions` from now on, so that each session is used at
        /// each node.
        mutating func pinPosters(sessions: Int, _ pool: inout ClientPool) throws(BenchError) {
            for place in clients.posters.indices {
                finalNodes[place] = (place / sessions) % targets.count
                guard pool.connections[place].isOpen else { continue }
                pool.close(place)
                try lost(place, .failed, &pool)
            }
        }

        mutating func finish() { clients.finish() }

        mutating func addHistorians(_ pool: inout ClientPool) throws(BenchError) {
            try clients.addHistorians(&pool)
            let more = clients.places - dueAt.count
            dueAt += [UInt64](repeating: 0, count: more)
            sentAt += [UInt64?](repeating: nil, count: more)
            finalNodes += [Int?](repeating: nil, count: more)
            nodes += [Int?](repeating: nil, count: more)
        }

        mutating func close() {
            clients.recordLaggards()
            clients.ledger.close(clients.histories)
        }

        mutating func record(_ fault: TortureFault, _ message: String) {
            clients.ledger.record(fault, message)
        }

        // MARK: ClientDriver

        mutating func connected(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            guard place >= clients.askers else { return try ask(place, &pool) }
            try clients.connected(place, &pool)
        }

        mutating func began(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            clients.began(place, &pool)
        }

        mutating func read(
            _ place: Int, _ bytes: Span<UInt8>, _ range: Range<Int>, _ pool: inout ClientPool
        ) {
            clients.read(place, bytes, range, &pool)
        }

        mutating func answered(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            if let since = sentAt[place],
                nodes[place].map(disturbedNodes.contains) == false
            {
                slowest = max(slowest, Clock.now() - since)
            }
            sentAt[place] = nil
            if place < clients.posters.count {
                statuses[pool.connections[place].status, default: 0] += 1
            }
            try clients.answered(place, &pool)
            let isRefused = AnswerRules.isRefusal(pool.connections[place].status)
            wait(place, isRefused ? 100_000_000 : pace)
            // Half of the requests go to another node than the one before.
            if place < clients.askers, Bool.random(using: &random) { pool.close(place) }
        }

        mutating func lost(
            _ place: Int, _ loss: ClientLoss, _ pool: inout ClientPool
        ) throws(BenchError) {
            sentAt[place] = nil
            try clients.lost(place, loss, &pool)
            wait(place, 20_000_000)
        }
    }
#endif
