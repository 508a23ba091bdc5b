internal import Sessions
internal import Storage

/// This node's right to decide on a session, from its load until it leaves memory.
final class Tenure {
    /// Counts the changes of the session's owner.
    let epoch: Int64
    /// When this node sent the last question that the journal answered with "memory has the newest
    /// state"; by ``LoopServices/uptime``.
    var confirmed: Int64
    /// When the session was found unused, by the same clock.
    var unusedSince: Int64 = 0

    init(epoch: Int64, confirmed: Int64) {
        self.epoch = epoch
        self.confirmed = confirmed
    }
}

extension Session {
    /// Nil if the session is not in memory.
    var tenure: Tenure? { persistence?.placed as? Tenure }

    /// Nil if no node owns the session.
    var ownership: OwnedSession? {
        guard let epoch = tenure?.epoch, epoch > 0 else { return nil }
        return OwnedSession(key, epoch: epoch)
    }
}
