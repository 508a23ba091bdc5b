import Cluster

/// A message about a value of a topic, of which there is one.
enum TopicLetter {
    /// For the sessions of the node.
    case value(Int, place: UInt64)
    /// The newest value that a node remembers.
    case memory(Int, place: UInt64)
    case receipt(Int, TopicShares.Share, newest: UInt64)

    var mayComeTwice: Bool { if case .memory = self { true } else { false } }
}

/// The part of a process that has to do with topics.
final class TopicEnd {
    var order = TopicOrder()
    /// The values that its sessions have got, in order.
    var delivered: [Int] = []
    var newest: (value: Int, place: UInt64)?
    var newcomers = Newcomers()
    /// Its clock is wrong by as much, in microseconds.
    let error: Int64

    init(error: Int64) { self.error = error }
}

/// The values that clients have published. The links deliver their letters in any order,
/// or not at all.
struct TopicLife {
    struct Publication {
        var value: Int
        var shares = TopicShares()
        /// The nodes whose sessions have to get it.
        var targets: Set<Node>
        var awaited: Set<Node>
    }

    static let topic = "news"

    /// Whether a node looks at a value's place before it delivers the value.
    var hasOrder = true
    var publications: [Publication] = []
    /// The values of each process, also of those that have ended.
    var ends: [(node: Node, end: TopicEnd)] = []
}

extension ClusterSimulation {
    // MARK: Steps

    /// A client publishes a value at any node, which takes it to the home that it believes in.
    func publish(at asked: Process) {
        let members = asked.node.members
        guard let home = members.home(of: TopicLife.topic),
            let process = processes.first(where: { $0.node.node == home }),
            !process.isPaused, !asked.isPaused
        else { return }
        publish(asHome: process)
    }

    private func publish(asHome home: Process) {
        let (own, members, end) = (home.node.node, home.node.members, home.topics)
        let linked = Set(processes.map(\.node.node.number)).subtracting([own.number])
        end.newcomers.observe(members, linked: linked)
        // It waits until the node is a member.
        guard !end.newcomers.areAmong(linked) else { return }
        let value = topics.publications.count
        let place = end.order.next(of: TopicLife.topic, at: time * 1_000 + end.error)
        guard deliver(value, at: place, to: home) else { return }
        // Those that are gone refuse the connection.
        let others = members.others.map(\.node).filter { linked.contains($0.number) }
        var publication = TopicLife.Publication(
            value: value, targets: Set(others + [own]), awaited: Set(others))
        publication.shares.add(.delivered(sessions: 1, isRemembered: true))
        topics.publications.append(publication)
        for other in others.sorted(by: { $0.number < $1.number }) {
            links.send(.value(value, place: place), from: own, to: other)
        }
    }

    /// A link is made again, and its node sends what it remembers.
    func remind(at process: Process) {
        guard !process.isPaused, let newest = process.topics.newest else { return }
        let other = processes[number(0..<processes.count)].node.node
        guard other != process.node.node else { return }
        links.send(.memory(newest.value, place: newest.place), from: process.node.node, to: other)
    }

    func receive(_ letter: TopicLetter, from sender: Node, at process: Process) {
        switch letter {
        case .value(let value, let place):
            let isDelivered = deliver(value, at: place, to: process)
            let share: TopicShares.Share =
                isDelivered ? .delivered(sessions: 1, isRemembered: true) : .late
            links.send(
                .receipt(
                    value, share, newest: process.topics.order.newest(of: TopicLife.topic)),
                from: process.node.node, to: sender)
        case .memory(let value, let place): _ = deliver(value, at: place, to: process)
        case .receipt(let value, let share, let newest):
            guard topics.publications[value].awaited.remove(sender) != nil else { return }
            topics.publications[value].shares.add(share)
            process.topics.order.learn(newest, of: TopicLife.topic)
        }
    }

    private func deliver(_ value: Int, at place: UInt64, to process: Process) -> Bool {
        let isNext = process.topics.order.admit(place, of: TopicLife.topic)
        guard isNext || !topics.hasOrder else { return false }
        process.topics.delivered.append(value)
        process.topics.newest = (value, place)
        return true
    }

    // MARK: The oracle

    func checkTopics() {
        for (node, end) in topics.ends {
            if Set(end.delivered).count != end.delivered.count {
                violations.append("the node \(node.number) has delivered a value twice")
            }
            for other in topics.ends where other.node.number > node.number {
                checkOrder(end.delivered, other.end.delivered)
            }
        }
        for var publication in topics.publications {
            for _ in publication.awaited { publication.shares.add(.unanswered) }
            let reached = topics.ends.filter { $0.end.delivered.contains(publication.value) }
            let nodes = Set(reached.map(\.node))
            switch publication.shares.outcome {
            case .published(let sessions):
                if !nodes.isSuperset(of: publication.targets)
                    || sessions != publication.targets.count
                {
                    violations.append("a value is acknowledged, and a node does not have it")
                }
            case .partly: break
            case .unheard, .refused, .late:
                violations.append("its home has delivered a value that it denies")
            }
        }
    }

    /// The values that both have delivered are in one order.
    private func checkOrder(_ one: [Int], _ other: [Int]) {
        let both = Set(one).intersection(other)
        if one.filter(both.contains) != other.filter(both.contains) {
            violations.append("two nodes have delivered values in different orders")
        }
    }

    /// The numbers of values that all nodes have, and of those that perhaps not all have.
    var published: (whole: Int, partly: Int) {
        let whole = topics.publications.count { publication in
            guard case .published = publication.shares.outcome else { return false }
            return publication.awaited.isEmpty
        }
        return (whole, topics.publications.count - whole)
    }
}
