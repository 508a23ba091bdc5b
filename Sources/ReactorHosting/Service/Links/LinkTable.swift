internal import Cluster
internal import Sessions
internal import Sockets
internal import Wire

/// The links of one loop: those that it has dialled, on which it sends its clients' requests to other
/// nodes, and those that other nodes have dialled, on which it serves theirs.
///
/// Design: there is one link for each loop of another node, made when it is first needed. The ends are
/// machines of `Wire`; this object has their sockets and the clock. What is to be sent is collected, and
/// leaves at the end of the round. Events of a link are passed to the delegate after its machine was
/// left, so that the delegate may send at once.
///
/// Not Sendable: it is used on its loop only.
final class LinkTable {
    /// The far end of a link that this loop dials.
    struct FarEnd: Hashable, Sendable {
        var node: Node
        var loop: Int
    }

    /// Dials for this loop. `then` is called on the loop.
    typealias Dial = (
        _ address: LinkAddress,
        _ then: @escaping @Sendable (LinkTable, Result<ConnectionID, SystemFailure>) -> Void
    ) -> Void

    private typealias Outgoing = OutgoingConnection
    private typealias Incoming = IncomingConnection

    private enum Link {
        case outgoing(Outgoing)
        case incoming(Incoming)
    }

    /// The reason for the end of a link that this loop has dialled.
    private enum Ending {
        case refused
        case silent
        case fault(LinkFault)
        case closed
        /// The other node has served all that it will.
        case finished
        case failure(SystemFailure)
    }

    /// A frame has the size of the largest request that any node can permit.
    static let payloadLimitBytes = (1 << 30) + (2 << 20)
    /// The timer of the loop.
    static let timer: UInt64 = 4
    /// Half the interval of pings: none is late by more than half of one.
    private static let tick = Duration.milliseconds(125)
    /// A node that was paused for less than this, and then reads, gets its answers.
    private static let incomingSilence = Duration.seconds(30)

    weak var delegate: (any LinkTableDelegate)?
    let way: ClusterWay
    private let bodies: BodyBudget
    private let table: ConnectionTable
    private let secret: [UInt8]
    private let dial: Dial
    private var outgoing: [FarEnd: Outgoing] = [:]
    private var bySocket: [ConnectionID: Link] = [:]
    private var unsent: Set<ConnectionID> = []
    private var lastNumber: UInt64 = 0
    private var tickedAt: LoopInstant?
    private var isTimerSet = false
    private var isClosed = false
    /// Called when every link of other nodes has ended; nil unless this node ends.
    private var finished: (() -> Void)?
    private var isFinishing = false

    /// - Parameter bodies: Counts the requests of other nodes that have arrived in part.
    init(
        _ node: LocalNode, _ way: ClusterWay, _ bodies: BodyBudget, _ table: ConnectionTable,
        dial: @escaping Dial
    ) {
        self.way = way
        self.bodies = bodies
        self.table = table
        self.dial = dial
        secret = node.secret
    }

    var count: Int { bySocket.count }

    // MARK: Requests of this node's clients

    /// Sends a request, at once or when the other node has proved itself. The delegate gets its end later.
    ///
    /// - Returns: False if it was not sent: the node has no address, the lookup of its name takes long,
    ///   or the link has no room.
    func send(_ forward: ForwardedRequest, to member: Member) -> Bool {
        guard !isClosed, member.loops > 0, let address = LinkAddress(member.address) else {
            return false
        }
        let far = FarEnd(
            node: member.node, loop: forward.session.owner(of: member.loops))
        let link = outgoing[far] ?? open(far, address)
        guard link.machine.isOpen else {
            guard link.waiting.count < OutgoingLink.streamLimit,
                link.pulse.sign(at: table.now.nanoseconds) != .overdue
            else { return false }
            link.waiting.append(forward)
            forward.place = .waiting(far)
            return true
        }
        return send(forward, on: link)
    }

    private func send(_ forward: ForwardedRequest, on link: Outgoing) -> Bool {
        guard link.machine.hasRoom, let request = delegate?.request(of: forward),
            let stream = link.machine.send(request)
        else { return false }
        link.underWay[stream] = forward
        forward.place = .sent(link.far, stream)
        markUnsent(link.socket)
        return true
    }

    /// The client has gone, or its request was refused.
    func abandon(_ forward: ForwardedRequest) {
        switch forward.place {
        case .here: return
        case .paused: way.abandonPaused(forward)
        case .waiting(let far):
            outgoing[far]?.waiting.removeAll { $0 === forward }
        case .sent(let far, let stream):
            guard let link = outgoing[far], link.underWay[stream] === forward else { return }
            link.underWay[stream] = nil
            link.machine.abandon(stream)
            markUnsent(link.socket)
        }
        forward.place = .here
    }

