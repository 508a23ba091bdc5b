package import Cluster
package import Feeds
package import Sessions
internal import Storage

/// The links on which the owners of sessions say that these have new records (ADR-0052).
///
/// A hint is a reason to ask the journal, and nothing that is shown depends on it. So hints may be
/// lost, late or doubled, and may be those of a node that owns the session no longer.
///
/// All methods are called on the loop of the sessions.
package protocol SessionHints: AnyObject {
    /// Asks a session's owner for hints. The first one comes at once. An earlier wish for hints of
    /// the session is void, whichever node had it.
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
    /// A session's owner says that this is the newest position. Sessions that are not
    /// followed are skipped.
    package func hint(_ id: SessionID, at end: CommittedEnd) {
        cluster?.followed.hint(id, at: end, in: self)
    }

    /// A session's owner has committed these records. They are a hint to a node that is not
    /// where they begin.
    package func receive(_ id: SessionID, _ records: CommittedRecords, from owner: Node) {
        cluster?.followed.receive(id, records, from: owner, in: self)
    }

    /// The owners send no hints of these sessions: the link has ended, or the node does not
    /// own the session.
    package func hintsEnded(of ids: some Sequence<SessionID>) {
        for id in ids { cluster?.followed.hintsEnded(of: id, in: self) }
    }
}
