/// The journal of throw-away sessions: what is committed lives as long as the process.
///
/// It keeps no records: a session's own history, bounded by the retention limits, is all there
/// is to resume from, and a restart starts anew with other generations.
package struct MemoryJournal: Journal {
    package init() {}

    package var name: String { "memory" }
    package var keepsRecords: Bool { false }

    package func commit(
        _ batch: [Record], ended: @escaping @Sendable (JournalFailure?) -> Void
    ) -> Commit {
        .done
    }
}
