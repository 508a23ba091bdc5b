internal import Storage

/// Carries a value of a loop through another thread and back to the loop.
///
/// Why unchecked: a read of the archive runs on a thread of the journal, and its result is sent back
/// through ``LoopServices/hop``; the closure that handles the result belongs to the loop. Without this
/// type, the closures would be kept in a table and found again by number. Invariant: only a job on the
/// loop opens the value.
struct LoopBound<Value>: @unchecked Sendable {
    private let value: Value

    init(_ value: Value) { self.value = value }

    /// Opens the value on the loop. A caller that has the table is on the loop.
    func open(on table: SessionTable) -> Value { value }

    /// Opens the value for a caller that is on the loop for another reason.
    func open() -> Value { value }
}

extension SessionTable {
    /// Reads the archive. Calls `act` on this loop.
    ///
    /// If history was lost since the question, the answer may be of the older history: `act` gets
    /// ``JournalFailure/historyLost`` in its place.
    func ask<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void,
        then act: @escaping (Result<Value, JournalFailure>) -> Void
    ) {
        guard let archive = journal.archive else {
            preconditionFailure("only a journal that stores records is read")
        }
        let hop = services.hop
        let bound = LoopBound(act)
        let losses = losses.count
        question(archive) { result in
            _ = hop { table in
                let isVoid = table.losses.count != losses
                bound.open(on: table)(isVoid ? .failure(.historyLost) : result)
            }
        }
    }
}

extension JournalFailure {
    /// Nothing was applied.
    static let historyLost = JournalFailure(
        reason: .unavailable, detail: "the journal has lost history meanwhile")
}
