internal import Synchronization

/// Counts the commits of a process that may have changed what a list by tags shows.
///
/// Why for all loops: a reader of a list looks at the count, and reads the journal again only if it
/// has risen.
package final class TagChanges: Sendable {
    private let changes = Atomic<Int>(0)

    package init() {}

    /// Also after a commit that has failed: it may be in the journal.
    func count() { changes.wrappingAdd(1, ordering: .releasing) }

    package var present: Int { changes.load(ordering: .acquiring) }
}
