internal import Synchronization

/// Counts the commits of a process that may have changed what a list by tags shows.
///
/// Why one count for all loops: a loop that follows a list checks it, and reads the journal again
/// only if it has increased.
package final class TagChanges: Sendable {
    private let changes = Atomic<Int>(0)

    package init() {}

    /// Called after a failed commit, too: it may be in the journal.
    func count() { changes.wrappingAdd(1, ordering: .releasing) }

    package var present: Int { changes.load(ordering: .acquiring) }
}
