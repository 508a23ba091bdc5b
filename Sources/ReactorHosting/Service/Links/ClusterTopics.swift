internal import Cluster
internal import JSONCoding
internal import Reactors
internal import Sockets
internal import Wire

/// Publishes values of topics at all nodes of a cluster, in one order (ADR-0057).
///
/// Design: the topic's home gives a value its place in the order, delivers it to its own sessions,
/// and sends it to all other members. The home sends nothing until it has an open link with room to
/// each of them. So if a node cannot be reached, no session gets the value. A value that may have
/// reached only some of the sessions is a failure of its own (504). While a node ends, and until
/// its sessions are awake at other nodes, nothing is published (``Departures``).
///
/// Bounds: ``limit`` values; ``queueLimitBytes`` of values that wait to be sent or that the home
/// has; the bounds of ``TopicArrivals``; and the limits of links.
///
/// Not Sendable: there is one, on the first loop, which has all links that carry topics.
final class ClusterTopics {
    /// The sessions of this node, which may be on any loop.
    struct Listeners {
        /// Hands a value to the sessions that listen; nil: there are none.
        let deliver: (_ topic: String, _ body: [UInt8]) -> Result<TopicDelivery?, Problem>
        /// Calls `then` on the first loop when the sessions have committed the value, with
        /// their number.
        let wait:
            (
                _ delivery: TopicDelivery,
                _ then: @escaping @Sendable (ClusterTopics, _ sessions: Int) -> Void
            ) -> Void
        /// Calls `then` on the first loop when the sessions that are being loaded now, on any
        /// loop, are awake.
        let load: (_ then: @escaping @Sendable (ClusterTopics) -> Void) -> Void
        /// Calls `then` on the first loop with whether all sessions of members that have ended are
        /// awake at others, or nobody wakes them. False, too, if the journal cannot be read.
        let search: (_ then: @escaping @Sendable (ClusterTopics, _ areAwake: Bool) -> Void) -> Void
        /// Whether a reactor of this node listens to topics.
        let areExpected: Bool
    }

    /// Values that wait for links, or for answers.
    static let limit = 1_000
    /// Bytes of those that wait for links, or that the home has. A larger one waits alone.
    static let queueLimitBytes = 8 << 20
    /// How long a node that starts waits for the links of its members.
    static let introductionLimitNanoseconds: Int64 = 2_000_000_000
    static let dialPause = Duration.seconds(1)
    static let newcomerSilence = Duration.seconds(1)

    /// How long the home waits for the sessions of all nodes (``Configuration/topicLimit``).
    let shareLimitNanoseconds: Int64
    let way: ClusterWay
    let outgoing: OutgoingLinks
    let incoming: IncomingLinks
    let listeners: Listeners
    let table: ConnectionTable
    var order = TopicOrder()
    var memory = TopicMemory()
    var newcomers = Newcomers()
    var departures = Departures()
    var arrivals = TopicArrivals<TopicArrival>()
    var search = TopicSearch()
    /// Nil unless this node ends, and others may have sent values that it has not answered.
    var leaving: (deadline: Int64, done: () -> Void)?
    /// Nil when the members know this node, or have not answered in time.
    var introduction: (deadline: Int64, done: () -> Void)?
    /// When a member was last dialled without a value to send.
    var dialled: [Node: LoopInstant] = [:]
    private var queue: [TopicPublication] = []
    private var heldBytes = 0
    private var underWay: [UInt64: TopicPublication] = [:]
    private var lastNumber: UInt64 = 0

    init(
        _ way: ClusterWay, _ outgoing: OutgoingLinks, _ incoming: IncomingLinks,
        _ table: ConnectionTable, _ listeners: Listeners, shareLimitNanoseconds: Int64
    ) {
        self.shareLimitNanoseconds = shareLimitNanoseconds
        self.way = way
        self.outgoing = outgoing
        self.incoming = incoming
        self.table = table
        self.listeners = listeners
    }

    /// How long a value waits for links.
    private var linkLimitNanoseconds: Int64 { shareLimitNanoseconds / 5 * 2 }

    /// How long a client's node waits for the home.
    private var homeLimitNanoseconds: Int64 { shareLimitNanoseconds * 2 }

    /// Whether no timer is needed.
    var isIdle: Bool {
        isQuiet && introduction == nil && departures.isEmpty && leaving == nil
    }

    /// Whether nothing is under way.
    var isQuiet: Bool { queue.isEmpty && underWay.isEmpty && arrivals.isEmpty }

    var now: Int64 { table.now.nanoseconds }

    // MARK: Beginning

    /// Publishes a value. `reply` is called once, now or later, on this loop.
    ///
    /// - Parameter isFromNode: Whether another node takes this one for the topic's home. Then this
    ///   node publishes the value, even if it knows another home, so no value goes in circles.
    func publish(
        _ body: [UInt8], to topic: String, isFromNode: Bool,
        reply: @escaping (LinkAnswer) -> Void
    ) {
        guard !outgoing.isClosed else { return reply(LinkAnswer(.problem(.draining))) }
        guard queue.count + underWay.count < Self.limit,
            heldBytes == 0 || heldBytes + body.count <= Self.queueLimitBytes
        else { return reply(LinkAnswer(.problem(.tooManyPublications))) }
        lastNumber += 1
        queue.append(
            TopicPublication(
                lastNumber, topic, body, isFromNode: isFromNode, since: now, reply: reply))
        heldBytes += body.count
        outgoing.startTimer()
        advance(mayDial: true)
    }

