/// The journal of temporary sessions: committed data lives as long as the process.
///
/// It keeps no records: a stream can resume only from a session's own history, bounded by the
/// retention limits, and a restart begins with new generations.
package struct MemoryJournal: Journal {
    package init() {}

    package var name: String { "memory" }
    package var archive: (any Archive)? { nil }
    package var failure: JournalFailure? { nil }

    package func commit(_ batch: Batch, ended: @escaping @Sendable (Verdict) -> Void) -> Commit {
        .done
    }
}
