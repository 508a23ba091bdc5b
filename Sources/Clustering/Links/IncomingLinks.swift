package import Cluster
package import Feeds
internal import Sessions
package import Sockets
package import Wire

/// The links that other nodes have dialled for one loop, on which it serves their
/// clients' requests.
package final class IncomingLinks {
    /// A node that was paused for less than this, and then reads, gets its answers.
    private static let silence = Duration.seconds(30)

    weak var delegate: (any LinkTableDelegate)?
    let way: ClusterWay
    private let table: ConnectionTable
    private let timer: LinkTimer
    private let budget: LinkBudget
    private(set) var links: [ConnectionID: IncomingConnection] = [:]
    /// The followers of each session that has any.
    var followers: [SessionID: Set<Follower>] = [:]
    private var unsent: Set<ConnectionID> = []
    /// Called when every link has ended; nil unless this node ends.
    private var finished: (() -> Void)?
    private var isFinishing = false
    private var isClosed = false

    init(
        _ way: ClusterWay, _ table: ConnectionTable, _ timer: LinkTimer, _ budget: LinkBudget
    ) {
        self.way = way
        self.table = table
        self.timer = timer
        self.budget = budget
    }

    var count: Int { links.count }

    /// Whether no timer is needed.
    var isIdle: Bool { links.isEmpty }

    /// Adds a link whose peer has proved itself.
    package func admit(
        _ machine: IncomingLink, from peer: LinkHandshake.Peer, as socket: ConnectionID
    ) {
        guard !isClosed else { return table.close(socket, .reset) }
        let link = IncomingConnection(socket, machine, from: peer, at: table.now)
        links[socket] = link
        // The other node learns at once what this one can do.
        link.machine.send(way.ping)
        if isFinishing { link.machine.finish() }
        unsent.insert(socket)
        timer.start()
    }

    // MARK: Answers

    package func answer(_ origin: ForwardOrigin, _ answer: LinkAnswer) {
        guard let link = links[origin.link] else { return }
        link.machine.answer(origin.stream, answer)
        unsent.insert(origin.link)
    }

    /// Sends the answer to a request that has changed nothing.
    ///
    /// A large answer is counted until it is sent. If the other node reads so slowly that
    /// ``LinkOutput/limitBytes`` of small answers wait, it gets refusals in place of further
    /// answers.
    package func answerRead(_ origin: ForwardOrigin, _ answer: LinkAnswer, _ charge: WorkCharge?) {
        guard let link = links[origin.link] else { return }
        if charge == nil, link.machine.output.isFullOfUncounted {
            link.machine.answer(origin.stream, budget.answerRefusal)
        } else {
            link.machine.answer(origin.stream, answer, holding: charge)
        }
        unsent.insert(origin.link)
    }

    package func answer(_ origin: ForwardOrigin, movedTo node: Node?) {
        guard let link = links[origin.link] else { return }
        link.machine.answer(origin.stream, LinkMoved(node: node?.number ?? 0))
        unsent.insert(origin.link)
    }

    // MARK: Sockets

    func received(_ socket: ConnectionID, _ input: [UInt8]) {
        guard let link = links[socket] else { return }
        link.received(at: table.now)
        var (events, fault) = ([IncomingLink.Event](), nil as LinkFault?)
        do throws(LinkFault) {
            try link.machine.receive(input.span) { events.append($0) }
        } catch {
            fault = error
        }
        for event in events {
            switch event {
            case .request(let stream, let request):
                delegate?.requestArrived(request, from: ForwardOrigin(link.socket, stream))
            case .gone(let stream):
                delegate?.requestLeft(ForwardOrigin(link.socket, stream))
                // The last frame may be due.
                unsent.insert(link.socket)
            case .hurry(let stream):
                delegate?.requestHurried(ForwardOrigin(link.socket, stream))
            case .follow(let stream, let session): follow(session, stream, on: link)
            case .unfollow(let stream): unfollow(stream, on: link)
            case .presence(let stream, let presence): received(presence, stream, on: link)
            case .ping(let ping): way.hear(DatabaseStanding(ping))
            case .opened: break
            }
        }
        if let fault {
            way.report(
                "a link of another node was closed: \(fault)", about: link.peer.node, at: table.now)
            return end(link)
        }
        // The machine may have refused to follow.
        if !link.machine.output.unsent.isEmpty { markUnsent(link.socket) }
        countPartial(of: link)
        guard link.machine.isBlocked, !link.isPaused else { return }
        link.isPaused = true
        table.pauseReading(link.socket)
    }

    func writable(_ socket: ConnectionID) {
        if links[socket] != nil { unsent.insert(socket) }
    }

    func closed(_ socket: ConnectionID) {
        if let link = links[socket] { end(link) }
    }

    func markUnsent(_ socket: ConnectionID) { unsent.insert(socket) }

    func flush() {
        for socket in unsent {
            guard let link = links[socket], send(link) else { continue }
            guard !link.hasSentLast else {
                end(link, .lingering)
                continue
            }
            guard link.isPaused, !link.machine.isBlocked else { continue }
            link.isPaused = false
            table.resumeReading(socket)
        }
        unsent.removeAll(keepingCapacity: true)
    }

    /// Sends what there is.
    ///
    /// - Returns: Whether there was something to send.
    private func send(_ link: IncomingConnection) -> Bool {
        var hasSent = false
        repeat {
            way.counts.sentHints += UInt64(link.machine.writeHints())
            guard let count = table.send(link.machine.output, on: link.socket) else { break }
            way.counts.sentBytes += UInt64(count)
            link.machine.sent(count)
            link.sent(count, at: table.now)
            hasSent = true
            // Hints that had no room. If the kernel has not accepted everything, the rest
            // is sent later.
        } while link.machine.hasHints && link.machine.output.unsent.isEmpty
        return hasSent
    }

    // MARK: The budget of bodies

    /// Counts the memory of a request that has arrived in part. If the budget of bodies is used up,
    /// the request is refused, and its rest is skipped.
    private func countPartial(of link: IncomingConnection) {
        charge(link.machine.partialBytes, to: link)
        guard link.machine.partialBytes > link.chargedBytes else { return }
        let stream = link.machine.skipPartial()
        charge(0, to: link)
        guard let stream else { return }
        answer(ForwardOrigin(link.socket, stream), budget.requestRefusal)
    }

    /// Counts that many bytes for the link, or as many as before if the budget has no room.
    private func charge(_ bytes: Int, to link: IncomingConnection) {
        if bytes < link.chargedBytes {
            budget.requests.giveBack(link.chargedBytes - bytes, for: nil)
        } else if bytes > link.chargedBytes {
            guard budget.requests.charge(bytes - link.chargedBytes, for: nil) else { return }
        }
        link.chargedBytes = bytes
    }

    // MARK: Time

    /// - Parameter isLate: Whether this process was itself paused.
    func tick(isLate: Bool) {
        let now = table.now
        for link in links.values {
            guard isLate || !link.isSilent(for: Self.silence, at: now) else {
                end(link)
                continue
            }
            guard link.pulse.isPingDue(at: now.nanoseconds) else { continue }
            link.machine.send(way.ping)
            unsent.insert(link.socket)
        }
    }

    // MARK: Ends

    private func end(_ link: IncomingConnection, _ how: ConnectionTable.Closing = .reset) {
        guard links.removeValue(forKey: link.socket) != nil else { return }
        table.close(link.socket, how)
        charge(0, to: link)
        removeFollowers(on: link)
        for stream in link.machine.underWay {
            delegate?.requestLeft(ForwardOrigin(link.socket, stream))
        }
        reportIfFinished()
    }

    /// Serves no further requests, and ends each link when the requests under way are answered. The
    /// end of the link informs the other node that no other request had an effect.
    ///
    /// - Parameter act: Called when all have ended, or with ``close()``.
    package func finish(then act: @escaping () -> Void) {
        guard !isClosed else { return act() }
        isFinishing = true
        finished = act
        for link in links.values {
            link.machine.finish()
            unsent.insert(link.socket)
        }
        flush()
        reportIfFinished()
    }

    private func reportIfFinished() {
        guard let act = finished, links.isEmpty else { return }
        finished = nil
        act()
    }

    func close() {
        isClosed = true
        for link in links.values {
            table.close(link.socket, .reset)
            charge(0, to: link)
        }
        (links, unsent, followers) = ([:], [], [:])
        reportIfFinished()
    }
}
