internal import Cluster
internal import Sockets
internal import Wire

// Nodes that end: this one, and others.
//
// Why: a session that listens is never at rest, so it stays awake at a node that ends, until the
// process has ended and another member wakes it. In between, it would miss published values. So all
// nodes stop publishing before the process ends, and begin again when the session is awake.
extension ClusterTopics {
    /// The time for which a node that ends waits for the others.
    static let leaveLimitNanoseconds: Int64 = 2_000_000_000

    // MARK: This node

    /// Announces the end of this node to all others. They publish nothing until its sessions are
    /// awake elsewhere.
    ///
    /// - Parameter done: Called once, on this loop, when the other nodes have confirmed that no
    ///   value is on its way to this node, or when they have not done so in time.
    func leave(then done: @escaping () -> Void) {
        guard leaving == nil, !outgoing.isClosed else { return done() }
        way.isEnding = true
        leaving = (now + Self.leaveLimitNanoseconds, done)
        for link in incoming.links.values {
            link.machine.send(way.ping)
            incoming.markUnsent(link.socket)
        }
        outgoing.startTimer()
        endLeavingIfDue()
    }

    func endLeavingIfDue() {
        guard let present = leaving else { return }
        let isAwaited = incoming.links.values.contains {
            !$0.isHolding && !$0.isSilent(for: Self.newcomerSilence, at: table.now)
        }
        guard isQuiet && !isAwaited || now >= present.deadline else { return }
        leaving = nil
        present.done()
    }

    // MARK: Others

    /// Links to the loops of other nodes that have their topics.
    private var topicLinks: [OutgoingConnection] {
        outgoing.links.values.filter { $0.far.loop == OutgoingLinks.FarEnd.topicLoop }
    }

    func observeDepartures(_ members: Members) {
        for link in topicLinks where link.machine.features?.contains(.isEnding) ?? false {
            departures.begin(link.far.node, among: members, at: now)
        }
        departures.observe(members, at: now)
        if !departures.isEmpty { outgoing.startTimer() }
    }

    /// Says to nodes that end that they are sent no more values.
    func acknowledgeDepartures() {
        for link in topicLinks where !link.hasHeld && link.machine.hasRoom {
            guard link.machine.features?.contains(.isEnding) ?? false, !isAwaiting(link.far.node)
            else { continue }
            observeDepartures(way.members)
            link.hasHeld = true
            var ping = way.ping
            ping.features.insert(.isHolding)
            link.machine.send(ping)
            outgoing.markUnsent(link.socket)
        }
    }

    /// Looks whether the sessions of nodes that have ended are awake.
    func followDepartures() {
        observeDepartures(way.members)
        acknowledgeDepartures()
        let gone = departures.gone
        guard !gone.isEmpty, !search.isUnderWay, now >= search.next else { return }
        search.isUnderWay = true
        listeners.search { topics, areAwake in
            guard areAwake else {
                topics.search.next = topics.now + TopicSearch.pauseNanoseconds
                topics.search.isUnderWay = false
                return
            }
            // Sessions that this node has claimed may still be loading.
            topics.listeners.load { topics in
                topics.search.isUnderWay = false
                topics.departures.end(gone)
                topics.advance(mayDial: true)
            }
        }
    }
}
