import Storage
import Synchronization

/// A journal that commits on demand of the test, and outlives the table that uses it.
///
/// Like any journal it refuses a batch that does not continue its records: a batch that was decided
/// upon a failed one may be pending before its session knows of the failure.
final class ScriptedJournal: Journal {
    typealias Ended = @Sendable (JournalFailure?) -> Void

    struct Book {
        var isImmediate: Bool
        var pending: [(batch: Batch, ended: Ended)] = []
        private(set) var kept = Batch()
        /// The entries of `kept`, decoded once.
        private(set) var records: [HistoryEntry] = []
        /// The next position of each generation.
        private var due: [SessionKey: HistoryPosition] = [:]
        var unreadable: JournalFailure?
        /// How often records were requested.
        var questions = 0
        /// Whether a reply waits for the test.
        var isLate = false
        /// Pending queries, oldest first.
        var asked: [ArchiveQuestion] = []
        /// Records that were removed although they are in `kept`.
        var removed = RemovedRecords()
        /// Generations that can't be rebuilt.
        var spoiled: [SessionKey: Damage] = [:]
        /// The calls so far, and their results.
        var tally: Set<ArchiveUse> = []

        init(isImmediate: Bool) { self.isImmediate = isImmediate }

        mutating func keep(_ batch: Batch) {
            kept.append(batch)
            let new = batch.records
            records += new
            for record in new { due[record.key] = record.position }
        }

        mutating func edit(_ change: (inout Batch) -> Void) {
            change(&kept)
            records = kept.records
            due = [:]
            for record in records { due[record.key] = record.position }
        }

        /// Whether the batch does not continue the kept records.
        func hasGap(_ batch: Batch) -> Bool {
            var due = due
            for record in batch.records {
                let isNext =
                    due[record.key].map { record.position.follows($0) }
                    ?? (record.number == 0 && record.part == 0)
                guard isNext else { return true }
                due[record.key] = record.position
            }
            func isAhead(_ session: String, _ generation: String, _ number: UInt64) -> Bool {
                let key = SessionKey(session: session, generation: generation)
                return number > (due[key].map { $0.nextNumber - 1 } ?? 0)
            }
            return batch.answers.contains { isAhead($0.session, $0.generation, $0.number) }
                || batch.snapshots.contains { isAhead($0.session, $0.generation, $0.number) }
        }
    }

    let name = "scripted"
    let keepsRecords: Bool
    var archive: (any Archive)? { answers ? self : nil }
    var failure: JournalFailure? { nil }
    private let answers: Bool
    private let seesGaps: Bool
    let book: Mutex<Book>

    /// - Parameters:
    ///   - answers: false keeps records for the test alone: nobody can read them.
    ///   - seesGaps: false is a journal that breaks the rule above.
    init(
        isImmediate: Bool, keepsRecords: Bool = true, answers: Bool = false, seesGaps: Bool = true
    ) {
        self.answers = answers
        self.seesGaps = seesGaps
        self.keepsRecords = keepsRecords
        book = Mutex(Book(isImmediate: isImmediate))
    }

    func commit(_ batch: Batch, ended: @escaping Ended) -> Commit {
        book.withLock { book -> Commit in
            // The journal's rule: batches end in order, so none overtakes a pending one.
            guard book.isImmediate, book.pending.isEmpty else {
                book.pending.append((batch, ended))
                return .pending
            }
            book.keep(batch)
            return .done
        }
    }

    /// Makes every commit complete at once, or wait for the test.
    func setImmediate(_ isImmediate: Bool) {
        book.withLock { $0.isImmediate = isImmediate }
    }

    /// Makes every read fail, or (nil) succeed, from now on.
    func setUnreadable(_ failure: JournalFailure?) {
        book.withLock { $0.unreadable = failure }
    }

    /// The number of submitted batches that have not ended.
    var pendingCount: Int { book.withLock { $0.pending.count } }

    /// Every committed record, in order, without notes.
    var kept: [HistoryEntry] { all.filter { $0.kind != .note } }

    /// Every committed record and note, in order.
    var all: [HistoryEntry] { book.withLock { $0.records } }

    /// Everything that was committed.
    var keptBatch: Batch { book.withLock { $0.kept } }

    /// Changes the kept records without the sessions' knowledge.
    func edit(_ change: (inout Batch) -> Void) {
        book.withLock { $0.edit(change) }
    }

    /// Ends the oldest pending batch with success or a failure.
    ///
    /// - Parameter isWritten: it is kept although it fails: the failure came after the write.
    func endNext(_ failure: JournalFailure? = nil, isWritten: Bool = false) {
        let ending = book.withLock { book -> (Ended, JournalFailure?)? in
            guard !book.pending.isEmpty else { return nil }
            let first = book.pending.removeFirst()
            let isGapped = seesGaps && book.hasGap(first.batch)
            let failure = failure ?? (isGapped ? .gap : nil)
            if failure == nil || (isWritten && !isGapped) { book.keep(first.batch) }
            return (first.ended, failure)
        }
        if let (ended, failure) = ending { ended(failure) }
    }

    /// Writes the oldest pending batch; calling the result reports its end. Readers see the records
    /// before their session knows of them.
    func writeNext() -> () -> Void {
        book.withLock { book in
            let first = book.pending.removeFirst()
            book.keep(first.batch)
            return { first.ended(nil) }
        }
    }

    /// The process dies: the first `count` pending batches were written, and no end is reported.
    func crash(writing count: Int) {
        book.withLock { book in
            for (batch, _) in book.pending.prefix(count)
            where !book.hasGap(batch) {
                book.keep(batch)
            }
            book.pending = []
            book.asked = []
        }
    }
}

extension JournalFailure {
    static let full = JournalFailure(reason: .full, detail: "no space left")
    static let outcomeUnknown = JournalFailure(
        reason: .outcomeUnknown, detail: "input/output error of a flush")
    static let gap = JournalFailure(reason: .unavailable, detail: "a record is missing")
    static let unavailable = JournalFailure(reason: .unavailable, detail: "input/output error")
}
