#if os(Linux)
    /// The clients of ``Observers``, one connection each: the auditor, those that change tags, the
    /// follower of a list, and the watchers.
    struct ObserverDriver: ClientDriver {
        private var changers: [TagClient] = []
        private(set) var follower = ListFollower()
        private(set) var watchers: [PresenceWatcher] = []
        /// For each place, the beginning of an event that is not complete yet.
        private var scanners: [EventScanner]
        /// When a place connects, sends its next request, or cuts its stream.
        private var dueAt: [UInt64]
        private var random: SeededNumbers
        private(set) var faults: [String] = []
        /// The servers that are running.
        var targets: [ServerTarget] = []
        private var token: String?
        private var isFinishing = false
        /// Whether no client but the auditor sends anything new.
        var rests = false
        /// The path that the auditor reads, and what it got.
        var question = ""
        private(set) var answer: (status: Int, body: [UInt8])?
        private(set) var looks = 0
        private var sets = 0
        private let count: Int

        /// - Parameter count: The number of clients that change tags, and that of watchers.
        init(_ count: Int, seed: UInt64) {
            self.count = count
            random = SeededNumbers(seed: seed)
            scanners = [EventScanner](repeating: EventScanner(), count: 2 + 2 * count)
            dueAt = [UInt64](repeating: 0, count: 2 + 2 * count)
        }

        var places: Int { dueAt.count }
        private var followerIndex: Int { 1 + count }
        /// The events that presence was checked with.
        var events: Int { sets + watchers.reduce(0) { $0 + $1.events } }

        /// Begins anew, with sessions that nobody else uses, and a session to watch.
        mutating func begin(_ run: String, token: String?, watching sessions: [String]) {
            (self.token, isFinishing, sets) = (token, false, events)
            changers = (0..<count).map { TagClient(session: "order-\(run)-\($0)") }
            follower = ListFollower()
            watchers = (0..<count).map { index in
                PresenceWatcher(
                    // With a token, a name is the token's subject.
                    name: token == nil ? "watcher-\(index)" : "storm",
                    session: sessions[index % sessions.count])
            }
            for place in dueAt.indices { dueAt[place] = 0 }
        }

        mutating func forgetAnswer() { answer = nil }

        mutating func record(_ fault: String) { faults.append(fault) }

        mutating func takeFaults() -> [String] {
            defer { faults = [] }
            return faults
        }

        /// Lets the clients complete their requests. Every other watcher leaves.
        mutating func finish() {
            isFinishing = true
            for index in changers.indices { changers[index].isFinishing = true }
            for place in dueAt.indices { dueAt[place] = 0 }
        }

        var areDone: Bool { changers.allSatisfy(\.isDone) }

        /// The watchers that stay until the end.
        var staying: [PresenceWatcher] {
            watchers.indices.filter { $0 % 2 == 0 }.map { watchers[$0] }
        }

        // MARK: What is due

        /// Connects and cuts what is due, and sends the requests that are.
        mutating func act(_ pool: inout ClientPool) throws(BenchError) {
            guard !rests else { return }
            let now = Clock.now()
            for place in 1..<places where dueAt[place] <= now {
                let isStream = place >= followerIndex
                let stays =
                    !isFinishing || place == followerIndex
                    || (isStream && (place - followerIndex - 1) % 2 == 0)
                    || (!isStream && !changers[place - 1].isDone)
                if !stays {
                    pool.close(place)
                } else if !pool.connections[place].isOpen {
                    guard let target = targets.randomElement(using: &random) else { continue }
                    wait(place, isStream ? 1_500_000_000 : 500_000_000)
                    try pool.open(place, to: target)
                } else if !isStream {
                    if pool.connections[place].isConnected,
                        pool.connections[place].outstanding == 0
                    {
                        try ask(place, &pool)
                    }
                } else if !isFinishing {
                    pool.close(place, hard: Bool.random(using: &random))
                    wait(place, 50_000_000)
                }
            }
        }

        private mutating func wait(_ place: Int, _ nanoseconds: UInt64) {
            dueAt[place] = Clock.now() + UInt64.random(in: 0..<nanoseconds * 2, using: &random)
        }

        private func host(_ place: Int, _ pool: borrowing ClientPool) -> String {
            StormRequests.host(pool.connections[place].host, token)
        }

        private mutating func ask(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            let host = host(place, pool)
            guard let bytes = changers[place - 1].request(host: host, &random) else { return }
            dueAt[place] = 0
            try pool.send(place, bytes)
        }

        // MARK: ClientDriver

        mutating func connected(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            let host = host(place, pool)
            switch place {
            case 0: try pool.send(place, TimerClient.request("GET", question, host))
            case ..<followerIndex: try ask(place, &pool)
            case followerIndex:
                follower.begin()
                let accepting = "\(host)\r\nAccept: text/event-stream"
                try open(place, ListFollower.path, accepting, &pool)
            default:
                let index = place - followerIndex - 1
                watchers[index].begin()
                let stream = ["pulses", "states", "events"][index % 3]
                let watcher = watchers[index]
                try open(
                    place,
                    "/v1/sessions/\(watcher.session)/\(stream)?as=\(watcher.name)&presence=on",
                    host, &pool)
            }
        }

        private mutating func open(
            _ place: Int, _ path: String, _ host: String, _ pool: inout ClientPool
        ) throws(BenchError) {
            scanners[place] = EventScanner()
            pool.behave(place) { $0.gathers = nil }
            try pool.send(place, TimerClient.request("GET", path, host))
        }

        mutating func began(_ place: Int, _ pool: inout ClientPool) {
            let status = pool.connections[place].status
            // 404: the session to watch does not exist yet.
            guard place >= followerIndex, status != 200, status != 404,
                !AnswerRules.isRefusal(status), !AnswerRules.isUnknown(status)
            else { return }
            record("\(status) to \(place == followerIndex ? "the follower" : "a watcher")")
        }

        mutating func read(
            _ place: Int, _ bytes: Span<UInt8>, _ range: Range<Int>, _ pool: inout ClientPool
        ) {
            guard place >= followerIndex, pool.connections[place].status == 200 else { return }
            var sink = NamedEvents()
            _ = scanners[place].scan(bytes, range: range, into: &sink)
            for (name, data) in sink.events {
                let fault =
                    if place == followerIndex { follower.receive(name, data) } else {
                        watchers[place - followerIndex - 1].receive(
                            name, data, known: Set(watchers.map(\.name)))
                    }
                if let fault { record(fault) }
            }
        }

        mutating func answered(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            let (status, body) = (pool.connections[place].status, pool.connections[place].body)
            if place == 0 {
                answer = (status, body)
            } else if place < followerIndex {
                let before = changers[place - 1].looks
                if let fault = changers[place - 1].answered(status, body, &random) {
                    record(fault)
                }
                looks += changers[place - 1].looks - before
                // Mostly the next request comes at once, half of them at another node.
                wait(place, status / 100 == 2 ? 10_000_000 : 100_000_000)
                guard pool.connections[place].closes || Bool.random(using: &random) else { return }
            } else {
                wait(place, 50_000_000)
            }
            pool.close(place)
        }

        mutating func lost(
            _ place: Int, _ loss: ClientLoss, _ pool: inout ClientPool
        ) throws(BenchError) {
            if case .unreadable(let fault) = loss { record("not HTTP: \(fault)") }
            wait(place, 50_000_000)
        }
    }

    /// Collects the events in received bytes that have a name.
    struct NamedEvents: EventSink {
        var events: [(name: String, data: [UInt8])] = []

        mutating func recognise(_ bytes: Span<UInt8>, at position: Int) -> Int? { nil }

        mutating func receive(_ block: EventBlock, in bytes: Span<UInt8>, range: Range<Int>) {
            guard let name = block.event, let data = block.data else { return }
            var (nameBytes, dataBytes): ([UInt8], [UInt8]) = ([], [])
            nameBytes.append(bytes, in: name)
            dataBytes.append(bytes, in: data)
            events.append((String(decoding: nameBytes, as: UTF8.self), dataBytes))
        }
    }
#endif
