internal import Feeds
internal import Storage

extension SessionTable {
    /// Reads the archive. Otherwise the same as ``JournalReader/ask(_:then:)``.
    func ask<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void,
        then act: @escaping (Result<Value, JournalFailure>) -> Void
    ) {
        feeds.journal.ask(question, then: act)
    }
}

extension LoopBound {
    /// Opens the value on the loop. A caller that has the table is on the loop.
    func open(on table: SessionTable) -> Value { open(on: table.feeds) }
}