    /// Keeps a request until the next tick, with which the delegate gets it back.
    ///
    /// - Returns: False if too many are kept.
    func pause(_ forward: ForwardedRequest) -> Bool {
        guard !isClosed, way.pause(forward) else { return false }
        setTimer()
        return true
    }

    /// Asks for the response at once: it waits for effects no longer.
    func hurry(_ forward: ForwardedRequest) {
        guard case .sent(let far, let stream) = forward.place, let link = outgoing[far],
            link.underWay[stream] === forward
        else { return }
        link.machine.hurry(stream)
        markUnsent(link.socket)
    }

    private func open(_ far: FarEnd, _ address: LinkAddress) -> Outgoing {
        let machine = OutgoingLink(
            to: LinkHandshake.Peer(node: far.node.number, loop: UInt32(far.loop)),
            from: way.node.number, secret: secret, nonce: LinkHandshake.newNonce(),
            payloadLimitBytes: Self.payloadLimitBytes)
        lastNumber += 1
        let number = lastNumber
        let link = Outgoing(to: far, number, machine, at: table.now.nanoseconds)
        outgoing[far] = link
        way.suspicion.asked(far.node)
        setTimer()
        dial(address) { $0.dialled(far, number, $1) }
        return link
    }

    private func dialled(
        _ far: FarEnd, _ number: UInt64, _ result: Result<ConnectionID, SystemFailure>
    ) {
        guard let link = outgoing[far], link.number == number else {
            // It was given up while its name was resolved.
            if case .success(let socket) = result { table.close(socket, .reset) }
            return
        }
        switch result {
        case .success(let socket):
            link.socket = socket
            link.pulse.dialled(at: table.now.nanoseconds)
            bySocket[socket] = .outgoing(link)
            markUnsent(socket)
        case .failure(let failure): end(link, failure.isRefusal ? .refused : .failure(failure))
        }
    }

    // MARK: Requests of other nodes

    /// Adds a link whose peer has proved itself.
    func admit(_ machine: IncomingLink, from peer: LinkHandshake.Peer, as socket: ConnectionID) {
        guard !isClosed else { return table.close(socket, .reset) }
        let link = Incoming(socket, machine, from: peer, at: table.now)
        bySocket[socket] = .incoming(link)
        if isFinishing { link.machine.finish() }
        markUnsent(socket)
        setTimer()
    }

    func answer(_ origin: GuestOrigin, _ answer: LinkAnswer) {
        guard case .incoming(let link)? = bySocket[origin.link] else { return }
        link.machine.answer(origin.stream, answer)
        markUnsent(origin.link)
    }

    func answer(_ origin: GuestOrigin, movedTo node: Node?) {
        guard case .incoming(let link)? = bySocket[origin.link] else { return }
        link.machine.answer(origin.stream, LinkMoved(node: node?.number ?? 0))
        markUnsent(origin.link)
    }

    // MARK: Sockets

    /// Whether the connection is a link.
    func has(_ socket: ConnectionID) -> Bool { bySocket[socket] != nil }

    func received(_ socket: ConnectionID, _ bytes: RawSpan) {
        var input: [UInt8] = []
        input.append(copying: bytes)
        switch bySocket[socket] {
        case .outgoing(let link)?: receive(input, on: link)
        case .incoming(let link)?: receive(input, on: link)
        case nil: break
        }
    }

    func writable(_ socket: ConnectionID) {
        if bySocket[socket] != nil { unsent.insert(socket) }
    }

    func peerFinished(_ socket: ConnectionID) {
        guard bySocket[socket] != nil else { return }
        table.close(socket, .reset)
        closed(socket, .reset)
    }

    func closed(_ socket: ConnectionID, _ why: CloseReason) {
        switch bySocket[socket] {
        case .outgoing(let link)?: end(link, why == .refused ? .refused : .closed)
        case .incoming(let link)?: end(link)
        case nil: break
        }
    }

    private func receive(_ input: [UInt8], on link: Outgoing) {
        link.pulse.received(at: table.now.nanoseconds)
        way.suspicion.heard(from: link.far.node)
        var (events, fault) = ([OutgoingLink.Event](), nil as LinkFault?)
        do throws(LinkFault) {
            try link.machine.receive(input.span) { events.append($0) }
        } catch {
            fault = error
        }
        markUnsent(link.socket)
        for event in events {
            switch event {
            case .opened: opened(link)
            case .answer(let stream, let answer):
                guard let forward = link.underWay.removeValue(forKey: stream) else { continue }
                forward.place = .here
                delegate?.forwarded(forward, answer)
            case .moved(let stream, let moved):
                guard let forward = link.underWay.removeValue(forKey: stream) else { continue }
                forward.place = .here
                let owner = moved.node > 0 ? Node(number: moved.node) : nil
                delegate?.forwarded(forward, .moved(owner))
            case .ping: break
            case .last: end(link, .finished)
            }
        }
        if let fault { end(link, .fault(fault)) }
    }