    /// Sends what can be sent, in the order of arrival.
    func advance(mayDial: Bool) {
        while let next = queue.first {
            switch plan(next, mayDial: mayDial) {
            case .wait:
                guard now - next.since >= linkLimitNanoseconds else { return }
                queue.removeFirst()
                let isHeld = departures.areAwaited
                end(next, .unavailable, .topicUnavailable(isHeld ? .ending : .unreachable))
            case .refuse(let problem):
                queue.removeFirst()
                end(next, .unavailable, problem)
            case .ask(let home):
                queue.removeFirst()
                ask(home, next)
            case .publish(let links):
                queue.removeFirst()
                publish(next, on: links)
            }
        }
    }

    /// The value is sent, or is not to be.
    private func releaseBody(of publication: TopicPublication) {
        heldBytes -= publication.body.count
        publication.body = []
    }

    private enum Plan {
        case wait
        case refuse(Problem)
        case ask(OutgoingConnection)
        case publish([OutgoingConnection])
    }

    private func plan(_ publication: TopicPublication, mayDial: Bool) -> Plan {
        let members = way.members
        observeDepartures(members)
        if !publication.isFromNode, let home = home(of: publication, members) {
            return switch readiness(of: home, mayDial: mayDial) {
            case .ready(let link): .ask(link)
            case .pending: .wait
            case .unable: .refuse(.topicUnavailable(.otherProgram))
            }
        }
        // While the database is away, nodes may have joined that this one does not know. A value of
        // another node has its place already.
        guard members.isHeard, !hasNewcomer(members), !departures.areAwaited,
            !arrivals.contains(where: { $0.publication.topic == publication.topic })
        else { return .wait }
        var (links, isWaiting) = ([OutgoingConnection](), false)
        for member in members.others where !publication.gone.contains(member.node) {
            switch readiness(of: member, mayDial: mayDial) {
            case .ready(let link): links.append(link)
            case .pending: isWaiting = true
            case .unable: return .refuse(.topicUnavailable(.otherProgram))
            }
        }
        return isWaiting ? .wait : .publish(links)
    }

    /// The other member that is to publish the value; nil if this node is. Never a member that has
    /// ended or is about to end.
    private func home(of publication: TopicPublication, _ members: Members) -> Member? {
        var present = members
        for (index, member) in members.others.enumerated()
        where departures.contains(member.node) || publication.skips(member.node) {
            present.others[index].isLeaving = true
        }
        guard let home = present.home(of: publication.topic), home != way.node else { return nil }
        return members[home]
    }

    private enum Readiness {
        case ready(OutgoingConnection)
        case pending
        /// The node has no links, or its program does not accept topics.
        case unable
    }

    private func readiness(of member: Member, mayDial: Bool) -> Readiness {
        guard let far = OutgoingLinks.FarEnd(topicsAt: member),
            let address = LinkAddress(member.address)
        else { return .unable }
        guard let link = outgoing.links[far] else {
            if mayDial { _ = outgoing.open(far, address) }
            return .pending
        }
        guard let features = link.machine.features else { return .pending }
        guard features.contains(.topics) else { return .unable }
        return link.machine.hasRoom ? .ready(link) : .pending
    }

    // MARK: Sending

    private func ask(_ home: OutgoingConnection, _ publication: TopicPublication) {
        let message = LinkPublication(
            place: 0, topic: publication.topic, body: publication.body)
        guard outgoing.send(message, as: .whole(publication.number), on: home) else {
            return end(publication, .unavailable, .topicUnavailable(.unreachable))
        }
        publication.deadline = now + homeLimitNanoseconds
        underWay[publication.number] = publication
    }

    /// Publishes a value whose home this node is.
    private func publish(_ publication: TopicPublication, on links: [OutgoingConnection]) {
        let (topic, body) = (publication.topic, publication.body)
        let microseconds = table.wallClockMilliseconds.multipliedReportingOverflow(by: 1_000)
        let place = order.next(of: topic, at: microseconds.partialValue)
        guard order.admit(place, of: topic) else {
            return end(publication, .unavailable, .topicUnavailable(.late))
        }
        switch listeners.deliver(topic, body) {
        // A node with the same program would refuse it as well, and nothing is sent.
        case .failure(let problem): return end(publication, .refused, problem)
        case .success(nil): publication.shares.add(.unheard)
        case .success(let delivery?): wait(for: delivery, publication, place)
        }
        let message = LinkPublication(place: place, topic: topic, body: body)
        for link in links {
            if outgoing.send(message, as: .share(publication.number), on: link) {
                publication.awaited.insert(link.far.node)
            } else {
                publication.shares.add(.unanswered)
            }
        }
        releaseBody(of: publication)
        // Alone it waits for its sessions as a single server does.
        if !way.members.isAlone || publication.isFromNode {
            publication.deadline = now + shareLimitNanoseconds
        }
        underWay[publication.number] = publication
        finishIfComplete(publication)
    }

