internal import Storage

/// Carries something that belongs to a loop through another thread and back.
///
/// Why unchecked: a question to the archive goes to a thread of the journal's, and its answer
/// comes back through ``SessionTable/hop``; what is to be done with it belongs to the loop. Invariant:
/// nobody opens it but a job on that loop. Without it, every question would be a table of
/// continuations that are found again by number.
struct LoopBound<Value>: @unchecked Sendable {
    private let value: Value

    init(_ value: Value) { self.value = value }

    /// The table is the proof that this is the loop.
    func open(on table: SessionTable) -> Value { value }

    /// For callers that have another proof.
    func open() -> Value { value }
}

extension SessionTable {
    /// Asks the archive; the answer comes back to this loop.
    func ask<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void,
        then act: @escaping (Result<Value, JournalFailure>) -> Void
    ) {
        guard let archive = journal.archive else {
            preconditionFailure("only sessions of a journal that keeps records ask for them")
        }
        let hop = services.hop
        let bound = LoopBound(act)
        question(archive) { result in _ = hop { table in bound.open(on: table)(result) } }
    }
}
