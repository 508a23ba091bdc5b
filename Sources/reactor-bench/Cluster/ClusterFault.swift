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
}
