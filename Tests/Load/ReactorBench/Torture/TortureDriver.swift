#if os(Linux)
    /// All clients of a run, one connection of the pool each: posters first, then those that set
    /// timers, then readers.
    struct TortureDriver: ClientDriver {
        private let run: String
        private var random: SeededNumbers
        private(set) var posters: [TorturePoster]
        private(set) var timers: [TimerClient]
        private(set) var readers: [TortureReader]
        /// For each reader, the beginning of an event that is not complete yet.
        private var scanners: [EventScanner]
        var ledger: TortureLedger
        /// Whether a poster's next request follows the answer at once.
        var asksAtOnce = true
        /// Whether a stream may end with a problem: where the journal may be out of reach.
        var allowsProblems = false

        init(
            run: String, posters: [TorturePoster], timers: [TimerClient], readers: [TortureReader],
            sessions: Int, seed: UInt64
        ) {
            self.run = run
            self.posters = posters
            self.timers = timers
            self.readers = readers
            random = SeededNumbers(seed: seed)
            ledger = TortureLedger(sessions: sessions)
            scanners = [EventScanner](repeating: EventScanner(), count: readers.count)
        }

        /// The number of posters and of clients that set timers.
        var askers: Int { posters.count + timers.count }
        var places: Int { askers + readers.count }

        private func name(_ session: Int) -> String { "\(run)-\(session)" }

        // MARK: Clients

        /// Lets posters complete their outstanding requests and send no new ones.
        mutating func finish() {
            for index in posters.indices { posters[index].isFinishing = true }
            for index in timers.indices { timers[index].isFinishing = true }
        }

        var areDone: Bool { posters.allSatisfy(\.isDone) && timers.allSatisfy(\.isDone) }

        /// Adds a reader, which starts at the beginning of its stream.
        mutating func add(_ reader: TortureReader) {
            readers.append(reader)
            scanners.append(EventScanner())
        }

        /// Connects each client that has a request to send and no connection.
        func connect(_ pool: inout ClientPool) throws(BenchError) {
            for place in 0..<places { try connect(place, &pool) }
        }

        private func connect(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            if !isIdle(place) { try pool.open(place) }
        }

        private func isIdle(_ place: Int) -> Bool {
            if place < posters.count { return posters[place].isDone }
            if place < askers { return timers[place - posters.count].isDone }
            return ledger.epoch(of: readers[place - askers].session) == nil
        }

        /// Closes a reader's connection; the reader resumes with its last id over a new one.
        func dropReader(_ number: Int, _ pool: inout ClientPool) throws(BenchError) {
            let place = askers + number
            guard pool.connections[place].isOpen else { return }
            pool.close(place)
            try connect(place, &pool)
        }

        /// Cancels the requests that have no response yet.
        mutating func serverIsGone(_ pool: inout ClientPool) {
            for place in posters.indices where pool.connections[place].isOpen {
                posters[place].lost(&ledger)
            }
            pool.serverIsGone()
        }

        /// Sends the requests for which clients that set timers have waited.
        mutating func askTimers(_ pool: inout ClientPool) throws(BenchError) {
            for place in posters.count..<askers
            where pool.connections[place].isConnected && pool.connections[place].outstanding == 0 {
                try ask(place, &pool)
            }
        }

        // MARK: ClientDriver

        mutating func connected(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            guard place >= askers else { return try ask(place, &pool) }
            let reader = place - askers
            scanners[reader] = EventScanner()
            pool.behave(place) { $0.gathers = nil }
            let session = readers[reader].session
            guard let epoch = ledger.epoch(of: session) else { return }
            let name = name(session)
            try pool.send(
                place,
                readers[reader].request(to: name, epoch: epoch, host: pool.connections[place].host))
        }

        /// Sends the next request of a poster, or of a client that sets timers, if it has one now.
        mutating func ask(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            guard pool.acceptsRequests else { return }
            let host = pool.connections[place].host
            let bytes =
                if place < posters.count {
                    posters[place].request(
                        to: name(posters[place].session), host: host, &ledger, &random)
                } else {
                    timers[place - posters.count].request(
                        now: Clock.now(), host: host, &random)
                }
            if let bytes { try pool.send(place, bytes) }
        }

        mutating func began(_ place: Int, _ pool: inout ClientPool) {
            guard place >= askers, pool.connections[place].status != 200 else { return }
            let stream = readers[place - askers].stream
            ledger.record(.answer, "\(pool.connections[place].status) to \(stream)")
        }

        mutating func read(
            _ place: Int, _ bytes: Span<UInt8>, _ range: Range<Int>, _ pool: inout ClientPool
        ) {
            guard pool.connections[place].status == 200 else { return }
            let reader = place - askers
            var sink = TortureEvents()
            _ = scanners[reader].scan(bytes, range: range, into: &sink)
            for event in sink.events where !(event.isProblem && allowsProblems) {
                readers[reader].receive(event, &ledger)
            }
        }

        mutating func answered(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            if place < askers {
                let connection = pool.connections[place]
                if place < posters.count {
                    posters[place].answered(
                        connection.status, connection.body, isOld: connection.hasAge, &ledger)
                } else {
                    let faults = timers[place - posters.count].answered(
                        connection.status, connection.body, now: Clock.now())
                    for fault in faults { ledger.record(.timer, fault) }
                }
                guard connection.closes else {
                    if asksAtOnce { try ask(place, &pool) }
                    return
                }
            }
            // The reader resumes a stream that ended over another connection.
            pool.close(place)
            try connect(place, &pool)
        }

        mutating func lost(
            _ place: Int, _ loss: ClientLoss, _ pool: inout ClientPool
        ) throws(BenchError) {
            if case .unreadable(let fault) = loss { ledger.record(.answer, "not HTTP: \(fault)") }
            if place < posters.count { posters[place].lost(&ledger) }
            try connect(place, &pool)
        }
    }

    // The comparison at the end.
    extension TortureDriver {
        /// A reader of each session's whole action log.
        mutating func addHistorians(_ pool: inout ClientPool) throws(BenchError) {
            let sessions = (readers.map(\.session) + posters.map(\.session)).max() ?? 0
            for session in 0...sessions {
                add(TortureReader(session: session, stream: .log, keepsActions: true))
                pool.addConnection()
            }
            try connect(&pool)
        }

        /// Whether every reader has reached its session's version.
        var haveReadAll: Bool {
            readers.allSatisfy { $0.number >= ledger.version(of: $0.session) }
        }

        mutating func recordLaggards() {
            for reader in readers where reader.number < ledger.version(of: reader.session) {
                ledger.record(
                    .gap,
                    "\(reader.stream) of session \(reader.session) ends at \(reader.number) of "
                        + "\(ledger.version(of: reader.session))")
            }
        }

        /// The action logs that the historians read.
        var histories: [[UInt64]] { readers.filter(\.keepsActions).map(\.actions) }
    }
#endif
