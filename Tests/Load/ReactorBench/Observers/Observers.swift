#if os(Linux)
    /// Clients beside those of a storm or a cluster, on a pool of their own, which check tags
    /// (ADR-0088) and presence (ADR-0090); and what is compared when the others rest.
    struct Observers: ~Copyable {
        /// A tag that a reactor of the run has, whose name is also that of a member of the state.
        private struct Tag {
            var reactor: String
            var name: String
            var values: [String]
        }

        private static let tags = [
            Tag(
                reactor: "job", name: "phase",
                values: ["idle", "running", "finished", "cancelled"]),
            Tag(reactor: "order", name: "status", values: TagClient.values),
        ]
        /// For effects that still change states, and for the grace of names, which is 10 s.
        private static let limit: UInt64 = 30_000_000_000
        /// The number of states that are read for a comparison.
        private static let sampleSize = 60

        private var pool: ClientPool
        private var driver: ObserverDriver
        private var random: SeededNumbers
        private var comparisons = 0
        let isEmpty: Bool

        /// - Parameter count: The number of clients that change tags, and that of watchers; 0: the
        ///   observers do nothing.
        init(_ count: Int, seed: UInt64) throws(BenchError) {
            driver = ObserverDriver(count, seed: seed)
            pool = try ClientPool(connections: driver.places)
            random = SeededNumbers(seed: seed &+ 1)
            isEmpty = count == 0
        }

        mutating func begin(_ run: String, token: String? = nil, watching sessions: [String]) {
            driver.begin(run, token: token, watching: sessions)
        }

        /// The servers that are running; with none, all connections end.
        mutating func use(_ targets: [ServerTarget]) {
            driver.targets = targets
            if targets.isEmpty { pool.serverIsGone() }
        }

        mutating func turn(until end: UInt64) throws(BenchError) {
            guard !isEmpty else { return }
            try driver.act(&pool)
            try pool.turn(until: end, &driver)
        }

        mutating func takeFaults() -> [String] { driver.takeFaults() }

        borrowing func add(to report: inout Report) {
            guard !isEmpty else { return }
            report.add("lists after a change of tags", Double(driver.looks), .count)
            report.add("comparisons of lists with states", Double(comparisons), .count)
            report.add("events of presence", Double(driver.events), .count)
        }

        // MARK: Comparisons

        /// Ends the requests of its clients, and compares. Nobody else changes a session meanwhile.
        mutating func compareAll(watched: [String]?) throws(BenchError) {
            guard !isEmpty else { return }
            driver.finish()
            try settle("the clients that change tags have no answer") { (self) throws(BenchError) in
                self.driver.areDone
            }
            try compareTags()
            try settle("the follower has another page than GET") { (self) throws(BenchError) in
                let body = try self.get(ListFollower.path)
                return Set(ListedSession.all(in: body)) == self.driver.follower.page
            }
            for session in watched ?? [] { try comparePresence(session) }
        }

        /// Each session of a reactor with tags is in the list of one value, which is that of its
        /// state, and no other session is in a list.
        mutating func compareTags() throws(BenchError) {
            guard !isEmpty else { return }
            driver.rests = true
            defer { driver.rests = false }
            for tag in Self.tags {
                try settle("the lists of \(tag.reactor) do not rest") { (self) throws(BenchError) in
                    let before = try self.lists(of: tag)
                    let ids = Set(try self.list("reactor=\(tag.reactor)").map(\.id))
                    let states = try self.states(of: tag, in: ids)
                    guard try self.lists(of: tag) == before else { return false }
                    self.compare(tag, before, ids, states)
                    return true
                }
            }
        }

        private mutating func compare(
            _ tag: Tag, _ lists: [String: Set<ListedSession>], _ ids: Set<String>,
            _ states: [String: String]
        ) {
            comparisons += 1
            var values: [String: [String]] = [:]
            for (value, sessions) in lists {
                for session in sessions {
                    values[session.id, default: []].append(value)
                    guard session.tags != "\"\(tag.name)\":\"\(value)\"" else { continue }
                    driver.record("the list of \(value) shows \(session)")
                }
            }
            for id in ids.union(values.keys) {
                let listed = values[id] ?? []
                let isRight = ids.contains(id) && listed.count == 1
                guard !isRight || states[id] != nil && listed != [states[id]] else { continue }
                driver.record(
                    "\(id) is in the lists of \(listed), its state is \(states[id] ?? "unread"), "
                        + "and it \(ids.contains(id) ? "exists" : "is in no list of its reactor")")
            }
        }

        private mutating func lists(
            of tag: Tag
        ) throws(BenchError) -> [String: Set<ListedSession>] {
            var lists: [String: Set<ListedSession>] = [:]
            for value in tag.values { lists[value] = Set(try list("tag=\(tag.name):\(value)")) }
            return lists
        }

        /// The values in the states of some of the sessions. Those that hunters delete are not
        /// loaded for it.
        private mutating func states(
            of tag: Tag, in ids: Set<String>
        ) throws(BenchError) -> [String: String] {
            let sample = ids.filter { !$0.contains("-prey-") }.sorted().shuffled(using: &random)
            var states: [String: String] = [:]
            for id in sample.prefix(Self.sampleSize) {
                let body = String(decoding: try get("/v1/sessions/\(id)"), as: UTF8.self)
                let parts = body.split(separator: #""state":"#, maxSplits: 1)
                let state = parts.count == 2 ? parts[1] : ""
                states[id] = ListedSession.text(
                    after: "\"\(tag.name)\":\"", upTo: "\"", in: state)
            }
            return states
        }

        /// All pages of a list.
        private mutating func list(_ query: String) throws(BenchError) -> [ListedSession] {
            var sessions: [ListedSession] = []
            var after: String? = ""
            while let place = after {
                let body = try get("/v1/sessions?\(query)&limit=100\(place)")
                sessions += ListedSession.all(in: body)
                after = AnswerRules.text(after: #""next":""#, in: body).map { "&after=\($0)" }
            }
            return sessions
        }

        /// Each node shows the names of the open readers and no others, and so does each event that
        /// a reader was sent last.
        private mutating func comparePresence(_ session: String) throws(BenchError) {
            let names = Set(driver.staying.filter { $0.session == session }.map(\.name))
            let targets = driver.targets
            try settle("\(session) does not show its readers \(names)") {
                (self) throws(BenchError) in
                for target in targets {
                    let body = try self.get("/v1/sessions/\(session)/presence", at: target)
                    guard PresentNames(body)?.names == names else { return false }
                }
                return self.driver.staying.allSatisfy {
                    $0.session != session || $0.shown?.names == names
                }
            }
        }

        // MARK: Waiting

        private mutating func settle(
            _ fault: String,
            until condition: (inout Observers) throws(BenchError) -> Bool
        ) throws(BenchError) {
            let deadline = Clock.now() + Self.limit
            while !(try condition(&self)) {
                guard Clock.now() < deadline else {
                    return driver.record(
                        "\(fault); the last answer to \(driver.question): "
                            + String(decoding: driver.answer?.body ?? [], as: UTF8.self))
                }
                let pause = Clock.now() + 100_000_000
                while Clock.now() < pause { try turn(until: pause) }
            }
        }

        /// The body of the answer; empty if there was none but refusals.
        private mutating func get(
            _ path: String, at target: ServerTarget? = nil
        ) throws(BenchError) -> [UInt8] {
            let deadline = Clock.now() + Self.limit
            driver.question = path
            while Clock.now() < deadline {
                pool.close(0)
                let target = target ?? driver.targets.randomElement(using: &random)
                driver.forgetAnswer()
                if let target { try pool.open(0, to: target) }
                while driver.answer == nil, pool.connections[0].isOpen, Clock.now() < deadline {
                    try turn(until: Clock.now() + 20_000_000)
                }
                if let answer = driver.answer, !AnswerRules.isRefusal(answer.status),
                    !AnswerRules.isUnknown(answer.status)
                {
                    if answer.status == 200 { return answer.body }
                    driver.record("\(answer.status) to \(path)")
                    return []
                }
                try turn(until: Clock.now() + 20_000_000)
            }
            driver.record("no answer to \(path)")
            return []
        }
    }
#endif
