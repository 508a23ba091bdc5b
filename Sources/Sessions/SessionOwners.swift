internal import Synchronization

/// The number of sessions that each client owns, on all loops, and its limit.
///
/// Exists only if there is a limit. A count is never below the number of sessions in the journal: a
/// commit whose outcome is unknown may leave it too high until the next start.
package final class SessionOwners: Sendable {
    package let limit: Int
    private let counts: Mutex<[String: Int]>

    /// - Parameters:
    ///   - limit: The maximum number of sessions of one client.
    ///   - counts: The numbers of sessions in the journal.
    package init(limit: Int, counts: [String: Int]) {
        self.limit = limit
        self.counts = Mutex(counts)
    }

    /// Counts one more session, unless that exceeds the limit.
    package func admit(_ owner: String) -> Bool {
        counts.withLock { counts in
            let count = counts[owner, default: 0]
            guard count < limit else { return false }
            counts[owner] = count + 1
            return true
        }
    }

    /// Counts one session less: it has ended, or was never created.
    package func remove(_ owner: String) {
        counts.withLock { counts in
            guard let count = counts[owner] else { return }
            counts[owner] = count > 1 ? count - 1 : nil
        }
    }

    package func count(of owner: String) -> Int { counts.withLock { $0[owner] ?? 0 } }
}
