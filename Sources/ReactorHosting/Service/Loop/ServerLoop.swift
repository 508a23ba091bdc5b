internal import Clustering
internal import Feeds
internal import Sessions
internal import Sockets
internal import Storage

/// The connections and the sessions of one event loop.
///
/// Design: a connection is served on the loop of its session. A request for a session of another
/// loop moves its connection there (``ConnectionMigration``); so a session, its posts and its
/// subscribers share one loop without a lock, and a response never crosses loops. Of many
/// subscribers of a stream some are moved on to other loops (``StreamMigration``). Work is done as
/// bytes arrive and flushed once, in ``roundEnded()``: under load, batches form by themselves.
final class ServerLoop: LoopHandler {
    let loop: EventLoop<ServerLoop>
    let resources: LoopResources
    private var connections: [HTTPConnection] = []
    /// The connections without a socket, by their index (``SocketlessSlots``).
    var socketless: [HTTPConnection] = []
    /// When the loop next looks for timers of sessions that are due.
    private var timerLook: LoopInstant?
    /// The time of the next round for presence.
    private var presenceLook: Int64?

    init(
        index: Int, service: Service, peers: Peers, loop: EventLoop<ServerLoop>,
        table: ConnectionTable
    ) {
        self.loop = loop
        // The loop of the operations address has no session; its own journal keeps it off the disk.
        let hasSessions = index < peers.count
        let sessions = SessionTable(
            journal: hasSessions ? service.journal : MemoryJournal(),
            limits: SessionLimits(service.configuration, loops: peers.count),
            registrations: hasSessions ? service.reactors + [.topic] : [],
            services: LoopServices(
                now: { [unowned table] in table.wallClockMilliseconds },
                uptime: { [unowned table] in table.now.nanoseconds / 1_000_000 },
                hop: { job in loop.enqueue { job($0.sessions) } },
                reach: { id, job in
                    peers.enqueue(on: id.owner(of: peers.count)) { job($0.sessions) }
                },
                isolation: LoopIsolation(loop.queue), topics: service.topics,
                owners: service.owners, work: service.work, tagChanges: service.tagChanges),
            placement: hasSessions ? service.journal.ownership.map { TableCluster($0) } : nil)
        resources = LoopResources(
            index: index, service: service, peers: peers, table: table, sessions: sessions)
        sessions.output = self
        if hasSessions {
            sessions.feeds.replicas.begin(
                on: index, of: peers.count, threshold: service.configuration.spreadFrom)
        }
        service.watch.add(index, loop.passes, sessions.presentWork)
        setTick()
        setReaders()
        if sessions.sharesJournal { setQuarter() }
        resources.links = makeLinks()
        guard let links = resources.links else { return }
        sessions.cluster?.hints = links
        sessions.cluster?.parts = self
    }

    var sessions: SessionTable { resources.sessions }

    func connection(_ id: ConnectionID) -> HTTPConnection? {
        let slot = Int(id.slot)
        guard slot < connections.count else { return socketlessConnection(id) }
        // The id of a vacant slot never matches a connection's id.
        guard connections[slot].id == id else { return nil }
        return connections[slot]
    }

    private func socketlessConnection(_ id: ConnectionID) -> HTTPConnection? {
        guard let slotIndex = SocketlessSlots.index(of: id), slotIndex < socketless.count,
            socketless[slotIndex].id == id
        else {
            return nil
        }
        return socketless[slotIndex]
    }

    // MARK: LoopHandler

    func opened(_ id: ConnectionID, peer: PeerAddress) {
        resources.counters.connectionsOpened += 1
        if resources.role == .operations { makeRoomForOperators() }
        occupy(id, peer: peer, from: resources.role)
        resources.table.setDeadline(id, resources.now + resources.configuration.idleTimeout)
    }

    /// Closes the connection of the operations address that has been silent longest, if connections
    /// are nearly at their limit: silent ones must not keep probes out.
    private func makeRoomForOperators() {
        guard resources.openCount >= Service.operationsConnectionLimit * 3 / 4 else { return }
        connections.filter(\.isReading).min { $0.lastProgress < $1.lastProgress }?.close(.now)
    }

    func received(_ id: ConnectionID, _ bytes: RawSpan) {
        guard let connection = connection(id) else {
            resources.links?.received(id, bytes)
            return
        }
        connection.receive(bytes)
    }

    func peerFinished(_ id: ConnectionID) {
        guard let connection = connection(id) else {
            resources.links?.peerFinished(id)
            return
        }
        connection.peerFinished()
    }

    func writable(_ id: ConnectionID) {
        guard let connection = connection(id) else {
            resources.links?.writable(id)
            return
        }
        connection.writable()
    }

    func closed(_ id: ConnectionID, _ why: CloseReason) {
        guard let connection = connection(id) else {
            resources.links?.closed(id, why)
            return
        }
        connection.vacate()
    }

    func deadlineReached(_ id: ConnectionID) {
        connection(id)?.deadlineReached()
    }

