internal import Dispatch
internal import Synchronization

/// A journal in an SQLite file: a 2xx is flushed to disk.
///
/// Design: one writer on a queue of its own. While it commits one group, the batches that all
/// loops hand in gather for the next: load turns into large groups by itself, and a lone batch
/// waits for nobody. A group is one transaction with one flush (`synchronous = FULL`).
///
/// When the disk fails, everything that was handed in fails with the group: what was decided upon
/// it did not happen. The connection is thrown away with whatever it thinks that it wrote, and
/// the next group, or a probe once a second, opens the file anew. Reading goes on meanwhile.
package final class FileJournal: Journal {
    package typealias Ended = @Sendable (JournalFailure?) -> Void

    private struct Book {
        var waiting: [(batch: Batch, ended: Ended)] = []
        var isWriting = false
        var isClosed = false
        var failure: JournalFailure?
    }

    package let name = "file"
    package let path: String
    private let lock: JournalLock
    private let writer: JournalWriter
    private let reader: FileArchive
    private let queue = DispatchQueue(label: "journal.writer", qos: .userInitiated)
    private let book = Mutex(Book())

    /// Opens or creates the file.
    ///
    /// - Throws: ``JournalFileFault``: it is in use, not a journal, of a later version, or the
    ///   system refuses it.
    package init(
        path: String, retention: JournalRetention = JournalRetention()
    ) throws(JournalFileFault) {
        self.path = path
        lock = try JournalLock(for: path)
        writer = JournalWriter(path: path, retention: retention)
        try writer.open()
        reader = try FileArchive(path: path)
        scheduleHousekeeping()
    }

    package var archive: (any Archive)? { reader }

    package var failure: JournalFailure? { book.withLock { $0.failure } }

    package func commit(_ batch: Batch, ended: @escaping Ended) -> Commit {
        let starts = book.withLock { book in
            book.waiting.append((batch, ended))
            defer { book.isWriting = true }
            return !book.isWriting
        }
        if starts { queue.async { [self] in writeAll() } }
        return .pending
    }

    /// Waits for what was handed in, then closes the file. What comes later fails.
    package func close() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                book.withLock { $0.isClosed = true }
                writeAll()
                // The last connection to go empties the write-ahead log, and must be able to write.
                reader.close()
                writer.close()
                continuation.resume()
            }
        }
    }

    // MARK: On the queue

    private func writeAll() {
        while true {
            let group = book.withLock { book -> [(batch: Batch, ended: Ended)] in
                var group: [(batch: Batch, ended: Ended)] = []
                swap(&group, &book.waiting)
                if group.isEmpty { book.isWriting = false }
                return group
            }
            guard !group.isEmpty else { return }
            write(group)
        }
    }

    private func write(_ group: [(batch: Batch, ended: Ended)]) {
        switch writer.write(group.map(\.batch)) {
        case .success(let refusals):
            note(nil)
            for (one, refusal) in zip(group, refusals) { one.ended(refusal) }
        case .failure(let failure):
            // Law: whatever was handed in before its caller could know fails as well.
            let late = note(failure)
            for one in group { one.ended(failure) }
            for one in late { one.ended(failure) }
        }
    }

    /// Notes how the disk is; answers what has gathered meanwhile if it is not well.
    @discardableResult
    private func note(_ failure: JournalFailure?) -> [(batch: Batch, ended: Ended)] {
        book.withLock { book in
            book.failure = failure
            guard failure != nil else { return [] }
            defer { book.waiting = [] }
            return book.waiting
        }
    }

    /// Once a second, between two groups: a small step of trimming, or a probe of a disk that
    /// failed.
    private func scheduleHousekeeping() {
        queue.asyncAfter(deadline: .now() + 1) { [weak self] in
            guard let self, !book.withLock(\.isClosed) else { return }
            keepHouse()
            scheduleHousekeeping()
        }
    }

    private func keepHouse() {
        if failure != nil {
            note(writer.probe())
        } else if let failure = writer.trim() {
            note(failure)
        }
    }
}

/// How much a journal keeps of each session, beyond the newest snapshot and what follows it.
package struct JournalRetention: Sendable, Equatable {
    /// Records of a session; older ones go. Default 100 000.
    package var records: Int
    /// Milliseconds; records older than this go. Default 7 days.
    package var age: Int64
    /// Milliseconds that stored answers are kept; the contract wants 24 hours at least.
    package var answers: Int64 = 86_400_000 + 3_600_000
    /// Rows that one step of trimming removes at the most.
    package var stepRows = 2_000

    package init(records: Int = 100_000, age: Int64 = 604_800_000) {
        self.records = max(1, records)
        self.age = max(0, age)
    }
}
