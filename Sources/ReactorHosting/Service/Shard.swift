internal import Logging
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

/// Everything that lives on one event loop: its connections' exchanges and its sessions.
///
/// Design: a connection lives on the loop of the session it talks to. A request that names a
/// session of another loop takes its connection there (``depart``); so a session, its
/// posts and all its subscribers share one loop, no lock and no hop, and an answer never crosses
/// loops. Work is done as bytes come in and flushed once, in ``roundEnded()``: load turns into
/// batches by itself.
final class Shard: LoopHandler {
    let index: Int
    let service: Service
    let peers: Peers
    let loop: EventLoop<Shard>
    let connections: ConnectionTable
    let sessions: SessionTable
    /// Parallel to the connection table's slots.
    var exchanges: [Exchange] = []
    /// Slots that are not vacant.
    private var occupied = 0
    /// Connections whose answer went out and who have sent more already.
    var resumable: [ConnectionID] = []
    /// Connections that have requests left to serve and wait for a turn.
    var postponed = TurnQueue<ConnectionID>()
    /// Bytes of answers' bodies that were made so far, sent or not (HEAD, 304): the measure of
    /// work for turns and rounds.
    var answered = 0
    /// Bytes that connections have let go of since memory was given back to the system.
    private var freedBytes = 0
    private var relievedAt: LoopInstant
    /// `answered` when the present round began.
    private var answeredBefore = 0
    /// Questions to all loops whose answers are coming in.
    var gatherings: [UInt64: Gathering] = [:]
    var lastGathering: UInt64 = 0
    var counters = Counters()
    var randomness = SystemRandomNumberGenerator()
    private(set) var dateField: (second: Int64, bytes: [UInt8]) = (-1, [])
    private var actionHeadField: (second: Int64, bytes: [UInt8]) = (-1, [])
    let templates: ReplyTemplates

    // Scratch memory, reused for every request. Law: `head` and `body` belong to the request that
    // is being read; nothing keeps them over a round.
    var head = RequestHead()
    var body: [UInt8] = []
    var out: [UInt8] = []
    var actionAnswer: [UInt8] = []
    var actionBody: [UInt8] = []
    /// The connection that is being read; its answers gather in `out`.
    var readingConnection: ConnectionID?
    /// Set while a request is read whose session another loop owns.
    var departure: Int?

    init(
        index: Int, service: Service, peers: Peers, loop: EventLoop<Shard>,
        connections: ConnectionTable
    ) {
        self.index = index
        self.service = service
        self.peers = peers
        self.loop = loop
        self.connections = connections
        self.templates = ReplyTemplates(service)
        self.relievedAt = connections.now
        let configuration = service.configuration
        self.sessions = SessionTable(
            journal: service.journal,
            limits: SessionLimits(
                sessions: max(1, configuration.sessionLimit / max(1, peers.count)),
                batch: configuration.batchLimit,
                retention: Retention(
                    records: configuration.keptRecords, bytes: configuration.keptBytes),
                stateBytes: configuration.stateLimitBytes,
                snapshotBytes: configuration.historyBytes / 8),
            registrations: service.reactors, topics: service.topics,
            now: { [unowned connections] in connections.wallClockMilliseconds },
            hop: { job in loop.enqueue { job($0.sessions) } },
            isolation: LoopIsolation(loop.queue),
            reach: { id, job in
                peers.enqueue(on: id.owner(of: peers.count)) { job($0.sessions) }
            })
        sessions.output = self
        setTick()
    }

    // MARK: LoopHandler

    func opened(_ connection: ConnectionID, peer: PeerAddress) {
        occupy(connection)
        counters.connectionsOpened += 1
        connections.setDeadline(
            connection, connections.now + service.configuration.idleTimeout)
    }

    func received(_ connection: ConnectionID, _ bytes: RawSpan) {
        let slot = Int(connection.slot)
        switch exchanges[slot].phase {
        case .reading where exchanges[slot].hasUnsent:
            hold(connection, bytes, from: 0)
        case .reading where hasAnsweredEnough:
            guard beginsWithProbe(exchanges[slot], bytes) else {
                // This round has made enough; everybody else has a turn first.
                hold(connection, bytes, from: 0)
                return postponed.append(connection, .light)
            }
            readNow(connection, bytes, requests: 1)
        case .reading:
            readNow(connection, bytes, requests: Self.turnRequests)
        case .answering:
            hold(connection, bytes, from: 0)
        case .streaming, .closing, .vacant:
            break
        }
    }

