internal import Cluster
internal import Reactors
internal import Sockets
internal import Wire

// Values that other nodes send, and links to nodes that join.
extension ClusterTopics {
    /// A value has come on a link. It is answered once.
    func receive(_ publication: LinkPublication, from origin: ForwardOrigin) {
        guard publication.place > 0 else {
            // The other node asks the next home.
            if way.isEnding { return incoming.answer(origin, movedTo: nil) }
            return publish(publication.body, to: publication.topic, isFromNode: true) {
                [incoming] in incoming.answer(origin, $0)
            }
        }
        let topic = publication.topic
        guard order.admit(publication.place, of: topic) else {
            return incoming.answer(origin, TopicReceipt.late(order.newest(of: topic)))
        }
        let arrival = TopicArrival(publication: publication, origin: origin)
        guard arrivals.add(arrival, bytes: publication.body.count, at: now) else {
            return incoming.answer(origin, LinkAnswer(.problem(.tooManyPublications)))
        }
        outgoing.startTimer()
        deliverArrivals()
    }

    /// Delivers the values that have come, when the sessions that are being loaded are awake.
    private func deliverArrivals() {
        guard arrivals.beginWait() else { return advance(mayDial: false) }
        listeners.load { topics in
            for arrival in topics.arrivals.endWait() { topics.deliver(arrival) }
            topics.deliverArrivals()
        }
    }

    /// Refuses the values that have waited too long for sessions that are being loaded.
    func refuseLateArrivals() {
        for arrival in arrivals.expire(at: now) {
            incoming.answer(arrival.origin, LinkAnswer(.problem(.topicUnavailable(.late))))
        }
    }

    private func deliver(_ arrival: TopicArrival) {
        let (publication, origin) = (arrival.publication, arrival.origin)
        let topic = publication.topic
        switch listeners.deliver(topic, publication.body) {
        case .failure(let problem): incoming.answer(origin, LinkAnswer(.problem(problem)))
        case .success(nil):
            incoming.answer(origin, LinkAnswer(.problem(.unknownTopic(topic))))
        case .success(let delivery?):
            let isRemembered = delivery.isRemembered
            if isRemembered { memory.keep(publication.body, at: publication.place, of: topic) }
            listeners.wait(delivery) { topics, count in
                let receipt = TopicReceipt(sessions: count, isRemembered: isRemembered)
                topics.incoming.answer(origin, LinkAnswer(.json(200, receipt)))
            }
        }
    }

    /// A message has arrived from another node. The first time, that node gets the values that it
    /// may lack because it has just joined, or could not be reached.
    func heard(on link: OutgoingConnection) {
        guard link.far.loop == OutgoingLinks.FarEnd.topicLoop,
            link.machine.features?.contains(.topics) ?? false
        else { return }
        if !link.hasTopics {
            // If there is no room for all values, all of them are sent again with the next message
            // that arrives. The node drops those that it has.
            link.hasTopics = memory.all.allSatisfy { topic, value in
                let message = LinkPublication(
                    place: value.place, topic: topic, body: value.body)
                return outgoing.send(message, as: .memory, on: link)
            }
        }
        acknowledgeDepartures()
        endIntroductionIfDue()
        advance(mayDial: false)
    }

    /// Lets the members know this node, before it has sessions that listen: from then on they wait
    /// until they can send it what they publish.
    ///
    /// - Parameter done: Called once, on this loop, when they do, or have not answered in time.
    func introduce(then done: @escaping () -> Void) {
        guard listeners.areExpected else { return done() }
        introduction = (now + Self.introductionLimitNanoseconds, done)
        dialled = [:]
        dialMembers()
        outgoing.startTimer()
        endIntroductionIfDue()
    }

    func endIntroductionIfDue() {
        guard let present = introduction else { return }
        let members = way.members
        let isWaiting = members.others.contains { member in
            let far = OutgoingLinks.FarEnd(topicsAt: member)
            return far.flatMap { outgoing.links[$0] }.map { $0.machine.features == nil } ?? false
        }
        guard !isWaiting && members.isHeard || now >= present.deadline else { return }
        introduction = nil
        present.done()
    }

    /// Keeps links to all members, so that they know this node, and get its values, before one
    /// is published.
    func dialMembers() {
        let members = way.members
        noteMembers(members)
        guard listeners.areExpected, !outgoing.isClosed else { return }
        for member in members.others {
            guard let far = OutgoingLinks.FarEnd(topicsAt: member), outgoing.links[far] == nil,
                let address = LinkAddress(member.address)
            else { continue }
            if let last = dialled[member.node], table.now - last < Self.dialPause { continue }
            dialled[member.node] = table.now
            _ = outgoing.open(far, address)
        }
    }

    /// Whether a node listens that this one cannot send to yet.
    func hasNewcomer(_ members: Members) -> Bool {
        noteMembers(members)
        let recent = incoming.links.values.filter {
            // One that is silent keeps no value from the others.
            !$0.isSilent(for: Self.newcomerSilence, at: table.now)
        }
        return newcomers.areAmong(Set(recent.map(\.peer.node)))
    }

    private func noteMembers(_ members: Members) {
        newcomers.observe(members, linked: Set(incoming.links.values.map(\.peer.node)))
        observeDepartures(members)
        dialled = dialled.filter { members[$0.key] != nil }
    }
}

extension OutgoingLinks.FarEnd {
    /// The loop that all topics are published on.
    static let topicLoop = 0

    /// Nil for a member without links.
    init?(topicsAt member: Member) {
        guard member.loops > 0, !member.address.isEmpty else { return nil }
        self.init(node: member.node, loop: Self.topicLoop)
    }
}

extension OutgoingLinks {
    /// - Returns: False if nothing was sent.
    func send(
        _ publication: LinkPublication, as ticket: TopicTicket, on link: OutgoingConnection
    ) -> Bool {
        guard let stream = link.machine.send(publication) else { return false }
        link.publications[stream] = ticket
        markUnsent(link.socket)
        return true
    }

    func answered(_ stream: UInt32, _ answer: LinkAnswer, on link: OutgoingConnection) {
        guard let ticket = link.publications.removeValue(forKey: stream) else { return }
        topics?.answered(ticket, by: link.far.node, answer)
    }

    /// The other node has not served the value.
    func lost(_ stream: UInt32, on link: OutgoingConnection) {
        guard let ticket = link.publications.removeValue(forKey: stream) else { return }
        topics?.lost(ticket, at: link.far.node, isUnserved: true)
    }

    /// The link has ended.
    func endPublications(on link: OutgoingConnection, areUnserved: Bool, isGone: Bool) {
        guard let topics, link.far.loop == FarEnd.topicLoop else { return }
        let tickets = link.publications.values
        link.publications = [:]
        for ticket in tickets {
            topics.lost(ticket, at: link.far.node, isUnserved: areUnserved)
        }
        topics.linkEnded(to: link.far.node, isGone: isGone)
    }
}
