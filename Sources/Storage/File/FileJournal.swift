internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A journal in an SQLite file: a 2xx is flushed to disk.
///
/// Design: one writer on a queue of its own. While it commits one group, the batches that all
/// loops hand in gather for the next: load turns into large groups by itself, and a lone batch
/// waits for nobody. A group is one transaction with one flush (`synchronous = FULL`).
///
/// When the disk fails, everything that was handed in fails with the group: what was decided upon
/// it did not happen. The connection is thrown away with whatever it thinks that it wrote, and
/// the next group, or a probe once a second, opens the file anew. Reading goes on meanwhile; but
/// not while the log is brought in once more, because a flush of the database failed.
package final class FileJournal: Journal {
    package typealias Ended = @Sendable (JournalFailure?) -> Void
    private typealias Waiting = (batch: Batch, ended: Ended)

    private struct Book {
        var waiting: [Waiting] = []
        /// The queue is about to write, or writing.
        var isWriting = false
        /// When the write under way began, or was asked for; nil if there is none.
        var writingSince: Int64?
        var isClosed = false
        /// The failure of the last write; nil if it reached the disk.
        var broken: JournalFailure?
        var shortage: Shortage?
        var figures = JournalMetrics()
    }

    /// The size of a write that did not fit. A smaller one may: it is written, but the disk is full.
    private struct Shortage {
        var failure: JournalFailure
        var bytes: Int
    }

    package let name = "file"
    package let path: String
    private let lock: JournalLock
    private let writer: JournalWriter
    private let reader: FileArchive
    private let crashes: CrashRecord
    package let interrupted: [InterruptedWork]
    private let queue = DispatchQueue(label: "journal.writer", qos: .userInitiated)
    private let book = Mutex(Book())
    private let now: @Sendable () -> Int64

    /// Milliseconds after which a disk that does not answer is told of. Commits go on waiting for
    /// it: what it answers in the end is true.
    private static let stallLimit: Int64 = 10_000

    /// Opens or creates the file.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970, for retention; default: the system's clock.
    ///   - looksEvery: how often it looks for what is to be trimmed, and whether a disk that
    ///     failed is well again; default: a second; nil: only on request.
    /// - Throws: ``JournalFileFault``: it is in use, not a journal, of a later version, or the
    ///   system refuses it.
    package init(
        path: String, retention: JournalRetention = JournalRetention(),
        now: @escaping @Sendable () -> Int64 = FileJournal.systemTime,
        looksEvery pause: Duration? = .seconds(1)
    ) throws(JournalFileFault) {
        self.path = path
        self.now = now
        lock = try JournalLock(for: path)
        crashes = CrashRecord(beside: path)
        writer = JournalWriter(path: path, retention: retention, now: now)
        do {
            try writer.open()
            reader = try FileArchive(path: path, tail: writer.tail)
        } catch {
            lock.release(isClosed: writer.close())
            throw error
        }
        interrupted = crashes.found + writer.runningActions(limit: Self.interruptedLimit)
        guard let pause else { return }
        look(every: pause)
        lookForStuckLoops(every: pause)
    }

    /// Actions with running effects that ``interrupted`` names at the most, those first that were
    /// begun most often.
    private static let interruptedLimit = 16

    package func takeCrashSlot() -> CrashSlot { crashes.takeSlot() }

    /// From now on, a fault that ends the process (a trap, a bad access, a stack that is too deep)
    /// leaves word of what its loops were carrying out. Once for a process, which must be ours.
    package static func catchFaults() { CrashRecord.catchFaults() }

    /// Looks at once for loops that do not get on: what happens by itself every second.
    package func lookForStuckLoops() { crashes.look() }

    /// Not on the journal's queue: a disk that does not answer is waited for there.
    private func lookForStuckLoops(every pause: Duration) {
        let nanoseconds = Int(pause / .nanoseconds(1))
        DispatchQueue.global(qos: .utility).asyncAfter(
            deadline: .now() + .nanoseconds(nanoseconds)
        ) { [weak self] in
            guard let self, !book.withLock({ $0.isClosed }) else { return }
            crashes.look()
            lookForStuckLoops(every: pause)
        }
    }

    package var archive: (any Archive)? { reader }

    package var failure: JournalFailure? {
        book.withLock { book in
            book.broken ?? book.shortage?.failure ?? book.writingSince.flatMap(stall)
        }
    }

    package var figures: JournalMetrics? {
        let isFailing = failure != nil
        return book.withLock { book in
            var figures = book.figures
            figures.waiting = book.waiting.count
            figures.isFailing = isFailing
            return figures
        }
    }

    private func stall(since start: Int64) -> JournalFailure? {
        let time = now() - start
        guard time >= Self.stallLimit else { return nil }
        return JournalFailure(
            reason: .unavailable,
            detail: "the journal's disk has not answered for \(time / 1_000) s")
    }

    package func commit(_ batch: Batch, ended: @escaping Ended) -> Commit {
        let starts = book.withLock { book in
            book.waiting.append((batch, ended))
            guard !book.isWriting else { return false }
            book.isWriting = true
            book.writingSince = now()
            return true
        }
        if starts { queue.async { [self] in writeNext() } }
        return .pending
    }

    /// Waits for what was handed in, then closes the file and lets others have it. What comes
    /// later fails.
    package func close() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                let last = book.withLock { book in
                    book.isClosed = true
                    defer { book.waiting = [] }
                    return book.waiting
                }
                if !last.isEmpty { write(last) }
                _ = writer.reopenIfReplaced()
                if writer.isInDoubt { _ = writer.bringInAnew(reader) }
                // The last connection to go empties the write-ahead log, and must be able to write.
                let isReaderClosed = reader.close()
                let isWriterClosed = writer.close()
                crashes.end()
                lock.release(isClosed: isReaderClosed && isWriterClosed)
                continuation.resume()
            }
        }
    }

    /// Looks at once for what is to be trimmed, and does all of it: what goes on by itself, in
    /// small steps, every second.
    package func trimNow() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                writer.maintenance.lookAtEverything()
                while keepHouse() {}
                continuation.resume()
            }
        }
    }

    /// Tries now what a journal that failed tries once a second: whether the disk is well again.
    package func checkDisk() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                if !book.withLock({ $0.isClosed }) {
                    if !isWhole { recover() }
                    lookForRoom()
                }
                continuation.resume()
            }
        }
    }

    /// Waits for the checkpoint that is under way, if one is.
    package func endCheckpoint() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                writer.endCheckpoint()
                continuation.resume()
            }
        }
    }

    /// A setting of the connection that writes; nil if there is none just now.
    package func writerPragma(_ name: String) async -> Int64? {
        await withCheckedContinuation { continuation in
            queue.async { [self] in continuation.resume(returning: writer.pragma(name)) }
        }
    }

    /// Milliseconds since 1970 (UTC).
    package static let systemTime: @Sendable () -> Int64 = {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    // MARK: On the queue

    /// One group; the next one has its own turn on the queue, so that others get theirs.
    private func writeNext() {
        let (group, isClosed) = book.withLock { book in
            defer { book.waiting = [] }
            book.isWriting = !book.waiting.isEmpty
            book.writingSince = book.isWriting ? now() : nil
            return (book.waiting, book.isClosed)
        }
        guard !group.isEmpty else { return }
        if isClosed {
            fail(group, JournalFailure(reason: .unavailable, detail: "the journal is closed"))
        } else {
            write(group)
        }
        queue.async { [self] in writeNext() }
    }

    private func write(_ group: [Waiting]) {
        // A group may turn out to have nothing to write, and would prove nothing.
        if !isWell, recover(ahead: group) { return }
        let start = ContinuousClock.now
        switch writer.write(group.map(\.batch)) {
        case .success(let refusals):
            // Before it is acknowledged: a restart looks where it was written.
            if !writer.filesAreCurrent, let failure = writer.reopenIfReplaced() {
                failUnsettled(group, failure)
                return
            }
            noteCommit(of: group, ContinuousClock.now - start)
            for (one, refusal) in zip(group, refusals) { one.ended(refusal) }
            writer.finishCheckpoint()
        case .failure(let failure) where writer.isUnsettled:
            failUnsettled(group, failure)
        case .failure(let failure):
            // Invariant: whatever was handed in before its caller could know fails as well.
            fail(group + note(failure, writing: group), failure)
        }
    }

    /// The group may have been written; what was handed in behind it has not.
    private func failUnsettled(_ group: [Waiting], _ failure: JournalFailure) {
        let late = note(failure, writing: group)
        fail(group, failure.withOutcomeUnknown)
        fail(late, failure)
    }

    private func fail(_ group: [Waiting], _ failure: JournalFailure) {
        book.withLock { $0.figures.noteFailure(of: group.count) }
        for one in group { one.ended(failure) }
    }

    /// Notes how the disk is; answers what has gathered meanwhile if it is not well.
    @discardableResult
    private func note(_ failure: JournalFailure?, writing group: [Waiting] = []) -> [Waiting] {
        book.withLock { book in
            book.broken = failure
            guard let failure else { return [] }
            if failure.reason == .full, !group.isEmpty {
                book.shortage = Shortage(failure: failure, bytes: Self.bytes(of: group))
            }
            defer { book.waiting = [] }
            return book.waiting
        }
    }

    private static func bytes(of group: [Waiting]) -> Int {
        group.reduce(0) { $0 + $1.batch.bytes }
    }

    /// A group was written: if it is as large as what did not fit, there is room.
    private func noteCommit(of group: [Waiting], _ time: Duration) {
        book.withLock { book in
            book.figures.noteCommit(of: group.count, time)
            guard let shortage = book.shortage, Self.bytes(of: group) >= shortage.bytes else {
                return
            }
            book.shortage = nil
        }
    }

    /// Whether what did not fit would fit by now, with the pages that it lies on. (A quota is seen
    /// only by writing.)
    private func lookForRoom() {
        guard let bytes = book.withLock({ $0.shortage?.bytes }),
            let free = FileIdentity.freeBytes(besides: path), free >= 2 * bytes + 65_536
        else { return }
        book.withLock { $0.shortage = nil }
    }

    private func look(every pause: Duration) {
        let nanoseconds = pause / .nanoseconds(1)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) { [weak self] in
            self?.look()
            self?.look(every: pause)
        }
    }

    /// Once a second: a probe of a disk that failed, or housekeeping until somebody commits, who
    /// then takes it along.
    private func look() {
        guard !book.withLock({ $0.isClosed }) else { return }
        lookForRoom()
        guard isWhole else {
            recover()
            return
        }
        writer.maintenance.isLookDue = true
        while book.withLock({ $0.waiting.isEmpty }), keepHouse() {}
    }

    private var isWell: Bool {
        book.withLock { $0.broken == nil } && !writer.isInDoubt && writer.filesAreCurrent
    }

    /// Further guarantees.
    private var isWhole: Bool { isWell && writer.indexIsCurrent && lock.isHeld }

    /// Tries whether the disk is well again. If not, whatever waits fails, behind this group, which
    /// was handed in before it; answers whether.
    @discardableResult
    private func recover(ahead group: [Waiting] = []) -> Bool {
        let failure =
            lock.regain() ?? writer.reopenIfReplaced()
            ?? (writer.isInDoubt ? writer.bringInAnew(reader) : writer.probe())
        let late = note(failure)
        guard let failure else { return false }
        fail(group + late, failure)
        return true
    }

    /// A step; whether there is more to do.
    private func keepHouse() -> Bool {
        switch writer.keepHouse() {
        case .success(let isMore):
            return isMore
        case .failure(let failure):
            fail(note(failure), failure)
            return false
        }
    }
}