    private func readNow(_ connection: ConnectionID, _ bytes: RawSpan, requests: Int) {
        let slot = Int(connection.slot)
        exchanges[slot].lastProgress = connections.now
        let consumed = read(connection, bytes, requests: requests)
        if consumed < bytes.byteCount { hold(connection, bytes, from: consumed) }
        dropIdleWork(slot)
    }

    func peerFinished(_ connection: ConnectionID) {
        let slot = Int(connection.slot)
        exchanges[slot].peerIsFinished = true
        switch exchanges[slot].phase {
        case .reading where !exchanges[slot].hasUnsent:
            close(connection, .now)
        case .reading, .answering, .streaming, .closing, .vacant:
            break
        }
    }

    func writable(_ connection: ConnectionID) {
        let slot = Int(connection.slot)
        guard sendUnsent(connection) else { return }
        switch exchanges[slot].phase {
        case .vacant: break
        case .closing: close(connection, .lingering)
        case .reading where hasAnsweredEnough: postponed.append(connection, .heavy)
        case .reading: readOn(connection)
        case .answering: departIfParked(connection)
        case .streaming(let streaming):
            exchanges[slot].work = nil
            streaming.subscriber?.resume()
        }
    }

    func closed(_ connection: ConnectionID, _ why: CloseReason) {
        vacate(connection)
    }

    /// Sessions that are not used fall asleep, some at a time.
    func timerReached(_ token: UInt64) {
        if token == Self.relief {
            freedBytes = 0
            relievedAt = connections.now
            return MemoryRelief.begin()
        }
        let areMore: Bool
        if token == Self.tick {
            areMore = sessions.tick()
            setTick()
        } else {
            areMore = sessions.continueTick()
        }
        if areMore {
            connections.setTimer(token: Self.sleep, at: connections.now + .milliseconds(20))
        } else if sessions.takeRelief() {
            MemoryRelief.begin()
        }
    }

    private static let tick: UInt64 = 0
    private static let sleep: UInt64 = 1
    private static let relief: UInt64 = 2

    /// Notes that a connection has let go of memory. After a flood, of 16 MiB, it is given back to
    /// the system: a second later, when more may have followed, and every ten seconds at the most.
    func free(_ bytes: Int) {
        guard bytes > 0 else { return }
        let was = freedBytes
        freedBytes += bytes
        guard was < Self.floodBytes, freedBytes >= Self.floodBytes else { return }
        connections.setTimer(
            token: Self.relief,
            at: max(connections.now + .seconds(1), relievedAt + .seconds(10)))
    }

    private static let floodBytes = 16 << 20

    private func setTick() {
        connections.setTimer(
            token: Self.tick, at: connections.now + service.configuration.sessionIdle / 4)
    }

    func roundEnded() {
        sessions.commit()
        // A connection's next request is read only after the answer to the one before; each turn
        // is one more batch over all of them. A client that sends without end gets its turn in
        // the next round, after everybody else's.
        var turns = 0
        while !resumable.isEmpty, turns < 64, turns == 0 || !hasAnsweredEnough {
            turns += 1
            serveResumable()
            sessions.commit()
        }
        servePostponed()
        let hasMadeEnough = hasAnsweredEnough
        answeredBefore = answered
        if !resumable.isEmpty || !postponed.isEmpty {
            if hasMadeEnough { connections.yieldRound() }
            loop.enqueue { _ in }
        }
    }

    /// One more request of each, or of as many as make the round's budget of answers.
    private func serveResumable() {
        let turn = resumable
        resumable.removeAll(keepingCapacity: true)
        for (index, connection) in turn.enumerated() {
            guard index == 0 || !hasAnsweredEnough else {
                resumable.insert(contentsOf: turn[index...], at: 0)
                return
            }
            readOn(connection)
        }
    }