    private func opened(_ link: Outgoing) {
        let waiting = link.waiting
        link.waiting = []
        for forward in waiting {
            forward.place = .here
            if !send(forward, on: link) { delegate?.forwarded(forward, .notSent) }
        }
    }

    private func receive(_ input: [UInt8], on link: Incoming) {
        link.pulse.received(at: table.now.nanoseconds)
        link.receivedAt = table.now
        var (events, fault) = ([IncomingLink.Event](), nil as LinkFault?)
        do throws(LinkFault) {
            try link.machine.receive(input.span) { events.append($0) }
        } catch {
            fault = error
        }
        for event in events {
            switch event {
            case .request(let stream, let request):
                delegate?.guestArrived(request, from: GuestOrigin(link.socket, stream))
            case .gone(let stream):
                delegate?.guestLeft(GuestOrigin(link.socket, stream))
                // The last frame may be due.
                markUnsent(link.socket)
            case .hurry(let stream):
                delegate?.guestHurried(GuestOrigin(link.socket, stream))
            case .opened, .ping: break
            }
        }
        if let fault {
            way.report(
                "a link of another node was closed: \(fault)", about: link.peer.node, at: table.now)
            table.close(link.socket, .reset)
            return end(link)
        }
        countPartial(of: link)
        guard link.machine.isBlocked, !link.isPaused else { return }
        link.isPaused = true
        table.pauseReading(link.socket)
    }

    /// Counts the memory of a request that has arrived in part. If the budget of bodies is used up, the
    /// request is refused, and its rest is skipped.
    private func countPartial(of link: Incoming) {
        charge(link.machine.partialBytes, to: link)
        guard link.machine.partialBytes > link.chargedBytes else { return }
        let stream = link.machine.skipPartial()
        charge(0, to: link)
        guard let stream else { return }
        link.machine.answer(stream, LinkAnswer(.problem(.tooManyBodies)))
        markUnsent(link.socket)
    }

    /// Counts that many bytes for the link, or as many as before if the budget has no room.
    private func charge(_ bytes: Int, to link: Incoming) {
        if bytes < link.chargedBytes {
            bodies.giveBack(link.chargedBytes - bytes, for: .local)
        } else if bytes > link.chargedBytes {
            guard bodies.charge(bytes - link.chargedBytes, for: .local) else { return }
        }
        link.chargedBytes = bytes
    }

    // MARK: Sending

    private func markUnsent(_ socket: ConnectionID?) {
        if let socket { unsent.insert(socket) }
    }

    /// Sends what the round has collected. Called once a round.
    func flush() {
        guard !unsent.isEmpty else { return }
        for socket in unsent {
            switch bySocket[socket] {
            case .outgoing(let link)?:
                guard let count = send(link.machine.output, on: socket) else { continue }
                link.machine.sent(count)
                link.pulse.sent(at: table.now.nanoseconds)
            case .incoming(let link)?:
                guard let count = send(link.machine.output, on: socket) else { continue }
                link.machine.sent(count)
                link.pulse.sent(at: table.now.nanoseconds)
                guard !link.hasSentLast else {
                    table.close(socket, .lingering)
                    end(link)
                    continue
                }
                guard link.isPaused, !link.machine.isBlocked else { continue }
                link.isPaused = false
                table.resumeReading(socket)
            case nil: break
            }
        }
        unsent.removeAll(keepingCapacity: true)
    }

    /// - Returns: The bytes that the kernel has accepted; nil if there are none to send.
    private func send(_ output: LinkOutput, on socket: ConnectionID) -> Int? {
        let bytes = output.unsent
        guard !bytes.isEmpty else { return nil }
        let count = table.send(socket, bytes.span)
        way.sentBytes += UInt64(count)
        return count
    }

    // MARK: Time

