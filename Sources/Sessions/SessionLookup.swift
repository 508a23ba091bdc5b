package import Storage

/// The result of looking for a session.
package enum SessionLookup {
    case session(Session)
    /// It was deleted.
    case ended
    case nothing
    /// The journal may have it: ``SessionTable/wake(_:then:)``.
    case notInMemory
    /// It is there, and today's code can't rebuild it.
    case quarantined(RecoveryFault)
    /// The journal can't be read.
    case unreadable(JournalFailure)
    /// It is in the journal, and memory holds as many sessions as it may.
    case noRoom
}