    /// Evicts some idle sessions, or trims the heap.
    func timerReached(_ token: UInt64) {
        if token == LoopTimer.heap.rawValue {
            sessions.dropShown()
            return resources.heap.timerReached()
        }
        if token == LoopTimer.links.rawValue { return linkTimerReached() }
        if token == LoopTimer.handover.rawValue { return beginHandover() }
        if token == LoopTimer.timers.rawValue {
            timerLook = nil
            return sessions.fireTimers()
        }
        if token == LoopTimer.lists.rawValue { return resources.lists.look() }
        // The end of the round does the work.
        if token == LoopTimer.presence.rawValue { return presenceLook = nil }
        if token == LoopTimer.readers.rawValue {
            sessions.expiry.postponeRead()
            return setReaders()
        }
        if token == LoopTimer.quarter.rawValue {
            sessions.answerLateReads()
            sessions.askForChanges()
            sessions.sendHome()
            return setQuarter()
        }
        let areMore: Bool
        if token == LoopTimer.tick.rawValue {
            areMore = sessions.tick()
            setTick()
        } else {
            areMore = sessions.continueTick()
        }
        if areMore {
            resources.table.setTimer(
                token: LoopTimer.eviction.rawValue, at: resources.now + .milliseconds(20))
        } else if sessions.takeHeapTrim() {
            HeapTrimmer.trim()
        }
    }

    private func setReaders() {
        resources.table.setTimer(
            token: LoopTimer.readers.rawValue, at: resources.now + SessionExpiry.readersEvery)
    }

    /// All loops at the same moment, so that their questions to the journal become one.
    private func setQuarter() {
        let quarter: Int64 = 250_000_000
        let rest = quarter - resources.now.nanoseconds % quarter
        resources.table.setTimer(
            token: LoopTimer.quarter.rawValue, at: resources.now + .nanoseconds(rest))
    }

    /// Gives up some of the sessions that are at rest, and more of them later, because
    /// the node leaves.
    func beginHandover() {
        sessions.handOver()
        resources.table.setTimer(
            token: LoopTimer.handover.rawValue, at: resources.now + .milliseconds(20))
    }

    /// While there are timers, looks at least once a second, because a clock may be set meanwhile.
    private func setTimerLook() {
        guard let wait = sessions.timerWait else { return }
        let look = resources.now + .milliseconds(min(wait, 1_000))
        if let timerLook, timerLook <= look { return }
        timerLook = look
        resources.table.setTimer(token: LoopTimer.timers.rawValue, at: look)
    }

    private func setPresenceLook() {
        guard let next = sessions.feeds.presence.next, next < presenceLook ?? .max else { return }
        presenceLook = next
        let wait = max(0, next - resources.now.nanoseconds / 1_000_000)
        resources.table.setTimer(
            token: LoopTimer.presence.rawValue, at: resources.now + .milliseconds(wait))
    }

    private func setTick() {
        resources.table.setTimer(
            token: LoopTimer.tick.rawValue,
            at: resources.now + resources.configuration.sessionIdle / 4)
    }

    /// Commits the batches of the round, and serves the waiting requests.
    ///
    /// A connection's next request is read only after the response to the previous one; each turn
    /// is one more batch over all connections. A client that sends continuously has its next turn
    /// in the next round, after all other clients.
    func roundEnded() {
        let schedule = resources.schedule
        sessions.commit()
        var turns = 0
        while !schedule.resumable.isEmpty, turns < 64, turns == 0 || !schedule.isRoundUsedUp {
            turns += 1
            schedule.serveResumable { connection($0)?.continueReading() }
            sessions.commit()
        }
        schedule.servePostponed { connection($0)?.continueReading() }
        // Also of sessions that this round has loaded for their timers.
        if let wait = sessions.timerWait, wait <= 0 { sessions.fireTimers() }
        sessions.commit()
        setTimerLook()
        let hasEvents = sessions.deliver()
        setPresenceLook()
        flushRelays()
        flushReplicas()
        resources.links?.flush()
        resources.heap.freed(
            resources.service.work.takeReleased(from: HeapTrimmer.burstBytes))
        let isUsedUp = schedule.isRoundUsedUp
        schedule.endRound()
        guard !schedule.isEmpty || hasEvents else { return }
        if isUsedUp { resources.table.yieldRound() }
        loop.enqueue { _ in }
    }

    func passEnded(nanoseconds: Int64) {
        resources.counters.passes.record(nanoseconds: nanoseconds)
    }

    /// Begins the drain in a job, after arrived requests are read: then it is known which are idle.
    func beginDraining() {
        loop.enqueue { $0.drain() }
    }

    /// Ends idle connections and streams now, others after their current responses.
    private func drain() {
        sessions.deliverAll()
        for connection in connections { connection.beginDraining() }
        for each in socketless { each.beginDraining() }
        resources.beginDraining()
    }

    /// Replaces the settings: for new requests, and for the limits and deadlines of open
    /// connections and sessions. Every token is verified again, by the present authenticator.
    func adopt(_ configuration: Configuration, _ authenticator: (any Authenticator)?) {
        let earlier = resources.settings.origins
        resources.adopt(configuration)
        if let authenticator { resources.gate?.adopt(authenticator) }
        sessions.limits = SessionLimits(configuration, loops: resources.peers.count)
        let origins = resources.settings.origins.indices(replacing: earlier)
        for connection in connections { connection.adoptSettings(origins: origins) }
        setTick()
    }

    // MARK: Slots

    /// Adds a connection that was accepted, or that has arrived from another loop.
    ///
    /// - Parameter listener: The listener that accepted it, perhaps on another loop.
    @discardableResult
    func occupy(
        _ id: ConnectionID, peer: PeerAddress, from listener: ListenerRole = .main
    ) -> HTTPConnection {
        let slot = Int(id.slot)
        if connections.count <= slot { makeConnections(through: slot) }
        let connection = connections[slot]
        connection.begin(id, peer: peer, from: listener)
        resources.openCount += 1
        return connection
    }

    private func makeConnections(through slot: Int) {
        // Moved out and back: if it were changed in place, the runtime would check each of the many
        // accesses to the array for exclusivity.
        var grown = connections
        connections = []
        while grown.count <= slot { grown.append(HTTPConnection(resources)) }
        connections = grown
    }
}
