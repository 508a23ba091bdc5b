/// Members that end in an orderly way. Until the sessions of such a node are awake at other
/// members, nothing is published to all nodes, because those sessions would miss it. This wait has
/// a time limit.
///
/// Bounds: only members are noted, and no wait exceeds the two limits.
package struct Departures: Sendable {
    /// The time from a node's announcement to its end.
    package static let endLimitNanoseconds: Int64 = 15_000_000_000
    /// The time in which its sessions wake at other members, after it is a member no more.
    package static let wakeLimitNanoseconds: Int64 = 10_000_000_000

    private enum Phase {
        /// The node is a member.
        case ending(since: Int64)
        /// It is none, so that others may claim its sessions.
        case gone(since: Int64)
        /// It takes too long to end, and is a member like others until it does.
        case late
    }

    private var phases: [Node: Phase] = [:]
    /// The members that were about to end when they were last observed.
    private var leavers: Set<Node> = []

    package init() {}

    package var isEmpty: Bool { phases.isEmpty }

    /// Whether nothing is published.
    package var areAwaited: Bool {
        phases.values.contains { if case .late = $0 { false } else { true } }
    }

    /// The nodes whose sessions other members are waking.
    package var gone: Set<Node> {
        Set(phases.compactMap { if case .gone = $0.value { $0.key } else { nil } })
    }

    /// Whether the node has said that it ends.
    package func contains(_ node: Node) -> Bool { phases[node] != nil }

    /// Whether nothing is published because of this node.
    package func awaits(_ node: Node) -> Bool {
        switch phases[node] {
        case .ending?, .gone?: true
        case .late?, nil: false
        }
    }

    /// A member has said that it ends, or it was about to and its process has ended.
    package mutating func begin(_ node: Node, among members: Members, at now: Int64) {
        guard phases[node] == nil, members[node] != nil, node != members.own.node else { return }
        phases[node] = .ending(since: now)
    }

    /// Time has passed, or the members have changed.
    package mutating func observe(_ members: Members, at now: Int64) {
        // Without the database nobody knows which nodes have ended.
        guard members.isHeard else { return }
        // One that has never said so here.
        for node in leavers where phases[node] == nil && members[node] == nil {
            phases[node] = .gone(since: now)
        }
        leavers = Set(members.others.filter(\.isLeaving).map(\.node))
        for (node, phase) in phases {
            let isMember = members[node] != nil
            switch phase {
            case .ending where !isMember, .late where !isMember:
                phases[node] = .gone(since: now)
            case .ending(let since) where now - since >= Self.endLimitNanoseconds:
                phases[node] = .late
            case .gone(let since) where now - since >= Self.wakeLimitNanoseconds:
                phases[node] = nil
            case .ending, .gone, .late: break
            }
        }
    }

    /// The sessions of these nodes, which were ``gone``, are awake.
    package mutating func end(_ nodes: Set<Node>) {
        for node in nodes {
            if case .gone? = phases[node] { phases[node] = nil }
        }
    }
}
