#if os(Linux)
    import Glibc

    /// All clients of a run, on one thread: posters first, then readers, a connection each.
    struct TortureClients: ~Copyable {
        private struct Connection {
            var descriptor: Int32 = -1
            var isConnected = false
            var response = ResponseReader()
            var events = EventScanner()
            var status = 0
            var body: [UInt8] = []
        }

        private static let bufferBytes = 262_144

        private let run: String
        private var poller: Poller
        private var connections: [Connection]
        private var buffer = [UInt8](repeating: 0, count: bufferBytes)
        private var random: SeededNumbers
        /// Nil while the server is down: then whoever is cut off stays so.
        private var target: (address: Address, host: String)?
        private(set) var posters: [TorturePoster]
        private(set) var readers: [TortureReader]
        private(set) var connectionsMade = 0
        var ledger: TortureLedger

        init(
            run: String, posters: [TorturePoster], readers: [TortureReader], sessions: Int,
            seed: UInt64
        ) throws(BenchError) {
            self.run = run
            self.posters = posters
            self.readers = readers
            poller = try Poller()
            random = SeededNumbers(seed: seed)
            ledger = TortureLedger(sessions: sessions)
            connections = [Connection](
                repeating: Connection(), count: posters.count + readers.count)
        }

        private func name(_ session: Int) -> String { "\(run)-\(session)" }

        // MARK: The server comes and goes

        mutating func serverStarted(at url: String) throws(BenchError) {
            guard let endpoint = Endpoint(url) else { throw .setup("listens on \(url)?") }
            target = (
                try Address(host: endpoint.host, port: endpoint.port), endpoint.authority
            )
            for index in connections.indices { try connect(index) }
        }

        /// Nobody connects again from now on; what was sent before may still be read.
        mutating func serverIsStopping() { target = nil }

        /// Reads what a server that is gone has left in the sockets.
        mutating func readToTheEnd() throws(BenchError) {
            target = nil
            let deadline = Clock.now() + 2_000_000_000
            while connections.contains(where: { $0.descriptor >= 0 }), Clock.now() < deadline {
                try turn(until: Clock.now() + 50_000_000)
            }
            for index in connections.indices { try cut(index) }
        }

        /// Lets posters end what they began, and no more.
        mutating func finish() {
            for index in posters.indices { posters[index].isFinishing = true }
        }

        var areDone: Bool { posters.allSatisfy(\.isDone) }

        /// A reader hangs up, and comes back with the id it has.
        mutating func dropReader(_ number: Int) throws(BenchError) {
            try cut(posters.count + number)
        }

        /// One more reader, which begins at the beginning.
        mutating func add(_ reader: TortureReader) throws(BenchError) {
            readers.append(reader)
            connections.append(Connection())
            try connect(connections.count - 1)
        }

        // MARK: Connections

        private mutating func connect(_ index: Int) throws(BenchError) {
            guard let target, connections[index].descriptor < 0 else { return }
            guard !isIdle(index) else { return }
            let descriptor = try ClientSocket.connect(to: target.address, ordinal: index)
            connections[index] = Connection()
            connections[index].descriptor = descriptor
            try poller.add(descriptor, token: UInt64(index), for: .readingAndWriting)
            connectionsMade += 1
        }

        private func isIdle(_ index: Int) -> Bool {
            guard index >= posters.count else { return posters[index].isDone }
            return ledger.epoch(of: readers[index - posters.count].session) == nil
        }

        private mutating func cut(_ index: Int) throws(BenchError) {
            guard connections[index].descriptor >= 0 else { return }
            ClientSocket.close(connections[index].descriptor)
            connections[index].descriptor = -1
            if index < posters.count { posters[index].lost(&ledger) }
            try connect(index)
        }

        private mutating func connected(_ index: Int) throws(BenchError) {
            let descriptor = connections[index].descriptor
            guard ClientSocket.connectError(descriptor) == 0 else { return try cut(index) }
            connections[index].isConnected = true
            try poller.modify(descriptor, token: UInt64(index), for: .reading)
            try send(index)
        }

        private mutating func send(_ index: Int) throws(BenchError) {
            guard let host = target?.host else { return }
            let bytes: [UInt8]?
            if index < posters.count {
                bytes = posters[index].request(
                    to: name(posters[index].session), host: host, &ledger, &random)
            } else {
                let reader = index - posters.count
                let session = readers[reader].session
                bytes = ledger.epoch(of: session).map {
                    readers[reader].request(to: name(session), epoch: $0, host: host)
                }
            }
            guard let bytes else { return }
            // Far smaller than a socket's buffer; a socket that is gone is told of by reading.
            _ = ClientSocket.send(connections[index].descriptor, bytes.span, from: 0)
        }

        // MARK: Receiving

        /// Handles what is ready, once.
        mutating func turn(until deadline: UInt64) throws(BenchError) {
            let count = try poller.wait(until: deadline)
            for position in 0..<count {
                let ready = poller.ready(position)
                let index = Int(ready.token)
                guard connections[index].descriptor >= 0 else { continue }
                if !connections[index].isConnected {
                    try connected(index)
                } else if ready.isReadable {
                    try receive(index)
                }
            }
        }

        /// Readers of sessions that nobody knew of when the server started.
        mutating func connectLateReaders() throws(BenchError) {
            for index in connections.indices { try connect(index) }
        }

        private mutating func receive(_ index: Int) throws(BenchError) {
            switch ClientSocket.receive(connections[index].descriptor, into: &buffer) {
            case .wouldBlock: return
            case .closed, .failed: return try cut(index)
            case .bytes(let count):
                // Taken out, so that what it holds can be read while everything else changes.
                var received: [UInt8] = []
                swap(&received, &buffer)
                defer { swap(&received, &buffer) }
                do {
                    try take(index, received.span.extracting(0..<count))
                } catch let fault as ResponseFault {
                    ledger.note(.answer, "not HTTP: \(fault)")
                    try cut(index)
                } catch let error as BenchError {
                    throw error
                } catch {
                    preconditionFailure("\(error): no call above throws it")
                }
            }
        }

        private mutating func take(_ index: Int, _ bytes: Span<UInt8>) throws {
            var position = 0
            while true {
                switch try connections[index].response.next(bytes, &position) {
                case .needMore: return
                case .head(let status): connections[index].status = status
                case .body(let range):
                    if index < posters.count {
                        connections[index].body.append(bytes, in: range)
                    } else {
                        readEvents(index, bytes, range)
                    }
                case .end:
                    guard index < posters.count else { return try cut(index) }
                    try answered(index)
                }
            }
        }

        private mutating func answered(_ index: Int) throws {
            posters[index].answered(
                connections[index].status, connections[index].body, &ledger)
            connections[index].body = []
            if connections[index].response.closes { return try cut(index) }
            try send(index)
        }

        private mutating func readEvents(
            _ index: Int, _ bytes: Span<UInt8>, _ range: Range<Int>
        ) {
            let reader = index - posters.count
            guard connections[index].status == 200 else {
                return ledger.note(
                    .answer, "\(connections[index].status) to \(readers[reader].stream)")
            }
            var sink = TortureEvents()
            _ = connections[index].events.scan(bytes, range: range, into: &sink)
            for event in sink.events { readers[reader].take(event, &ledger) }
        }
    }

    // The reckoning.
    extension TortureClients {
        /// A reader of each session's whole action log.
        mutating func addHistorians() throws(BenchError) {
            let sessions = (readers.map(\.session) + posters.map(\.session)).max() ?? 0
            for session in 0...sessions {
                try add(TortureReader(session: session, stream: .log, keepsActions: true))
            }
        }

        /// Whether every reader has got to where its session is.
        var haveReadAll: Bool {
            readers.allSatisfy { $0.number >= ledger.version(of: $0.session) }
        }

        mutating func noteWhoIsBehind() {
            for reader in readers where reader.number < ledger.version(of: reader.session) {
                ledger.note(
                    .gap,
                    "\(reader.stream) of session \(reader.session) ends at \(reader.number) of "
                        + "\(ledger.version(of: reader.session))")
            }
        }

        /// What the historians read.
        var histories: [[UInt64]] { readers.filter(\.keepsActions).map(\.actions) }
    }

    /// SplitMix64: a seed gives the same numbers everywhere.
    ///
    /// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
    struct SeededNumbers: RandomNumberGenerator {
        private var state: UInt64

        init(seed: UInt64) { state = seed }

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }
#endif
