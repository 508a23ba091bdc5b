internal import Feeds
package import Storage

/// The loads and the deletions of sessions that are not in memory, while they wait for the journal.
///
/// Invariant: a session has at most one operation. So a session that was read before its deletion
/// cannot be brought back after it.
struct PendingOperations {
    struct Operation {
        /// The callers that want the session deleted; the first one began the deletion. Empty for a
        /// load.
        fileprivate(set) var deleters: [(DeletionOutcome) -> Void] = []
        /// The callers that want the session. Bound: about twice those that still do.
        fileprivate(set) var callers: [Caller] = []
        /// Before there are more callers, those that have left are dropped.
        fileprivate var callerLimit = 64
        /// The owner of a session whose end is being committed.
        fileprivate(set) var owner: ExactText?
    }

    /// A caller that wants a session.
    struct Caller {
        /// Whether it still waits; if not, `act` may not be called.
        let isWanted: () -> Bool
        let act: (SessionLookup) -> Void
    }

    private var byID: [SessionID: Operation] = [:]

    /// The number of sessions that are being loaded or deleted.
    var count: Int { byID.count }

    func isLoading(_ id: SessionID) -> Bool { byID[id]?.deleters.isEmpty == true }

    func isDeleting(_ id: SessionID) -> Bool { byID[id]?.deleters.isEmpty == false }

    /// Adds a caller that wants the session.
    ///
    /// - Returns: whether the caller has to begin the load: no operation is under way.
    mutating func addCaller(
        of id: SessionID, while isWanted: @escaping () -> Bool = { true },
        _ act: @escaping (SessionLookup) -> Void
    ) -> Bool {
        let isFirst = byID[id] == nil
        byID[id, default: Operation()].add(Caller(isWanted: isWanted, act: act))
        return isFirst
    }

    /// Adds a caller that wants the session deleted.
    ///
    /// - Precondition: the session is not being loaded.
    /// - Returns: whether the caller has to begin the deletion.
    mutating func addDeleter(_ act: @escaping (DeletionOutcome) -> Void, of id: SessionID) -> Bool {
        let isFirst = byID[id] == nil
        byID[id, default: Operation()].deleters.append(act)
        return isFirst
    }

    mutating func setOwner(_ owner: ExactText?, of id: SessionID) { byID[id]?.owner = owner }

    func owner(of id: SessionID) -> ExactText? { byID[id]?.owner }

    /// Ends the operation.
    mutating func remove(_ id: SessionID) -> Operation? { byID.removeValue(forKey: id) }

    mutating func removeAll() { byID = [:] }
}

extension PendingOperations.Operation {
    fileprivate mutating func add(_ caller: PendingOperations.Caller) {
        if callers.count >= callerLimit {
            callers.removeAll { !$0.isWanted() }
            callerLimit = max(64, 2 * callers.count)
        }
        callers.append(caller)
    }
}

/// The outcome of a deletion.
package enum DeletionOutcome {
    /// The end is committed.
    case deleted
    /// Another caller was first, or the session is in memory by now.
    case overtaken(SessionLookup)
    /// The session's position in the journal cannot be read; nothing happened.
    case unreadable(JournalFailure)
    /// The commit failed.
    case failed(JournalFailure)
}
