internal import Cluster
internal import Clustering
internal import Feeds
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

// Requests that go to other nodes, and those that come from there.
extension ServerLoop: LinkTableDelegate {
    /// Makes the links of this loop; nil if the server is no node of a cluster.
    func makeLinks() -> LinkTable? {
        let service = resources.service
        guard resources.role == .main, let node = service.node,
            let ownership = service.journal.ownership
        else { return nil }
        let way = ClusterWay(node.member.node, ownership, service.configuration.logger)
        let budget = LinkBudget(
            requests: service.bodies.bytes, requestRefusal: LinkAnswer(.problem(.tooManyBodies)),
            answers: service.work, answerRefusal: LinkAnswer(.problem(.tooMuchMemory)))
        let links = LinkTable(
            way, budget, resources.table, secret: node.secrets.first ?? []
        ) {
            [loop] host, port, then in
            service.dialler.dial(host: host, port: port, on: loop) {
                if let links = $0.resources.links { then(links.outgoing, $1) }
            }
        }
        links.delegate = self
        return links
    }

    func request(of forward: ForwardedRequest) -> LinkRequest? {
        guard let connection = connection(forward.connection),
            let parked = connection.buffers?.parked
        else { return nil }
        if let part = forward.part { return LinkRequest(part, body: parked.body) }
        let mayWait = !resources.service.isDraining
        return LinkRequest(
            waitMilliseconds: mayWait ? .max : 0, access: parked.access.map { LinkAccess($0) },
            parked.head,
            body: parked.body, traceparent: connection.span?.traceparent)
    }

    func forwarded(_ forward: ForwardedRequest, _ answer: LinkAnswer) {
        guard let connection = waiting(for: forward) else { return }
        RequestForwarder.answered(forward, answer, on: connection)
    }

    func forwarded(_ forward: ForwardedRequest, _ ending: Forwarding.Ending) {
        guard let connection = waiting(for: forward) else { return }
        RequestForwarder.tryEnded(forward, ending, on: connection)
    }

    func pauseEnded(_ forward: ForwardedRequest) {
        guard let connection = waiting(for: forward) else { return }
        RequestForwarder.pauseEnded(forward, on: connection)
    }

    /// The connection that waits for the answer; nil if it has ended.
    private func waiting(for forward: ForwardedRequest) -> HTTPConnection? {
        guard let connection = connection(forward.connection),
            case .forwarded(let present, _)? = connection.linkPart, present === forward
        else { return nil }
        return connection
    }

    func requestArrived(_ request: LinkRequest, from origin: ForwardOrigin) {
        guard let id = resources.socketless.allocate(for: origin) else {
            resources.links?.incoming.answer(origin, LinkAnswer(.problem(.tooManyIncoming)))
            return
        }
        makeSocketless(id).beginIncoming(id, request, from: origin)
    }

    func makeSocketless(_ id: ConnectionID) -> HTTPConnection {
        let slotIndex = Int(id.slot - SocketlessSlots.firstSlot)
        if slotIndex == socketless.count { socketless.append(HTTPConnection(resources)) }
        return socketless[slotIndex]
    }

    func requestLeft(_ origin: ForwardOrigin) {
        guard let id = resources.socketless.id(of: origin) else { return }
        connection(id)?.abandonIncoming(origin)
    }

    func requestHurried(_ origin: ForwardOrigin) {
        guard let id = resources.socketless.id(of: origin), let request = connection(id) else {
            return
        }
        request.setOptions { $0.isHurried = true }
        request.expireWait()
    }

    /// Handles the deadlines of links, and those of requests from other nodes that wait until
    /// effects have settled.
    func linkTimerReached() {
        resources.links?.timerReached()
        for each in socketless { each.waitTimerReached() }
    }
}

extension ServerLoop: PartLinks {
    func send(_ part: PartAction) {
        if !part.isHere, let member = resources.links?.way.destination(of: part.parent) {
            return forward(part, to: member.node)
        }
        part.deliver { [unowned self] outcome in
            guard case .moved(let member) = outcome else { return part.end(outcome) }
            forward(part, to: member?.node)
        }
    }

    private func forward(_ part: PartAction, to owner: Node?) {
        guard let links = resources.links, !links.outgoing.isClosed,
            let id = resources.socketless.allocate()
        else {
            let outcome = PartOutcome.unavailable(
                "too many actions at once, or the server is shutting down")
            resources.links?.way.counts.count(outcome)
            return part.end(outcome)
        }
        PostPart.begin(part, to: owner, on: makeSocketless(id), as: id)
    }

    // MARK: Hints

    func ownedEnd(of session: SessionID) -> CommittedEnd? {
        guard session.owner(of: resources.peers.count) == resources.index else { return nil }
        return sessions.ownedEnd(of: session)
    }

    func hinted(_ session: SessionID, at end: CommittedEnd) { sessions.hint(session, at: end) }

    func received(_ records: CommittedRecords, of session: SessionID, from owner: Node) {
        sessions.receive(session, records, from: owner)
    }

    func hintsEnded(of ids: [SessionID]) { sessions.hintsEnded(of: ids) }

    func presenceArrived(
        _ present: PresentReaders?, of session: SessionID, from part: PresencePart
    ) { sessions.receivePresence(present, of: session, from: part) }

    func presenceIsWanted(of session: SessionID) { sessions.sendPresence(of: session) }

    /// Closes the links, because the server ends. First ends the parts' actions that wait for them.
    func closeLinks() {
        for each in socketless { each.endPart() }
        resources.links?.close()
    }
}

extension HTTPConnection {
    fileprivate func endPart() {
        guard case .forwarded(let forward, _)? = linkPart, let part = forward.part else { return }
        // An action that is not parked is with its parent, on this node.
        var mayBeApplied = buffers?.parked == nil
        if case .sent = forward.place { mayBeApplied = true }
        PostPart.end(
            part, mayBeApplied ? .unknown : .unavailable("the server is shutting down"), on: self)
    }

    fileprivate func waitTimerReached() {
        guard case .waiting(_, let options?) = state, let deadline = options.waitDeadline,
            loop.now >= deadline
        else { return }
        expireWait()
    }
}

extension Problem {
    fileprivate static let tooManyIncoming = Problem(
        503, "too_busy", "nothing was applied: too many requests from other nodes are under way",
        fields: [("Retry-After", "1")])
}
