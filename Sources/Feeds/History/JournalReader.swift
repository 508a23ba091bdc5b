package import Storage

/// Reads the journal's archive for one loop.
package final class JournalReader {
    package let journal: any Journal
    private let hop: FeedLoop.Hop
    /// The losses of history that the loop has seen. Questions from before the last one get no
    /// answer.
    package var losses: UInt64 = 0

    init(_ journal: any Journal, hop: @escaping FeedLoop.Hop) {
        self.journal = journal
        self.hop = hop
    }

    /// Whether the journal can be read.
    var isArchived: Bool { journal.archive != nil }

    /// Whether the journal stores records.
    package var keepsRecords: Bool { journal.keepsRecords }

    /// Whether several nodes write to the journal, so that what is in memory may not be the newest.
    package var isShared: Bool { journal.ownership != nil }

    /// Sends a job to the loop, after the jobs that are being sent there now.
    package func later(_ act: @escaping (FeedLoop) -> Void) {
        let bound = LoopBound(act)
        _ = hop { loop in bound.open(on: loop)(loop) }
    }

    /// Reads the archive. Calls `act` on this loop.
    ///
    /// If history was lost since the question, the answer may be about the older history. `act`
    /// then gets ``JournalFailure/historyLost`` in its place.
    package func ask<Value: Sendable>(
        _ question: (any Archive, @escaping ArchiveAnswer<Value>) -> Void,
        then act: @escaping (Result<Value, JournalFailure>) -> Void
    ) {
        guard let archive = journal.archive else {
            preconditionFailure("only a journal that stores records is read")
        }
        let (hop, bound, losses) = (hop, LoopBound(act), losses)
        question(archive) { result in
            _ = hop { loop in
                let isVoid = loop.journal.losses != losses
                bound.open(on: loop)(isVoid ? .failure(.historyLost) : result)
            }
        }
    }
}

extension JournalFailure {
    /// Nothing was applied.
    package static let historyLost = JournalFailure(
        reason: .unavailable, detail: "the journal has lost history meanwhile")

    /// Nothing was applied: the session's state in memory was discarded.
    package static let leftMemory = JournalFailure(
        reason: .unavailable, detail: "the session left memory after a failed commit")
}
