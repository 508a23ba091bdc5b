import ArgumentParser

/// A fault that `cluster` inflicts, from which nobody may lose anything.
enum ClusterFault: String, CaseIterable, ExpressibleByArgument {
    /// SIGKILL for a node, which is started again two seconds later.
    case kill
    /// SIGSTOP for a node, for half a second to eight seconds.
    case pause
    /// SIGTERM for each node in turn, which is started again when it has ended.
    case roll
    /// A crash of the database, which starts again.
    case restart
    /// A crash of the database, whose synchronous standby is promoted.
    case failover
    /// The connections of the nodes are ended, in the middle of their statements.
    case terminate
    /// The statements of the nodes are cancelled, commits that wait for the standby among them.
    case cancel
    /// The rows of all sessions are locked for three seconds.
    case lock
    /// No packet passes between a node and the other nodes, for half a second to eight seconds.
    case isolate
    /// A node gets no packet of the other nodes, which get its own, for half a second to
    /// eight seconds.
    case deafen
    /// No packet passes between a node and the databases, for half a second to fifteen seconds.
    case sever
    /// No packet passes between the primary and its standby, for half a second to eight seconds:
    /// commits wait.
    case detach

    /// The standby is promoted while the primary runs. One node reaches only the new primary, the
    /// others only the former one, and the nodes reach each other. Then all reach both, a node is
    /// killed and started again, and finally the former primary is stopped. The standby has
    /// everything that was acknowledged: otherwise its promotion would lose commits, and the
    /// ledgers of the run would count them (ADR-0067).
    case split

    /// A node sends at most 32 000 bytes a second: packets are late by up to half a second, others
    /// are lost. For half a second to eight seconds.
    case slow
    /// A node loses every tenth packet that comes, for half a second to eight seconds.
    case lossy

    /// Those that drop or delay packets.
    var needsNetwork: Bool {
        switch self {
        case .isolate, .deafen, .sever, .detach, .split, .slow, .lossy: true
        case .kill, .pause, .roll, .restart, .failover, .terminate, .cancel, .lock: false
        }
    }

    /// Whether it concerns one node; else all of them, or the databases.
    var concernsNode: Bool {
        switch self {
        case .kill, .pause, .isolate, .deafen, .sever, .slow, .lossy: true
        case .roll, .restart, .failover, .terminate, .cancel, .lock, .detach, .split: false
        }
    }
}
