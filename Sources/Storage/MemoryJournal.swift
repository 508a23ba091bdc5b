/// The journal of throw-away sessions: what is committed lives as long as the process.
///
/// It keeps no records: a session's own history, bounded by the retention limits, is all there
/// is to resume from, and a restart starts anew with other generations.
package struct MemoryJournal: Journal {
    package init() {}

    package var name: String { "memory" }
    package var archive: (any Archive)? { nil }
    package var failure: JournalFailure? { nil }

    package func commit(
        _ batch: Batch, ended: @escaping @Sendable (JournalFailure?) -> Void
    ) -> Commit {
        .done
    }
}
