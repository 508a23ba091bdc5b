package import Cluster
package import Storage

/// The links on which the owners of sessions say that these have new records (ADR-0052).
///
/// A hint is a reason to ask the journal, and nothing that is shown depends on it. So hints may be lost, late
/// or doubled, and may be those of a node that owns the session no longer.
///
/// All methods are called on the loop of the sessions.
package protocol SessionHints: AnyObject {
    /// Asks a session's owner for hints. The first one comes at once. An earlier wish for hints of the session
    /// is void, whichever node had it.
    func follow(_ session: SessionID, at owner: Node)

    /// No hints of the session are wanted.
    func unfollow(_ session: SessionID)

    /// Whether another node gets hints of the session, and the records with them.
    func wantsRecords(of session: SessionID) -> Bool

    /// Something of a session was committed that this node owns.
    ///
    /// - Parameter records: Nil: the others have to ask the journal.
    func committed(_ session: Session, _ records: CommittedRecords?)

    /// A session has left memory, which this node may have owned.
    func left(_ session: SessionID)
}

/// The newest committed position of a session, as its owner has it.
package struct CommittedEnd: Equatable, Sendable {
    package var generation: String
    package var position: HistoryPosition

    package init(_ generation: String, _ position: HistoryPosition) {
        self.generation = generation
        self.position = position
    }
}

extension Session {
    package var committedEnd: CommittedEnd {
        CommittedEnd(key.generation, history.committed.position)
    }
}

// The side of the owner.
extension SessionTable {
    /// The newest position of a session that this node owns; nil if it does not.
    package func ownedEnd(of id: SessionID) -> CommittedEnd? {
        guard let session = sessions[id], session.isRunning, !session.isBeingCreated,
            session.persistence?.epoch ?? 0 > 0
        else { return nil }
        return session.committedEnd
    }
}

// The side of a node that follows.
extension SessionTable {
    /// A session's owner says that this is the newest position. Sessions that are not followed are skipped.
    package func hint(_ id: SessionID, at end: CommittedEnd) {
        followed?.hint(id, at: end, in: self)
    }

    /// A session's owner has committed these records. They are a hint to a node that is not where they begin.
    package func receive(_ id: SessionID, _ records: CommittedRecords, from owner: Node) {
        followed?.receive(id, records, from: owner, in: self)
    }

    /// The owners send no hints of these sessions: the link has ended, or the node does not own the session.
    package func hintsEnded(of ids: some Sequence<SessionID>) {
        for id in ids { followed?.hintsEnded(of: id, in: self) }
    }
}

/// The hints of a session that is followed.
struct FollowedHints {
    /// The wish for hints that was sent last.
    private struct Wish {
        let owner: Node
        let epoch: Int64
        /// By ``LoopServices/uptime``.
        var sent: Int64
        var isGranted = false
    }

    private var wish: Wish?
    /// Whether a hint has come that no answered question was sent after.
    var isDue = false

    /// A node that was asked and that refused, or whose link has ended, is asked again after this time, in
    /// milliseconds.
    private static let pause: Int64 = 1_000

    /// Whether the owner of that epoch sends hints.
    func areComing(in epoch: Int64?) -> Bool {
        wish.map { $0.isGranted && $0.epoch == epoch } ?? false
    }

    enum Step { case nothing, follow(Node), unfollow }

    /// The next step, so that hints come from the session's owner.
    ///
    /// - Parameters:
    ///   - owner: Another node; nil: there are no hints.
    ///   - epoch: Counts the changes of the owner.
    mutating func next(_ owner: Node?, _ epoch: Int64?, _ now: Int64) -> Step {
        guard let owner, let epoch else {
            defer { wish = nil }
            return wish == nil ? .nothing : .unfollow
        }
        if let wish, wish.epoch == epoch, wish.owner == owner,
            wish.isGranted || now - wish.sent < Self.pause
        {
            return .nothing
        }
        wish = Wish(owner: owner, epoch: epoch, sent: now)
        return .follow(owner)
    }

    /// A hint has come.
    mutating func come() { wish?.isGranted = true }

    /// No hints come any more.
    mutating func end(_ now: Int64) {
        wish?.isGranted = false
        wish?.sent = now
    }
}
