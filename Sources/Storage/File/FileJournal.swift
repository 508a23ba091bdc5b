internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// A journal in an SQLite file: every 2xx response is flushed to disk.
///
/// Design: one writer on its own queue. While it commits one group, the batches of all loops
/// accumulate for the next: load forms large groups by itself, and a single batch does not wait. A
/// group is one transaction with one flush (`synchronous = FULL`).
///
/// When the disk fails, all submitted batches fail with the group: they were decided upon a state
/// that was rolled back. The connection is discarded with its assumptions about written data, and
/// the next group, or a probe once a second, reopens the file. Reading continues meanwhile, except
/// while the log is copied again after a failed flush of the database.
package final class FileJournal: Journal {
    package typealias Ended = @Sendable (Verdict) -> Void
    private typealias Waiting = (batch: Batch, ended: Ended)

    private struct State {
        var waiting: [Waiting] = []
        var isWriting = false
        /// When the current write started or was requested; nil if there is none.
        var writingSince: Int64?
        var isClosed = false
        /// The failure of the last write; nil if it reached the disk.
        var broken: JournalFailure?
        var shortage: Shortage?
        var figures = JournalMetrics()
    }

    /// The size of a group that did not fit. A smaller one is written, but the disk counts as full.
    private struct Shortage {
        var failure: JournalFailure
        var bytes: Int
    }

    package let name = "file"
    package let path: String
    private let lock: JournalLock
    let writer: JournalWriter
    private let reader: FileArchive
    private let crashes: CrashRecord
    package let interrupted: [InterruptedWork]
    let queue = DispatchQueue(label: "journal.writer", qos: .userInitiated)
    private let state = Mutex(State())
    private let now: @Sendable () -> Int64

    /// Milliseconds after which a silent disk is reported. Commits still wait for its result.
    private static let stallLimit: Int64 = 10_000

    /// Opens or creates the file.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970, for retention; default: the system's clock.
    ///   - looksEvery: how often it checks for records to trim, and whether a failed disk works
    ///     again; default: a second; nil: never.
    /// - Throws: ``JournalFileFault``: it is in use, no journal, newer, or refused.
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
            try LogInspection.verify(path)
            try writer.open()
            writer.renewMark(noting: lock)
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

    /// The maximum number of maintenance steps before the file is closed.
    private static let lastSteps = 200

    /// The most actions with running effects in ``interrupted``; most starts first.
    private static let interruptedLimit = 16

    package func takeCrashSlot() -> CrashSlot { crashes.takeSlot() }

    /// Makes a fault that ends the process (a trap, a bad access, a stack overflow) leave a record
    /// of the work of its loops. Once per process; the process must be the server's own.
    package static func catchFaults() { CrashRecord.catchFaults() }

    package func lookForStuckLoops() { crashes.look() }

    /// Not on the journal's queue, which blocks if the disk does not respond.
    private func lookForStuckLoops(every pause: Duration) {
        let nanoseconds = Int(pause / .nanoseconds(1))
        DispatchQueue.global(qos: .utility).asyncAfter(
            deadline: .now() + .nanoseconds(nanoseconds)
        ) { [weak self] in
            guard let self, !state.withLock({ $0.isClosed }) else { return }
            lookForStuckLoops()
            lookForStuckLoops(every: pause)
        }
    }

    package var archive: (any Archive)? { reader }

    package var work: (any WorkFinder)? { reader }

    package var expiries: ExpiryBacklog? { writer.expiries }

    package func ownedSessions() throws(JournalFailure) -> [ExactText: Int] {
        try reader.ownedSessions()
    }

    package var failure: JournalFailure? {
        state.withLock { state in
            state.broken ?? state.shortage?.failure ?? state.writingSince.flatMap(stall)
        }
    }

    package var figures: JournalMetrics? {
        let isFailing = failure != nil
        let logBytes = FileIdentity.bytes(of: path + "-wal") ?? 0
        return state.withLock { state in
            var figures = state.figures
            figures.waiting = state.waiting.count
            figures.isFailing = isFailing
            figures.logBytes = logBytes
            return figures
        }
    }

    private func stall(since start: Int64) -> JournalFailure? {
        let time = now() - start
        guard time >= Self.stallLimit else { return nil }
        return JournalFailure(
            reason: .unavailable,
            detail: "the journal's disk has not responded for \(time / 1_000) s")
    }

    package func commit(_ batch: Batch, ended: @escaping Ended) -> Commit {
        let starts = state.withLock { state in
            state.waiting.append((batch, ended))
            guard !state.isWriting else { return false }
            state.isWriting = true
            state.writingSince = now()
            return true
        }
        if starts { queue.async { [self] in writeNext() } }
        return .pending
    }

    /// Waits for submitted batches, then closes the file and releases its lock. Later batches fail.
    package func close() async {
        await queue.run { [self] in
            let last = state.withLock { state in
                state.isClosed = true
                defer { state.waiting = [] }
                return state.waiting
            }
            if !last.isEmpty { write(last) }
            // The last readers have left and postponed the expiry of their sessions.
            for _ in 0..<Self.lastSteps where writer.expiries.hasPostponed {
                guard keepHouse() else { break }
            }
            _ = writer.reopenIfReplaced()
            if writer.isInDoubt { _ = writer.bringInAnew(reader) }
            // The last connection that closes empties the log, so it must be able to write.
            let isReaderClosed = reader.close()
            let isWriterClosed = writer.close()
            crashes.end()
            lock.release(isClosed: isReaderClosed && isWriterClosed)
        }
    }

    /// Milliseconds since 1970 (UTC).
    package static let systemTime: @Sendable () -> Int64 = {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    // MARK: On the queue

    /// Writes one group; the next group is a separate job, so that other jobs of the queue can run.
    private func writeNext() {
        let (group, isClosed) = state.withLock { state in
            defer { state.waiting = [] }
            state.isWriting = !state.waiting.isEmpty
            state.writingSince = state.isWriting ? now() : nil
            return (state.waiting, state.isClosed)
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
        // A group may turn out to write nothing, which would not prove that the disk works.
        if !isWell, recover(ahead: group) { return }
        let start = ContinuousClock.now
        switch writer.write(group.map(\.batch)) {
        case .success(let refusals):
            // Checked before the acknowledgement: a restart reads the file at this path.
            if !writer.filesAreCurrent, let failure = writer.reopenIfReplaced() {
                failUnsettled(group, failure)
                return
            }
            recordCommit(of: group, ContinuousClock.now - start)
            for (one, refused) in zip(group, refusals) { one.ended(Verdict(refusing: refused)) }
            writer.finishCheckpoint()
        case .failure(let failure) where writer.isUnsettled:
            failUnsettled(group, failure)
        case .failure(let failure):
            // Invariant: batches that were submitted without knowledge of the failure fail as well.
            fail(group + record(failure, writing: group), failure)
        }
    }

    /// The group may have been written; batches submitted after it have not.
    private func failUnsettled(_ group: [Waiting], _ failure: JournalFailure) {
        let late = record(failure, writing: group)
        fail(group, failure.withOutcomeUnknown)
        fail(late, failure)
    }

    private func fail(_ group: [Waiting], _ failure: JournalFailure) {
        state.withLock { $0.figures.recordFailure(of: group.count) }
        for one in group { one.ended(.failed(failure)) }
    }

    /// Records the state of the disk; if it is broken, returns the waiting groups, which must fail.
    @discardableResult
    private func record(_ failure: JournalFailure?, writing group: [Waiting] = []) -> [Waiting] {
        state.withLock { state in
            state.broken = failure
            guard let failure else { return [] }
            if failure.reason == .full, !group.isEmpty {
                state.shortage = Shortage(failure: failure, bytes: Self.bytes(of: group))
            }
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    private static func bytes(of group: [Waiting]) -> Int {
        group.reduce(0) { $0 + $1.batch.bytes }
    }

    /// If the group is as large as the one that did not fit, there is space again.
    private func recordCommit(of group: [Waiting], _ time: Duration) {
        state.withLock { state in
            state.figures.recordCommit(of: group.count, time)
            guard let shortage = state.shortage, Self.bytes(of: group) >= shortage.bytes else {
                return
            }
            state.shortage = nil
        }
    }

    /// Whether the group that did not fit would fit now. (A quota shows only on writing.)
    private func lookForRoom() {
        guard let bytes = state.withLock({ $0.shortage?.bytes }),
            let free = FileIdentity.freeBytes(besides: path), free >= 2 * bytes + 65_536
        else { return }
        state.withLock { $0.shortage = nil }
    }

    private func look(every pause: Duration) {
        let nanoseconds = pause / .nanoseconds(1)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) { [weak self] in
            self?.look()
            self?.look(every: pause)
        }
    }

    /// Once a second: probes a failed disk, or runs maintenance until the next commit includes it.
    private func look() {
        guard probeDisk() else { return }
        writer.maintenance.isLookDue = true
        while state.withLock({ $0.waiting.isEmpty }), keepHouse() {}
    }

    /// Probes whether a failed disk works again, and whether a full one has space. Returns whether
    /// maintenance may run.
    @discardableResult
    func probeDisk() -> Bool {
        guard !state.withLock({ $0.isClosed }) else { return false }
        lookForRoom()
        if isWhole { return true }
        recover()
        return false
    }

    private var isWell: Bool {
        state.withLock { $0.broken == nil } && !writer.isInDoubt && writer.filesAreCurrent
    }

    /// The conditions for reporting success, besides the write itself.
    private var isWhole: Bool { isWell && writer.indexIsCurrent && lock.isHeld }

    /// Probes whether the disk works again. If not, waiting batches fail, after this group, which
    /// was submitted before them. Returns whether it works.
    @discardableResult
    private func recover(ahead group: [Waiting] = []) -> Bool {
        let failure =
            lock.regain() ?? writer.reopenIfReplaced()
            ?? (writer.isInDoubt ? writer.bringInAnew(reader) : writer.probe())
        let late = record(failure)
        guard let failure else { return false }
        fail(group + late, failure)
        return true
    }

    /// One step of maintenance; returns whether there is more to do.
    func keepHouse() -> Bool {
        switch writer.keepHouse() {
        case .success(let isMore):
            return isMore
        case .failure(let failure):
            fail(record(failure), failure)
            return false
        }
    }
}
