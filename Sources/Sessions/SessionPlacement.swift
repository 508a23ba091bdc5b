package import Feeds
package import Storage

/// Decides which sessions of the journal a table may have, if other processes write to the journal,
/// too. The table of a process that is alone has no placement: it takes what the journal has.
///
/// Design: sessions and feeds do not know how processes agree. A table asks here when a session
/// comes into memory, is committed, or leaves memory, and gets values of its own: a
/// ``SessionLookup``, a saved session, a batch. No call is made for a record.
///
/// All methods are called on the loop of the table.
package protocol SessionPlacement: AnyObject {
    /// Whether another process hosts the reactor.
    func isHostedElsewhere(_ reactor: String) -> Bool

    // MARK: Coming into memory

    /// Whether this loop may claim or create another session.
    var hasRoom: Bool { get }

    /// Loads a session if this process may have it. Ends the load with
    /// ``SessionLoader/finish(_:_:_:)``.
    func load(_ id: SessionID, by loader: SessionLoader)

    /// Finds the end of a session that is to be deleted without being loaded. Continues with
    /// ``SessionDeleter/commitEnd(of:_:under:)``, or ends the deletion.
    func delete(_ id: SessionID, by deleter: SessionDeleter)

    /// This process creates the session, and has decided nothing of it yet.
    func creates(_ session: Session, in table: SessionTable)

    /// Finds a session for a request that only reads.
    func find(_ id: SessionID, _ read: SessionRead, in table: SessionTable)

    /// Finds a session for a stream.
    func find(_ id: SessionID, _ stream: StreamLookup, in table: SessionTable)

    // MARK: Commits

    /// Adds to a step's batch what the journal needs to accept it.
    func stamp(_ batch: inout Batch, of step: Step)

    /// The step is committed.
    func committed(_ step: Step)

    /// Sends what was gathered in this round. Called once a round.
    func flush(in table: SessionTable)

    // MARK: Leaving memory

    /// This process gives up a session, which leaves memory. Called before that.
    func giveUp(_ session: Session)

    /// The same for a session that is not in memory.
    func giveUp(_ session: OwnedSession)

    /// The journal has refused a step, because another process decides on its session. Called
    /// before the session leaves memory.
    func countMoved()

    /// The session is not in memory any more, or has ended.
    func left(_ id: SessionID)

    /// The idle sessions are about to be examined.
    func tickBegan()

    /// The table stops.
    func removeAll()

    // MARK: Readers without a session

    /// The number of questions to the journal that were sent for such readers.
    var questions: UInt64 { get }

    /// A session's state has left memory, and its readers continue from the journal. If there are
    /// no readers, the table forgets the feed.
    func carryOn(_ feed: Feed, in table: SessionTable)

    /// A reader needs the present state.
    func loadState(of feed: Feed)

    /// The table has forgotten the feed.
    func forgot(_ feed: Feed)

    /// The presence of a feed has changed. Called at most once a second for a feed.
    func presenceChanged(_ feed: Feed)

    // MARK: Parts

    /// Sends a part's action to its parent.
    ///
    /// - Returns: false if the parent can only be in this process.
    func send(_ action: PartAction) -> Bool
}