    /// Gives a turn to connections that wait for one, a few in each round: 1000 requests, or as
    /// many as make the round's budget of answers, and one of either weight at the least.
    private func servePostponed() {
        guard !postponed.isEmpty else { return }
        var served = 0
        for weight in [TurnQueue<ConnectionID>.Weight.light, .heavy] {
            // Those that are postponed meanwhile wait for the next round.
            for turn in 0..<min(postponed.count(weight), Self.turnsInARound) {
                guard turn == 0 || (served < Self.turnsInARound && !hasAnsweredEnough),
                    let connection = postponed.popFirst(weight)
                else { break }
                readOn(connection)
                served += 1
            }
        }
        sessions.commit()
    }

    private static let turnsInARound = 16

    private var hasAnsweredEnough: Bool { answered - answeredBefore >= Self.roundBudgetBytes }

    /// Bytes of answers that a round makes before what is left waits for the next one: some
    /// milliseconds of work.
    private static let roundBudgetBytes = 1 << 20

    // MARK: Draining

    /// Ends what may be ended: idle connections now, streams with a spread `retry:`, and every
    /// other connection with the answer that is under way.
    func beginDraining() {
        for exchange in exchanges {
            let connection = exchange.connection
            switch exchange.phase {
            case .vacant, .closing: break
            case .reading:
                let isIdle = exchange.reader.isBetweenRequests && exchange.work == nil
                if isIdle { close(connection, .lingering) }
            case .answering(_, let wishes):
                if wishes?.patience != nil { losePatience(connection) }
            case .streaming(let streaming):
                let spread = Double.random(in: 1...5, using: &randomness)
                let retry = Double(service.configuration.retry.milliseconds) * spread
                endStream(connection, streaming, retry: Int(retry))
            }
        }
        if occupied == 0 { service.drain.report(index) }
    }

    // MARK: Slots

    func occupy(_ connection: ConnectionID) {
        let slot = Int(connection.slot)
        if exchanges.count <= slot { makeExchanges(through: slot) }
        exchanges[slot].begin(connection, at: connections.now)
        occupied += 1
    }

    private func makeExchanges(through slot: Int) {
        // Changed outside and put back: were it changed in place, even here, each of the many
        // looks at the array would be watched by the runtime.
        var grown = exchanges
        exchanges = []
        while grown.count <= slot {
            grown.append(Exchange(vacantAt: connections.now, limits: service.limits))
        }
        exchanges = grown
    }

    /// Forgets the connection; whoever still holds its id reaches nobody.
    func vacate(_ connection: ConnectionID) {
        let slot = Int(connection.slot)
        guard isCurrent(connection) else { return }
        switch exchanges[slot].phase {
        case .streaming(let streaming):
            logStreamEnd(streaming)
            streaming.subscriber?.cancel()
        case .answering(_, let wishes): forgetAnswer(connection, wishes)
        case .vacant, .reading, .closing: break
        }
        release(slot)
        counters.connectionsClosed += 1
    }

    /// Makes the slot vacant.
    func release(_ slot: Int) {
        if let work = exchanges[slot].work {
            giveBackCharge(of: work)
            free(work.unsent.count + work.pending.count)
        }
        exchanges[slot].end(limits: service.limits)
        occupied -= 1
        if occupied == 0, service.isDraining {
            service.drain.report(index)
        }
    }

    func close(_ connection: ConnectionID, _ how: ConnectionTable.Closing) {
        vacate(connection)
        connections.close(connection, how)
    }

    func isCurrent(_ connection: ConnectionID) -> Bool {
        let slot = Int(connection.slot)
        // A vacant slot has no connection's id.
        return slot < exchanges.count && exchanges[slot].connection == connection
    }

    /// `Date: …` and its line end, made once a second (RFC 9110 §6.6.1).
    var date: [UInt8] {
        let second = connections.wallClockMilliseconds / 1_000
        if dateField.second != second {
            var bytes: [UInt8] = []
            HTTPDate.append(secondsSinceEpoch: second, to: &bytes)
            dateField = (second, bytes)
        }
        return dateField.bytes
    }

    /// How the answer to posted actions begins, made once a second.
    var actionHead: [UInt8] {
        let second = connections.wallClockMilliseconds / 1_000
        if actionHeadField.second != second {
            var bytes: [UInt8] = []
            ResponseEncoder.appendHead(
                status: 200, lines: templates.action, date: date, to: &bytes)
            actionHeadField = (second, bytes)
        }
        return actionHeadField.bytes
    }
}
