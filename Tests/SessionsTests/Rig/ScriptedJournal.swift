import Storage
import Synchronization

/// A journal that commits when the test says so.
///
/// It refuses what does not continue what it has, as any journal must: a batch that was decided
/// upon one that failed may be under way before its session knows of the failure.
final class ScriptedJournal: Journal {
    typealias Ended = @Sendable (JournalFailure?) -> Void

    private struct Book {
        var isImmediate: Bool
        var pending: [(batch: [Record], ended: Ended)] = []
        var kept: [Record] = []
    }

    let name = "scripted"
    let keepsRecords: Bool
    var archive: (any Archive)? { nil }
    var failure: JournalFailure? { nil }
    private let seesGaps: Bool
    private let book: Mutex<Book>

    /// - Parameter seesGaps: false is a journal that breaks the law above.
    init(isImmediate: Bool, keepsRecords: Bool = true, seesGaps: Bool = true) {
        self.seesGaps = seesGaps
        self.keepsRecords = keepsRecords
        book = Mutex(Book(isImmediate: isImmediate))
    }

    func commit(_ batch: Batch, ended: @escaping Ended) -> Commit {
        let batch = batch.records
        return book.withLock { book -> Commit in
            // The journal's law: batches end in order, so none overtakes one that pends.
            guard book.isImmediate, book.pending.isEmpty else {
                book.pending.append((batch, ended))
                return .pending
            }
            book.kept += batch
            return .done
        }
    }

    /// From now on every commit is done at once, or none is.
    func setImmediate(_ isImmediate: Bool) {
        book.withLock { $0.isImmediate = isImmediate }
    }

    /// Batches that were handed in and have not ended.
    var pendingCount: Int { book.withLock { $0.pending.count } }

    /// Every record that was committed, in order, without notes.
    var kept: [Record] { all.filter { $0.kind != .note } }

    /// Every record and note that was committed, in order.
    var all: [Record] { book.withLock { $0.kept } }

    /// Ends the oldest batch that pends, well or with a failure.
    func endNext(_ failure: JournalFailure? = nil) {
        let ending = book.withLock { book -> (Ended, JournalFailure?)? in
            guard !book.pending.isEmpty else { return nil }
            let first = book.pending.removeFirst()
            let isGapped = seesGaps && Self.hasGap(first.batch, after: book.kept)
            let failure = failure ?? (isGapped ? .gap : nil)
            if failure == nil { book.kept += first.batch }
            return (first.ended, failure)
        }
        if let (ended, failure) = ending { ended(failure) }
    }

    private static func hasGap(_ batch: [Record], after kept: [Record]) -> Bool {
        var next: [String: (number: UInt64, part: UInt32)] = [:]
        for record in kept + batch {
            let life = "\(record.session) \(record.generation)"
            let due = next[life, default: (0, 1)]
            guard record.number == due.number, record.part == 0 || record.part == due.part else {
                return true
            }
            next[life] = record.part == 0 ? (due.number + 1, 1) : (due.number, due.part + 1)
        }
        return false
    }
}

extension JournalFailure {
    static let full = JournalFailure(reason: .full, detail: "no space left")
    static let gap = JournalFailure(reason: .unavailable, detail: "a record is missing")
    static let unavailable = JournalFailure(reason: .unavailable, detail: "input/output error")
}
