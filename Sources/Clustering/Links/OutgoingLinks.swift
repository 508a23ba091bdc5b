package import Cluster
internal import Feeds
internal import Sessions
package import Sockets
internal import Wire

/// The links that one loop has dialled, on which it sends its clients' requests to other nodes.
///
/// Design: there is one for each loop of another node, made when it is first needed.
package final class OutgoingLinks {
    /// The far end of a link.
    package struct FarEnd: Hashable, Sendable {
        var node: Node
        var loop: Int
    }

    /// Dials for this loop. `then` is called on the loop.
    package typealias Dial = (
        _ host: String, _ port: UInt16,
        _ then: @escaping @Sendable (OutgoingLinks, Result<ConnectionID, SystemFailure>) -> Void
    ) -> Void

    /// The reason for the end of a link.
    private enum Ending {
        case refused
        case silent
        case fault(LinkFault)
        case closed
        /// The other node has served all that it will.
        case finished
        case failure(SystemFailure)
    }

    weak var delegate: (any LinkTableDelegate)?
    let way: ClusterWay
    private let table: ConnectionTable
    private let timer: LinkTimer
    private let budget: LinkBudget
    private let secret: [UInt8]
    private let dial: Dial
    private(set) var links: [FarEnd: OutgoingConnection] = [:]
    /// The link of each session that is followed, or will be.
    var followed: [SessionID: FarEnd] = [:]
    /// The links that have a socket.
    private var bySocket: [ConnectionID: OutgoingConnection] = [:]
    private var unsent: Set<ConnectionID> = []
    private var lastNumber: UInt64 = 0
    package private(set) var isClosed = false
    private let firstPings = FirstPingWaits()

    init(
        _ way: ClusterWay, _ table: ConnectionTable, _ timer: LinkTimer, _ budget: LinkBudget,
        secret: [UInt8], dial: @escaping Dial
    ) {
        self.way = way
        self.table = table
        self.timer = timer
        self.budget = budget
        self.secret = secret
        self.dial = dial
    }

    /// The number of sockets.
    var count: Int { bySocket.count }

    /// Whether no timer is needed.
    var isIdle: Bool { links.isEmpty && !way.hasPaused && firstPings.isEmpty }

    // MARK: Requests

    /// Sends a request, at once or when the other node has proved itself. The delegate gets
    /// its end later.
    ///
    /// - Returns: False if it was not sent: the node has no address, the lookup of its name takes
    ///   long, the link has no room, or the node believes another database.
    package func send(_ forward: ForwardedRequest, to member: Member) -> Bool {
        guard !isClosed, member.loops > 0, let address = ListenAddress.parseTCP(member.address)
        else {
            return false
        }
        let far = FarEnd(
            node: member.node, loop: forward.session.owner(of: member.loops))
        let link = links[far] ?? open(far, address)
        // Requests wait for the other node's first ping, which names the database that it believes.
        guard link.database != nil else {
            guard link.waiting.count < OutgoingLink.streamLimit,
                link.pulse.sign(at: table.now.nanoseconds) != .overdue
            else { return false }
            link.waiting.append(forward)
            forward.place = .waiting(far)
            return true
        }
        return send(forward, on: link)
    }

    private func send(_ forward: ForwardedRequest, on link: OutgoingConnection) -> Bool {
        guard link.machine.hasRoom, way.shares(link.database),
            let stream = delegate?.request(of: forward).flatMap({ link.machine.send($0) })
        else {
            return false
        }
        link.underWay[stream] = forward
        forward.place = .sent(link.far, stream)
        markUnsent(link.socket)
        return true
    }

    /// The client has gone, or its request was refused.
    package func abandon(_ forward: ForwardedRequest) {
        switch forward.place {
        case .here: return
        case .paused: way.abandonPaused(forward)
        case .waiting(let far):
            links[far]?.waiting.removeAll { $0 === forward }
        case .sent(let far, let stream):
            guard let link = links[far], link.underWay[stream] === forward else { return }
            link.underWay[stream] = nil
            link.machine.abandon(stream)
            markUnsent(link.socket)
        }
        forward.place = .here
    }

    /// Keeps a request until the next tick, with which the delegate gets it back.
    ///
    /// - Returns: False if too many are kept.
    package func pause(_ forward: ForwardedRequest) -> Bool {
        guard !isClosed, way.pause(forward) else { return false }
        timer.start()
        return true
    }

    /// Asks for the response at once: it waits for effects no longer.
    package func hurry(_ forward: ForwardedRequest) {
        guard case .sent(let far, let stream) = forward.place, let link = links[far],
            link.underWay[stream] === forward
        else { return }
        link.machine.hurry(stream)
        markUnsent(link.socket)
    }

    // MARK: Beginning

    func open(_ far: FarEnd, _ address: (host: String, port: UInt16)) -> OutgoingConnection {
        let machine = OutgoingLink(
            to: LinkHandshake.Peer(node: far.node.number, loop: UInt32(far.loop)),
            from: way.node.number, secret: secret, nonce: LinkHandshake.newNonce(),
            payloadLimitBytes: LinkTable.payloadLimitBytes)
        lastNumber += 1
        let number = lastNumber
        let link = OutgoingConnection(
            to: far, number, machine, at: table.now.nanoseconds, silence: way.suspicion.silence)
        links[far] = link
        way.suspicion.asked(far.node)
        timer.start()
        dial(address.host, address.port) { $0.dialled(far, number, $1) }
        return link
    }

    private func dialled(
        _ far: FarEnd, _ number: UInt64, _ result: Result<ConnectionID, SystemFailure>
    ) {
        guard let link = links[far], link.number == number else {
            // It was given up while its name was resolved.
            if case .success(let socket) = result { table.close(socket, .reset) }
            return
        }
        switch result {
        case .success(let socket):
            link.socket = socket
            link.pulse.dialled(at: table.now.nanoseconds)
            bySocket[socket] = link
            markUnsent(socket)
        case .failure(let failure): end(link, failure.isRefusal ? .refused : .failure(failure))
        }
    }

    /// Sends what has waited until the other node has proved itself, or has said what it accepts.
    private func sendWaiting(on link: OutgoingConnection) {
        guard link.database != nil else { return }
        let waiting = link.waiting
        link.waiting = []
        for forward in waiting {
            forward.place = .here
            if !send(forward, on: link) { delegate?.forwarded(forward, .notSent) }
        }
    }

    // MARK: Sockets

    func received(_ socket: ConnectionID, _ input: [UInt8]) {
        guard let link = bySocket[socket] else { return }
        link.pulse.received(at: table.now.nanoseconds)
        way.suspicion.heard(from: link.far.node)
        var (events, fault) = ([OutgoingLink.Event](), nil as LinkFault?)
        do throws(LinkFault) {
            try link.machine.receive(input.span) { events.append($0) }
        } catch {
            fault = error
        }
        markUnsent(link.socket)
        // Before the events: an answer that has arrived counts with its request, and not twice.
        countPartial(of: link)
        for event in events {
            switch event {
            // The next ping has the database that the node believes.
            case .opened: break
            case .answer(let stream, let answer):
                guard let forward = link.underWay.removeValue(forKey: stream) else { continue }
                forward.place = .here
                delegate?.forwarded(forward, answer)
            case .moved(let stream, let moved):
                guard let forward = link.underWay.removeValue(forKey: stream) else { continue }
                forward.place = .here
                let owner = moved.node > 0 ? Node(number: moved.node) : nil
                delegate?.forwarded(forward, .moved(owner))
            case .ping(let ping):
                heard(DatabaseStanding(ping), on: link)
                sendWaiting(on: link)
                sendFollows(on: link)
            case .hint(let stream, let hint): hinted(stream, hint, on: link)
            case .records(let stream, let records): received(stream, records, on: link)
            case .presence(let stream, let presence): received(stream, presence, on: link)
            case .unfollowed(let stream): unfollowed(stream, on: link)
            case .last: end(link, .finished)
            }
        }
        if let fault { end(link, .fault(fault)) }
    }

    /// Counts the memory of an answer that has partly arrived. If there is no room for it, the rest
    /// is skipped, and its client gets a refusal.
    private func countPartial(of link: OutgoingConnection) {
        guard let (stream, bytes) = link.machine.partialAnswer, bytes > WorkBudget.smallestBytes
        else { return link.partialCharge = nil }
        if let charge = link.partialCharge {
            // Another answer may have taken the place of the one before.
            if charge.resize(to: bytes) { return }
        } else {
            link.partialCharge = budget.answers.charge(bytes, for: nil)
            if link.partialCharge != nil { return }
        }
        // The outcome of any other request must arrive, and is small.
        guard let forward = link.underWay[stream], forward.onlyReads else { return }
        link.machine.skipPartialAnswer()
        link.partialCharge = nil
        link.underWay[stream] = nil
        forward.place = .here
        delegate?.forwarded(forward, budget.answerRefusal)
    }

    private func heard(_ standing: DatabaseStanding, on link: OutgoingConnection) {
        link.database = standing.mark
        way.hear(standing)
        firstPings.heard(link.far)
        // Its hints and records may be of a history that has ended.
        if !way.shares(standing.mark) { endFollowing(on: link) }
    }

    // MARK: Acquaintances

    /// Opens links to nodes that may believe another database, so that each hears of the newer one.
    ///
    /// - Parameter done: Called once, on this loop, when each node has sent what it believes, was
    ///   not reached, or has not answered in time.
    package func meet(_ members: [Member], then done: @escaping () -> Void = {}) {
        guard !isClosed else { return done() }
        var awaited: Set<FarEnd> = []
        for member in members {
            guard member.loops > 0, let address = ListenAddress.parseTCP(member.address) else {
                continue
            }
            let far = FarEnd(node: member.node, loop: 0)
            let link = links[far] ?? open(far, address)
            if link.database == nil { awaited.insert(far) }
        }
        firstPings.begin(awaited, until: table.now + Self.firstPingLimit, done)
        timer.start()
    }

    /// As long as a link may take to open.
    private static let firstPingLimit = Duration.nanoseconds(LinkPulse.openingNanoseconds)

    func writable(_ socket: ConnectionID) {
        if bySocket[socket] != nil { unsent.insert(socket) }
    }

    func closed(_ socket: ConnectionID, _ why: CloseReason) {
        guard let link = bySocket[socket] else { return }
        end(link, why == .refused ? .refused : .closed)
    }

    func markUnsent(_ socket: ConnectionID?) {
        if let socket { unsent.insert(socket) }
    }

    func flush() {
        for socket in unsent {
            guard let link = bySocket[socket],
                let count = table.send(link.machine.output, on: socket)
            else { continue }
            way.counts.sentBytes += UInt64(count)
            link.machine.sent(count)
            link.pulse.sent(at: table.now.nanoseconds)
        }
        unsent.removeAll(keepingCapacity: true)
    }

    // MARK: Time

    /// - Parameter isLate: Whether this process was itself paused.
    func tick(isLate: Bool) {
        let now = table.now.nanoseconds
        firstPings.expire(at: table.now)
        let members = way.members
        for link in links.values {
            if members[link.far.node] == nil { giveUp(link) }
            if isLate { link.pulse.resumed(at: now) }
            switch link.pulse.sign(at: now) {
            case .alive: break
            case .overdue:
                refuseWaiting(for: link)
                continue
            case .silent:
                end(link, .silent)
                continue
            }
            guard link.machine.isOpen, link.pulse.isPingDue(at: now) else { continue }
            link.machine.send(way.ping)
            markUnsent(link.socket)
        }
        for forward in way.claimPaused() { delegate?.pauseEnded(forward) }
    }

    /// Fails the requests that wait for a link while its node's name is being looked up. The link
    /// stays, so that there is only one lookup at a time.
    private func refuseWaiting(for link: OutgoingConnection) {
        way.report(
            "no link: looking up the node's name has taken two seconds",
            about: link.far.node.number, at: table.now)
        let waiting = link.waiting
        link.waiting = []
        for forward in waiting {
            forward.place = .here
            delegate?.forwarded(forward, .notSent)
        }
    }

    // MARK: Ends

    /// The other node is no longer a member, so others may decide on its sessions. Its requests may
    /// have taken effect, and this node stops waiting for their answers.
    private func giveUp(_ link: OutgoingConnection) {
        guard !link.underWay.isEmpty else { return }
        let underWay = link.underWay
        link.underWay = [:]
        for (stream, forward) in underWay {
            link.machine.abandon(stream)
            forward.place = .here
            delegate?.forwarded(forward, .unknown)
        }
        markUnsent(link.socket)
    }

    /// Ends a link. Each request is asked again elsewhere, or its client gets a failure.
    private func end(_ link: OutgoingConnection, _ why: Ending) {
        guard links[link.far] === link else { return }
        links[link.far] = nil
        if let socket = link.socket {
            bySocket[socket] = nil
            table.close(socket, .reset)
        }
        judge(link, why)
        firstPings.heard(link.far)
        var ending = Forwarding.Ending.lost
        if case .finished = why { ending = .notSent }
        let (waiting, underWay) = (link.waiting, link.underWay)
        (link.waiting, link.underWay) = ([], [:])
        endFollowing(on: link)
        for forward in waiting {
            forward.place = .here
            delegate?.forwarded(forward, .notSent)
        }
        for forward in underWay.values {
            forward.place = .here
            delegate?.forwarded(forward, ending)
        }
    }

    private func judge(_ link: OutgoingConnection, _ why: Ending) {
        let node = link.far.node
        switch why {
        case .refused:
            way.suspicion.refused(by: node)
            way.report(
                "no link: nothing accepts connections at the node's --link address",
                about: node.number, at: table.now)
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

    func close() {
        isClosed = true
        firstPings.end()
        for socket in bySocket.keys { table.close(socket, .reset) }
        _ = way.claimPaused()
        (links, bySocket, unsent, followed) = ([:], [:], [], [:])
    }
}
