package import Cluster
package import Feeds
package import Storage

/// The result of looking for a session.
package enum SessionLookup {
    case session(Session)
    /// Another node decides on the session, or no node does. The copy is for a request that only
    /// reads.
    case copy(SessionCopy)
    /// The session was deleted.
    case ended
    case nothing
    /// The journal may have the session: ``SessionTable/wake(_:then:)``.
    case notInMemory
    /// The session exists, but the present code cannot rebuild it.
    case quarantined(RecoveryFault)
    /// The journal cannot be read.
    case unreadable(JournalFailure)
    /// Another node decides on the session. The traits are nil if it is not known whether
    /// there is one.
    case elsewhere(Member, SessionTraits?)
    /// No node of the cluster can read the session: none hosts its reactor, or only with an older
    /// version of its state than this.
    case noNode(SessionTraits, stateVersion: Int)
    /// The session is in the journal, and the maximum number of sessions is in memory.
    case noRoom
    /// The work budget has no room for a copy of the session.
    case overBudget

    /// The session, for a request that only reads it.
    package var readable: (any ReadableSession)? {
        switch self {
        case .session(let session): session
        case .copy(let copy): copy
        default: nil
        }
    }
}
