#if os(Linux)
    /// All clients of a run, one connection of the pool each: posters first, then readers.
    struct TortureDriver: ClientDriver {
        private let run: String
        private var random: SeededNumbers
        private(set) var posters: [TorturePoster]
        private(set) var readers: [TortureReader]
        /// For each reader, the beginning of an event that is not complete yet.
        private var scanners: [EventScanner]
        var ledger: TortureLedger
        /// Whether a poster's next request follows the answer at once.
        var asksAtOnce = true
        /// Whether a stream may end with a problem: where the journal may be out of reach.
        var allowsProblems = false

        init(
            run: String, posters: [TorturePoster], readers: [TortureReader], sessions: Int,
            seed: UInt64
        ) {
            self.run = run
            self.posters = posters
            self.readers = readers
            random = SeededNumbers(seed: seed)
            ledger = TortureLedger(sessions: sessions)
            scanners = [EventScanner](repeating: EventScanner(), count: readers.count)
        }

        var places: Int { posters.count + readers.count }

        private func name(_ session: Int) -> String { "\(run)-\(session)" }

        // MARK: Clients

        /// Lets posters complete their outstanding requests and send no new ones.
        mutating func finish() {
            for index in posters.indices { posters[index].isFinishing = true }
        }

        var areDone: Bool { posters.allSatisfy(\.isDone) }

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
            guard place >= posters.count else { return posters[place].isDone }
            return ledger.epoch(of: readers[place - posters.count].session) == nil
        }

        /// Closes a reader's connection; the reader resumes with its last id over a new one.
        func dropReader(_ number: Int, _ pool: inout ClientPool) throws(BenchError) {
            let place = posters.count + number
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

        // MARK: ClientDriver

        mutating func connected(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            guard place >= posters.count else { return try ask(place, &pool) }
            let reader = place - posters.count
            scanners[reader] = EventScanner()
            pool.behave(place) { $0.gathers = nil }
            let session = readers[reader].session
            guard let epoch = ledger.epoch(of: session) else { return }
            let name = name(session)
            try pool.send(
                place,
                readers[reader].request(to: name, epoch: epoch, host: pool.connections[place].host))
        }

        /// Sends a poster's next request.
        mutating func ask(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            guard pool.acceptsRequests else { return }
            let name = name(posters[place].session)
            let bytes = posters[place].request(
                to: name, host: pool.connections[place].host, &ledger, &random)
            if let bytes { try pool.send(place, bytes) }
        }

        mutating func began(_ place: Int, _ pool: inout ClientPool) {
            guard place >= posters.count, pool.connections[place].status != 200 else { return }
            let stream = readers[place - posters.count].stream
            ledger.record(.answer, "\(pool.connections[place].status) to \(stream)")
        }

        mutating func read(
            _ place: Int, _ bytes: Span<UInt8>, _ range: Range<Int>, _ pool: inout ClientPool
        ) {
            guard pool.connections[place].status == 200 else { return }
            let reader = place - posters.count
            var sink = TortureEvents()
            _ = scanners[reader].scan(bytes, range: range, into: &sink)
            for event in sink.events where !(event.isProblem && allowsProblems) {
                readers[reader].receive(event, &ledger)
            }
        }

        mutating func answered(_ place: Int, _ pool: inout ClientPool) throws(BenchError) {
            if place < posters.count {
                let connection = pool.connections[place]
                posters[place].answered(
                    connection.status, connection.body, isOld: connection.hasAge, &ledger)
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