    private func wait(
        for delivery: TopicDelivery, _ publication: TopicPublication, _ place: UInt64
    ) {
        let (number, isRemembered) = (publication.number, delivery.isRemembered)
        if isRemembered { memory.keep(publication.body, at: place, of: publication.topic) }
        publication.waitsHere = true
        listeners.wait(delivery) { topics, count in
            guard let publication = topics.underWay[number] else { return }
            publication.waitsHere = false
            publication.shares.add(.delivered(sessions: count, isRemembered: isRemembered))
            topics.finishIfComplete(publication)
        }
    }

    // MARK: Answers

    func answered(_ ticket: TopicTicket, by node: Node, _ answer: LinkAnswer) {
        switch ticket {
        case .memory: break
        case .whole(let number):
            guard let publication = underWay.removeValue(forKey: number) else { return }
            releaseBody(of: publication)
            publication.reply(answer)
        case .share(let number):
            guard let publication = underWay[number], publication.awaited.remove(node) != nil
            else { return }
            let share = TopicReceipt.share(in: answer)
            if share == .late, let place = TopicReceipt.place(in: answer) {
                order.learn(place, of: publication.topic)
            }
            if share == .refused { publication.refusal = answer }
            publication.shares.add(share)
            finishIfComplete(publication)
            acknowledgeDepartures()
        }
    }

    /// A link has ended, and there will be no answer.
    ///
    /// - Parameter isUnserved: Whether the value had no effect there.
    func lost(_ ticket: TopicTicket, at node: Node, isUnserved: Bool) {
        switch ticket {
        case .memory: break
        case .whole(let number):
            guard let publication = underWay.removeValue(forKey: number) else { return }
            if isUnserved {
                // For the next home.
                publication.refusing.insert(node)
                publication.deadline = .max
                let place = queue.firstIndex { $0.number > number } ?? queue.endIndex
                queue.insert(publication, at: place)
                advance(mayDial: true)
            } else {
                end(publication, .partly, .topicPartlyPublished(sessions: 0, missing: 1))
            }
        case .share(let number):
            guard let publication = underWay[number], publication.awaited.remove(node) != nil
            else { return }
            if isUnserved {
                publication.refusal = LinkAnswer(.problem(.topicUnavailable(.unreachable)))
            }
            publication.shares.add(isUnserved ? .refused : .unanswered)
            finishIfComplete(publication)
        }
    }

    /// A link has ended, or could not be made.
    ///
    /// - Parameter isGone: Whether the node's process has ended: its sessions run nowhere.
    func linkEnded(to node: Node, isGone: Bool) {
        let members = way.members
        if isGone, members[node]?.isLeaving ?? false {
            departures.begin(node, among: members, at: now)
            outgoing.startTimer()
        }
        if isGone, !departures.awaits(node) {
            for publication in queue { publication.gone.insert(node) }
        }
        endIntroductionIfDue()
        // Without dialling: a network that refuses at once would be asked as fast as it does.
        advance(mayDial: false)
    }

    private func finishIfComplete(_ publication: TopicPublication) {
        guard publication.isComplete else { return }
        underWay[publication.number] = nil
        switch publication.shares.outcome {
        case .published(let sessions):
            way.topics.count(.published)
            publication.reply(
                LinkAnswer(.json(200, TopicReceipt(sessions: sessions, isRemembered: nil))))
        case .unheard: end(publication, .refused, .unknownTopic(publication.topic))
        case .refused:
            way.topics.count(.refused)
            publication.reply(publication.refusal ?? LinkAnswer(.problem(.topicUnavailable(.late))))
        case .late: end(publication, .unavailable, .topicUnavailable(.late))
        case .partly(let sessions, let missing):
            end(publication, .partly, .topicPartlyPublished(sessions: sessions, missing: missing))
        }
    }

    private func end(
        _ publication: TopicPublication, _ outcome: TopicCounts.Outcome, _ problem: Problem
    ) {
        way.topics.count(outcome)
        releaseBody(of: publication)
        publication.reply(LinkAnswer(.problem(problem)))
    }

    /// Ends what is under way, because the server ends: no answer will come.
    func close() {
        let waiting = queue
        queue = []
        for publication in waiting { end(publication, .unavailable, .draining) }
        for publication in underWay.values {
            publication.expire()
            finishIfComplete(publication)
        }
        leaving?.done()
        leaving = nil
    }

    /// Whether values that were sent to a node have no answer.
    func isAwaiting(_ node: Node) -> Bool {
        underWay.values.contains { $0.awaited.contains(node) }
    }

    // MARK: Time

    func tick() {
        let now = now
        for publication in underWay.values where now >= publication.deadline {
            publication.expire()
            finishIfComplete(publication)
        }
        endIntroductionIfDue()
        refuseLateArrivals()
        advance(mayDial: true)
        followDepartures()
        endLeavingIfDue()
    }
}
