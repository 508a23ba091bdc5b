internal import Dispatch
internal import Storage
internal import Synchronization

/// Commits the batches of some loops in their order over one connection.
///
/// Design: as with a file, one writer on its own queue; while it commits one group, usually with
/// one statement, batches accumulate for the next.
///
/// Invariant: a session is written by one loop, and so by one queue, which knows its lineages.
final class CommitQueue: CommitLane {
    typealias Ended = @Sendable (Verdict) -> Void
    private typealias Waiting = (batch: Batch, number: Int64, ended: Ended)

    private struct Book {
        var waiting: [Waiting] = []
        var isWriting = false
        var isClosed = false
        /// The failure of the last group, until one is committed or the database is back.
        var broken: JournalFailure?
        var lastBatch: Int64 = 0
        var figures = JournalMetrics()
    }

    private let lane: Lane
    private let sweeper: Sweeper
    /// Used on the queue only.
    private let lineages = LostLineages()
    private let queue: DispatchQueue
    private let book = Mutex(Book())
    private let commitLimit: Duration

    init(
        _ index: Int, _ connector: Connector, _ sweeper: Sweeper, commitLimit: Duration,
        lockLimit: Duration
    ) {
        queue = DispatchQueue(label: "journal.postgres.\(index)", qos: .userInitiated)
        lane = Lane(connector, lockLimit: lockLimit)
        self.sweeper = sweeper
        self.commitLimit = commitLimit
    }

    var failure: JournalFailure? {
        book.withLock { $0.broken } ?? lane.absentBecause.map(JournalFailure.init)
    }

    var figures: JournalMetrics {
        let isFailing = failure != nil
        return book.withLock { book in
            var figures = book.figures
            figures.waiting = book.waiting.count
            figures.isFailing = isFailing
            return figures
        }
    }

    func commit(_ batch: Batch, ended: @escaping Ended) -> Commit {
        let starts = book.withLock { book in
            book.lastBatch += 1
            book.waiting.append((batch, book.lastBatch, ended))
            guard !book.isWriting else { return false }
            book.isWriting = true
            return true
        }
        if starts { queue.async { [self] in writeNext() } }
        return .pending
    }

    /// Reads between two groups, with the connection that writes.
    func read<Value>(
        _ act: (Connection) throws(PostgresFault) -> Value
    ) throws(PostgresFault) -> Value {
        try queue.sync { [lane] in
            Result { () throws(PostgresFault) in try act(try lane.connect()) }
        }.get()
    }

    func look(every pause: Duration) {
        queue.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in
            guard let self, !book.withLock({ $0.isClosed }) else { return }
            lookNow()
            look(every: pause)
        }
    }

    func look() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                lookNow()
                continuation.resume()
            }
        }
    }

    /// Waits for submitted batches, then closes the connection. Later batches fail.
    func close() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                let last = book.withLock { book in
                    book.isClosed = true
                    defer { book.waiting = [] }
                    return book.waiting
                }
                if !last.isEmpty { write(last) }
                lane.close()
                continuation.resume()
            }
        }
    }

    // MARK: On the queue

    private func writeNext() {
        let (group, isClosed) = book.withLock { book in
            defer { book.waiting = [] }
            book.isWriting = !book.waiting.isEmpty
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

    private func lookNow() {
        lane.probe()
        if lane.absentSince == nil { book.withLock { $0.broken = nil } }
    }

    private func write(_ group: [Waiting]) {
        let start = ContinuousClock.now
        let deadline = (lane.absentSince ?? start) + commitLimit
        if let fault = lane.absentBecause, start >= deadline {
            // Nobody waits again for a database that was waited for.
            return fail(group, JournalFailure(fault))
        }
        let plan = GroupPlan(group.map { ($0.batch, $0.number) })
        for wave in plan.waves {
            for part in wave where lineages.has(part.key, part.lineage) {
                part.outcome = .refused(.lostLineage)
            }
            lane.decide(wave.filter { $0.outcome == .open }, until: deadline)
            for part in wave where part.outcome != .committed && !part.runs.isEmpty {
                lineages.lose(part.key, part.lineage)
            }
        }
        for (key, lineage) in plan.lost { lineages.lose(key, lineage) }
        sweeper.record(plan)
        end(group, plan, ContinuousClock.now - start)
    }

    private func end(_ group: [Waiting], _ plan: GroupPlan, _ time: Duration) {
        var verdicts: [Verdict] = []
        for (parts, refused) in plan.batches {
            var refused = refused
            for part in parts {
                guard case .refused(let refusal) = part.outcome else { continue }
                refused[part.key] = refusal
            }
            verdicts.append(Verdict(of: parts.count, refusing: refused))
        }
        let failures = verdicts.compactMap { verdict -> JournalFailure? in
            if case .failed(let failure) = verdict { failure } else { nil }
        }
        book.withLock { book in
            // A part that the database refuses is no failure of the database.
            book.broken = failures.last { $0.reason != .refused }
            book.figures.recordFailure(of: failures.count)
            guard failures.count < group.count else { return }
            book.figures.recordCommit(of: group.count - failures.count, time)
        }
        for (one, verdict) in zip(group, verdicts) { one.ended(verdict) }
    }

    /// Nothing of these batches was sent.
    private func fail(_ group: [Waiting], _ failure: JournalFailure) {
        book.withLock { $0.figures.recordFailure(of: group.count) }
        for one in group {
            for run in one.batch.runs { lineages.lose(run.key, run.lineage) }
        }
        for one in group { one.ended(.failed(failure)) }
    }
}

extension Verdict {
    fileprivate init(of count: Int, refusing refused: [SessionKey: Refusal]) {
        self.init(refusing: refused)
        guard count > 0, refused.count >= count else { return }
        var failures: [JournalFailure] = []
        for refusal in refused.values {
            guard case .failed(let failure) = refusal else { return }
            failures.append(failure)
        }
        guard let first = failures.first else { return }
        let unknown = failures.first { $0.reason == .outcomeUnknown }
        self = .failed(unknown ?? first)
    }
}
