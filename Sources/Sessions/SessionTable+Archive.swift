package import Feeds
package import Storage

extension SessionTable {
    /// Reads the archive. Otherwise the same as ``JournalReader/ask(_:then:)``.
    package func ask<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void,
        then act: @escaping (Result<Value, JournalFailure>) -> Void
    ) {
        feeds.journal.ask(question, then: act)
    }
}

extension LoopBound {
    /// Opens the value on the loop. A caller that has the table is on the loop.
    package func open(on table: SessionTable) -> Value { open(on: table.feeds) }
}
