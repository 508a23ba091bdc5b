package import Cluster

/// Finds the sessions that act without a request: the effects of their actions were running at the
/// last commit, they listened to sources, or they have timers.
///
/// Invariants: the reply comes exactly once, on any thread, never from inside the call. The search
/// uses indexes: other sessions cost nothing.
package protocol WorkFinder: Sendable {
    /// Examines the next sessions, in an order that never changes.
    ///
    /// Sessions that a member of the cluster owns are skipped.
    ///
    /// - Parameters:
    ///   - place: ``FoundWork/next`` of the page before; 0: from the beginning.
    func findWork(after place: Int64, _ answer: @escaping ArchiveAnswer<FoundWork>)

    /// Examines the next timers that are due before a time, in the order in which they are due.
    ///
    /// For ``TimerKind/actions``, skips the sessions that a member of the cluster owns, because
    /// that member has them in memory.
    ///
    /// - Parameters:
    ///   - place: ``FoundTimers/next`` of the previous page, or ``TimerPosition/start``.
    ///   - end: milliseconds since 1970 (UTC).
    func findTimers(
        _ kind: TimerKind, after place: TimerPosition, before end: Int64,
        _ answer: @escaping ArchiveAnswer<FoundTimers>)
}

/// A page of sessions that act without a request.
package struct FoundWork: Sendable, Equatable {
    /// The most sessions that are examined for a page.
    package static let limit = 256

    package var sessions: [WorkingSession]
    /// The place where the next page begins; nil: there is none.
    package var next: Int64?

    package init(sessions: [WorkingSession] = [], next: Int64? = nil) {
        self.sessions = sessions
        self.next = next
    }
}

/// A session that acts without a request.
package struct WorkingSession: Sendable, Equatable {
    package var session: String
    package var reactor: String
    /// Of its newest snapshot.
    package var stateVersion: Int
    /// The member that owns the session; nil if none does, or if the search skips owned sessions.
    package var owner: Node?

    package init(session: String, reactor: String, stateVersion: Int, owner: Node? = nil) {
        self.owner = owner
        self.session = session
        self.reactor = reactor
        self.stateVersion = stateVersion
    }
}
