package import Cluster

/// Which node decides on a session, if several nodes write to one journal.
///
/// Design: a session's owner is a column of its row, with an epoch that counts changes of owner. A
/// node claims a session when it wakes, and gives it up when it sleeps. Appends name the epoch, so
/// the appends of a deposed owner are refused. The chain of records alone keeps the history
/// correct. Ownership keeps effects and sources from running twice.
///
/// Invariants: every reply comes exactly once, on any thread, never from inside the call.
package protocol Ownership: Sendable {
    var members: Members { get }

    /// Makes this node the owner of a session, and loads the session after the claim.
    ///
    /// Does not claim a session that another member owns, unless `deposed` names that owner. Leaves
    /// a session that this node cannot read to a member that can. A node that is about to end gives
    /// up a session that it owns, and names the session's home.
    ///
    /// - Precondition: This node does not have the session in memory or on its way to the journal.
    /// - Parameter deposed: An owner that is known to be gone or silent. If it is nil, claims only
    ///   a session that has no owner, or an owner that is not a member.
    func claim(
        _ session: String, deposing deposed: Node?, _ answer: @escaping ArchiveAnswer<Claim>)

    /// The same for a session that is to be deleted, which needs no program that can read it.
    /// Default: ``claim(_:deposing:_:)`` without a deposed owner.
    func claimForDeletion(_ session: String, _ answer: @escaping ArchiveAnswer<Claim>)

    /// The believed database, for reports to other nodes. Default: the members' database.
    var standing: DatabaseStanding { get }

    /// Another node believes this database. If it is newer than this node's, this node believes
    /// nothing, and does not count as heard of (``Members/isHeard``), until it has found it. If it
    /// is older and has what this node's lacks, another era begins. Default: does nothing.
    func hear(_ other: DatabaseStanding)

    /// Nodes that have used the journal lately, members or not, as its newest database lists them.
    /// One of them may believe another database. Default: none.
    var acquaintances: [Member] { get }

    /// Gives up sessions. A session that this node no longer owns at this epoch is skipped.
    func release(_ sessions: [OwnedSession], _ answer: @escaping ArchiveAnswer<Void>)

    /// Returns those of the sessions whose newest position, generation or owner is no longer the
    /// expected one, as of a moment after the call.
    func confirm(
        _ expected: [Confirmation], _ answer: @escaping ArchiveAnswer<[String: Change]>)

    /// As ``confirm(_:_:)``, for sessions that this node follows: the epoch may be any owner's, and
    /// an end is a change. While the journal cannot say what has changed: ``Change/undecided``.
    func changes(
        of followed: [Confirmation], _ answer: @escaping ArchiveAnswer<[String: Change]>)

    /// Reads generations that have ended, as long as the journal still has their records: the last
    /// one is the end. A generation whose id was used again since has none.
    var endedSessions: any HistoryArchive { get }

    /// Calls `changed` after each beat that shows other members, another era, or sessions of this
    /// node that have another owner. One caller.
    func watch(_ changed: @escaping @Sendable (OwnershipChange) -> Void)

    /// The milliseconds between two questions about a followed session whose owner reports new
    /// records. Default: a second.
    var followPause: Int64 { get }

    /// The milliseconds for which a session has to be unused before it goes to its home. A session
    /// that is in use stays where it is. Default: 30 s.
    var homeRest: Int64 { get }

    /// How long the link to a node may be silent before this node takes sessions from it by force.
    /// Default: a second.
    var silence: Duration { get }

    /// Announces to the other members that this node is about to end. From then on it is the home
    /// of no session, and claims none that another member can claim. Default: does nothing.
    func leave()
}

extension Ownership {
    package func leave() {}
    package var standing: DatabaseStanding { DatabaseStanding(members.database) }
    package func hear(_ other: DatabaseStanding) {}
    package var acquaintances: [Member] { [] }
    package var followPause: Int64 { 1_000 }
    package var homeRest: Int64 { 30_000 }
    package var silence: Duration { Suspicion.silence }

    package func claimForDeletion(_ session: String, _ answer: @escaping ArchiveAnswer<Claim>) {
        claim(session, deposing: nil, answer)
    }
}

package enum Claim: Sendable, Equatable {
    /// This node owns the session. ``SavedSession/epoch`` is the epoch of its ownership.
    case owned(SavedSession)
    /// Another member owns it. The traits are nil if the session was not looked up, because this
    /// node is about to end, or has given the session up for that member.
    case elsewhere(Node, SessionTraits?)
    /// No member can read it: none hosts its reactor with a `stateVersion` that is at least that of
    /// the newest snapshot. No node owns it.
    case noNode(SessionTraits, stateVersion: Int)
    /// There never was a session with this id.
    case nothing
    /// It was deleted.
    case ended
}

/// The traits of a session that decide which clients may know of it.
package struct SessionTraits: Sendable, Equatable {
    package var reactor: String
    /// The client that created it, if the server authenticates its clients.
    package var owner: ExactText?

    package init(reactor: String, owner: ExactText? = nil) {
        self.reactor = reactor
        self.owner = owner
    }
}

package struct OwnedSession: Sendable, Hashable {
    package var key: SessionKey
    package var epoch: Int64

    package init(_ key: SessionKey, epoch: Int64) {
        self.key = key
        self.epoch = epoch
    }
}

extension Batch {
    /// Names the ownership under which its parts, all of one session, were decided.
    package mutating func decide(under owned: OwnedSession) {
        for index in runs.indices { runs[index].epoch = owned.epoch }
        for index in expected.indices { expected[index].epoch = owned.epoch }
    }
}

/// The end of a session as this node has it in memory.
package struct Confirmation: Sendable, Equatable {
    package var key: SessionKey
    package var position: HistoryPosition
    /// The epoch if this node owns the session; nil for a copy. For a followed session, the last
    /// known epoch; nil if none is known, which differs from every epoch.
    package var epoch: Int64?

    package init(_ key: SessionKey, at position: HistoryPosition, epoch: Int64? = nil) {
        self.key = key
        self.position = position
        self.epoch = epoch
    }
}

/// The present end of a session that is no longer as this node has it.
package struct Change: Sendable, Equatable {
    /// Nil: there is no such session, or it was deleted.
    package var head: SavedHead?
    package var owner: Node?
    /// For a followed session: counts the changes of its owner.
    package var epoch: Int64
    /// The record that ends a followed generation, while the journal has that record.
    package var end: UInt64?
    /// False if the change may not last. Then this value does not contain what has changed.
    package private(set) var isDecided = true

    package init(head: SavedHead?, owner: Node?, epoch: Int64 = 0, end: UInt64? = nil) {
        self.head = head
        self.owner = owner
        self.epoch = epoch
        self.end = end
    }

    /// The change of a followed session while nothing of the change may be shown.
    package static var undecided: Change {
        var change = Change(head: nil, owner: nil)
        change.isDecided = false
        return change
    }
}

/// The news of a beat.
package struct OwnershipChange: Sendable, Equatable {
    package var members: Members
    /// Sessions of this node that have another owner by now.
    package var deposed: [OwnedSession]

    package init(members: Members, deposed: [OwnedSession] = []) {
        self.members = members
        self.deposed = deposed
    }
}
