package import Cluster
package import Feeds
package import Sessions
internal import Storage

/// The links over which the owners of sessions report new records (ADR-0052).
///
/// A hint is only a reason to ask the journal. So hints may be lost, late or repeated, and may come
/// from a former owner.
///
/// All methods are called on the loop of the sessions.
package protocol SessionHints: AnyObject {
    /// Asks a session's owner for hints. The first one arrives at once. Replaces an earlier request
    /// for hints of the session, even one to another node.
    func follow(_ session: SessionID, at owner: Node)

    /// Ends the request for hints of the session.
    func unfollow(_ session: SessionID)

    /// Whether another node gets hints of the session, and the records with them.
    func wantsRecords(of session: SessionID) -> Bool

    /// A step of a session that this node owns was committed.
    ///
    /// - Parameter records: Nil if the other nodes have to ask the journal.
    func committed(_ session: Session, _ records: CommittedRecords?)

    /// A session that this node may have owned has left memory.
    func left(_ session: SessionID)

    /// The presence of a session has changed at this node.
    func presenceChanged(_ feed: Feed)
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
        guard let session = awake(id), session.isRunning, !session.isBeingCreated,
            session.ownership != nil
        else { return nil }
        return session.committedEnd
    }
}

// The side of a node that follows.
extension SessionTable {
    /// A session's owner reports its newest position. Sessions that are not followed are skipped.
    package func hint(_ id: SessionID, at end: CommittedEnd) {
        cluster?.followed.hint(id, at: end, in: self)
    }

    /// A session's owner has committed these records. If this node has not reached the position
    /// where they begin, they count only as a hint.
    package func receive(_ id: SessionID, _ records: CommittedRecords, from owner: Node) {
        cluster?.followed.receive(id, records, from: owner, in: self)
    }

    /// No more hints of these sessions arrive: the link has ended, or the node at its other end
    /// does not own them.
    package func hintsEnded(of ids: some Sequence<SessionID>) {
        for id in ids { cluster?.followed.hintsEnded(of: id, in: self) }
    }
}
