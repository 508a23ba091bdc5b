package import Storage
internal import Synchronization

/// The number of sessions that each client owns, on all loops, and its limit.
///
/// Exists only if there is a limit. A count is never below the number of sessions in the journal: a
/// commit whose outcome is unknown may leave it too high until the next start, or until the
/// sessions are counted again because the journal has lost history.
///
/// If several nodes create sessions, the journal counts them whenever one is created. This object
/// then counts only sessions whose creation is under way here, which the journal's count lacks. So
/// sessions that other nodes create at the same moment may exceed the limit.
package final class SessionOwners: Sendable {
    package let limit: Int
    /// Whether only sessions whose creation is under way are counted.
    package let isShared: Bool
    private let state: Mutex<State>

    private struct State {
        var counts: [ExactText: Int]
        /// The number of losses after which the sessions are not counted yet.
        var recounts = 0
        /// Sessions that were admitted since the first of these losses, and sessions whose creation
        /// has failed but may be in the journal. A count may have missed any of these sessions.
        var recent: [ExactText: Int] = [:]

        mutating func remember(_ owner: ExactText) {
            if recounts > 0 { recent[owner, default: 0] += 1 }
        }
    }

    /// - Parameters:
    ///   - limit: The maximum number of sessions of one client.
    ///   - counts: The numbers of sessions in the journal; nil: other nodes create sessions, too.
    package init(limit: Int, counts: [ExactText: Int]?) {
        self.limit = limit
        isShared = counts == nil
        let counts = counts ?? [:]
        state = Mutex(State(counts: counts))
    }

    /// Whether one more session of a client may be created.
    package enum Admission: Sendable {
        case admitted
        /// The client has as many as it may have.
        case refused
        /// It has fewer in the journal, and the creation of others is under way. Some of these may
        /// be among those that the journal has counted.
        case unclear
    }

    /// Counts one more session, unless that exceeds the limit.
    ///
    /// - Parameter committed: The number of its sessions in the journal; 0 unless ``isShared``.
    package func admit(_ owner: ExactText, besides committed: Int = 0) -> Admission {
        state.withLock { state in
            let count = state.counts[owner, default: 0]
            guard count + committed < limit else {
                return isShared && committed < limit ? .unclear : .refused
            }
            state.counts[owner] = count + 1
            state.remember(owner)
            return .admitted
        }
    }

    /// A session is in the journal.
    func created(_ owner: ExactText) {
        if isShared { remove(owner) }
    }

    /// A session has ended.
    func ended(_ owner: ExactText) {
        if !isShared { remove(owner) }
    }

    /// Counts one session less: it was never created.
    package func remove(_ owner: ExactText) {
        state.withLock { state in
            guard let count = state.counts[owner] else { return }
            state.counts[owner] = count > 1 ? count - 1 : nil
        }
    }

    /// A creation has failed, and may be in the journal nevertheless.
    func keep(_ owner: ExactText) {
        if isShared { remove(owner) } else { state.withLock { $0.remember(owner) } }
    }

    package func count(of owner: ExactText) -> Int { state.withLock { $0.counts[owner] ?? 0 } }

    // MARK: Counting again

    /// The journal has lost history: the counts mean nothing until ``endRecount(_:)``.
    package func beginRecount() { state.withLock { $0.recounts += 1 } }

    /// Called when every commit has ended that may have been read: a session that has ended before
    /// is not in the counts, and must not be uncounted.
    ///
    /// - Parameter counts: The numbers of sessions in the journal, read after every loop had
    ///   forgotten its sessions; nil: they could not be read.
    package func endRecount(_ counts: [ExactText: Int]?) {
        state.withLock { state in
            state.recounts -= 1
            // Another loss came meanwhile: the count after that one is the right one.
            guard state.recounts == 0 else { return }
            if let counts { state.counts = counts.merging(state.recent) { $0 + $1 } }
            state.recent = [:]
        }
    }
}