    /// Sends pings, ends links whose other node is silent, and ends the pauses of requests.
    func timerReached() {
        let now = table.now
        isTimerSet = false
        // This process was paused itself: whatever has arrived meanwhile is read first.
        let isLate = tickedAt.map { now - $0 > .milliseconds(600) } ?? false
        tickedAt = now
        way.tick(isLate: isLate)
        for link in outgoing.values {
            if isLate { link.pulse.resumed(at: now.nanoseconds) }
            switch link.pulse.sign(at: now.nanoseconds) {
            case .alive: break
            case .overdue:
                refuseWaiting(for: link)
                continue
            case .silent:
                end(link, .silent)
                continue
            }
            guard link.machine.isOpen, link.pulse.isPingDue(at: now.nanoseconds) else { continue }
            link.machine.send(way.ping)
            markUnsent(link.socket)
        }
        for case .incoming(let link) in bySocket.values {
            guard isLate || now - link.receivedAt < Self.incomingSilence else {
                table.close(link.socket, .reset)
                end(link)
                continue
            }
            guard link.pulse.isPingDue(at: now.nanoseconds) else { continue }
            link.machine.send(way.ping)
            markUnsent(link.socket)
        }
        for forward in way.claimPaused() { delegate?.pauseEnded(forward) }
        setTimer()
    }

    /// Lets nobody wait for a link whose node's name is still looked up. The link stays, so that there is
    /// one lookup at a time.
    private func refuseWaiting(for link: Outgoing) {
        way.report(
            "no link: the lookup of the node's name has taken two seconds",
            about: link.far.node.number, at: table.now)
        let waiting = link.waiting
        link.waiting = []
        for forward in waiting {
            forward.place = .here
            delegate?.forwarded(forward, .notSent)
        }
    }

    private func setTimer() {
        // To set it again would move it, and links that are begun all the time would keep it from firing.
        guard !isTimerSet else { return }
        guard !bySocket.isEmpty || !outgoing.isEmpty || way.hasPaused else { return tickedAt = nil }
        isTimerSet = true
        table.setTimer(token: Self.timer, at: table.now + Self.tick)
    }

    // MARK: Ends

    /// Ends a link of this loop. Each request is asked again elsewhere, or its client gets a failure.
    private func end(_ link: Outgoing, _ why: Ending) {
        guard outgoing[link.far] === link else { return }
        outgoing[link.far] = nil
        if let socket = link.socket {
            bySocket[socket] = nil
            table.close(socket, .reset)
        }
        judge(link, why)
        var ending = Forwarding.Ending.lost
        if case .finished = why { ending = .notSent }
        let (waiting, underWay) = (link.waiting, link.underWay)
        (link.waiting, link.underWay) = ([], [:])
        for forward in waiting {
            forward.place = .here
            delegate?.forwarded(forward, .notSent)
        }
        for forward in underWay.values {
            forward.place = .here
            delegate?.forwarded(forward, ending)
        }
    }

    private func judge(_ link: Outgoing, _ why: Ending) {
        let node = link.far.node
        switch why {
        case .refused: way.suspicion.refused(by: node)
        case .silent: way.suspicion.fellSilent(node, at: .now)
        case .fault(.otherNode):
            // A process at the same address: the one that is sought has ended.
            way.suspicion.refused(by: node)
        case .closed where link.machine.awaitsProof:
            way.report("no link: \(LinkFault.otherSecret)", about: node.number, at: table.now)
        case .closed, .finished: break
        case .fault(let fault): way.report("no link: \(fault)", about: node.number, at: table.now)
        case .failure(let failure):
            way.report("no link: \(failure)", about: node.number, at: table.now)
        }
    }

    private func end(_ link: Incoming) {
        guard bySocket.removeValue(forKey: link.socket) != nil else { return }
        charge(0, to: link)
        for stream in link.machine.underWay {
            delegate?.guestLeft(GuestOrigin(link.socket, stream))
        }
        reportIfFinished()
    }

    /// Serves no further request of other nodes, and ends each of their links when the requests under way
    /// are answered. Those nodes hear that no other one had an effect.
    ///
    /// - Parameter act: Called when all have ended, or with ``close()``.
    func finish(then act: @escaping () -> Void) {
        guard !isClosed else { return act() }
        isFinishing = true
        finished = act
        for case .incoming(let link) in bySocket.values {
            link.machine.finish()
            markUnsent(link.socket)
        }
        flush()
        reportIfFinished()
    }

    private func reportIfFinished() {
        guard let act = finished else { return }
        for case .incoming in bySocket.values { return }
        finished = nil
        act()
    }

    /// Closes every link, because the server ends. Nothing is passed to the delegate.
    func close() {
        isClosed = true
        for socket in bySocket.keys { table.close(socket, .reset) }
        for case .incoming(let link) in bySocket.values { charge(0, to: link) }
        (outgoing, bySocket, unsent) = ([:], [:], [])
        reportIfFinished()
    }
}
