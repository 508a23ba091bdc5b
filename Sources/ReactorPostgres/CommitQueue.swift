internal import Dispatch
internal import Storage
internal import Synchronization

/// Commits the batches of some loops in their order over one connection.
///
/// Design: as with a file, one writer on its own queue; while it commits one group, usually with
/// one statement, batches accumulate for the next.
///
/// Invariant: a session is written by one loop, and so by one queue, which knows its lineages.
final class CommitQueue: BatchCommitter {
    typealias Ended = @Sendable (Verdict) -> Void
    private typealias Waiting = (batch: Batch, number: Int64, ended: Ended)

    private struct State {
        var waiting: [Waiting] = []
        var isWriting = false
        var isClosed = false
        /// The failure of the last group, until one is committed or the database is back.
        var broken: JournalFailure?
        var lastBatch: Int64 = 0
        var figures = JournalMetrics()
    }

    private let writer: PostgresWriter
    private let sweeper: Sweeper
    /// Used on the queue only.
    private let lineages = LostLineages()
    private let queue: DispatchQueue
    private let state = Mutex(State())
    private let commitLimit: Duration

    init(
        _ index: Int, _ connector: Connector, _ sweeper: Sweeper, commitLimit: Duration,
        lockLimit: Duration
    ) {
        queue = DispatchQueue(label: "journal.postgres.\(index)", qos: .userInitiated)
        writer = PostgresWriter(connector, lockLimit: lockLimit)
        self.sweeper = sweeper
        self.commitLimit = commitLimit
    }

    var failure: JournalFailure? {
        state.withLock { $0.broken } ?? writer.absentBecause.map(JournalFailure.init)
    }

    var figures: JournalMetrics {
        let isFailing = failure != nil
        return state.withLock { state in
            var figures = state.figures
            figures.waiting = state.waiting.count
            figures.isFailing = isFailing
            return figures
        }
    }

    func commit(_ batch: Batch, ended: @escaping Ended) -> Commit {
        let starts = state.withLock { state in
            state.lastBatch += 1
            state.waiting.append((batch, state.lastBatch, ended))
            guard !state.isWriting else { return false }
            state.isWriting = true
            return true
        }
        if starts { queue.async { [self] in writeNext() } }
        return .pending
    }

    /// Reads between two groups, with the connection that writes.
    func read<Value>(
        _ act: (Connection) throws(PostgresFault) -> Value
    ) throws(PostgresFault) -> Value {
        try queue.sync { [writer] in
            Result { () throws(PostgresFault) in try act(try writer.connect()) }
        }.get()
    }

    func look(every pause: Duration) {
        queue.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in
            guard let self, !state.withLock({ $0.isClosed }) else { return }
            lookNow()
            look(every: pause)
        }
    }

    func look() async {
        await queue.run { [self] in lookNow() }
    }

    /// Waits for submitted batches, then closes the connection. Later batches fail.
    func close() async {
        await queue.run { [self] in
            let last = state.withLock { state in
                state.isClosed = true
                defer { state.waiting = [] }
                return state.waiting
            }
            if !last.isEmpty { write(last) }
            writer.close()
        }
    }

    // MARK: On the queue

    private func writeNext() {
        let (group, isClosed) = state.withLock { state in
            defer { state.waiting = [] }
            state.isWriting = !state.waiting.isEmpty
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

    private func lookNow() {
        writer.probe()
        if writer.absentSince == nil { state.withLock { $0.broken = nil } }
    }

    private func write(_ group: [Waiting]) {
        let start = ContinuousClock.now
        let deadline = (writer.absentSince ?? start) + commitLimit
        if let fault = writer.absentBecause, start >= deadline {
            // Nobody waits again for a database that was waited for.
            return fail(group, JournalFailure(fault))
        }
        let plan = GroupPlan(group.map { ($0.batch, $0.number) })
        for wave in plan.waves {
            for part in wave where lineages.has(part.key, part.lineage) {
                part.outcome = .refused(.lostLineage)
            }
            writer.decide(wave.filter { $0.outcome == .open }, until: deadline)
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
        state.withLock { state in
            // A part that the database refuses is no failure of the database.
            state.broken = failures.last { $0.reason != .refused }
            state.figures.recordFailure(of: failures.count)
            guard failures.count < group.count else { return }
            state.figures.recordCommit(of: group.count - failures.count, time)
        }
        for (one, verdict) in zip(group, verdicts) { one.ended(verdict) }
    }

    /// Nothing of these batches was sent.
    private func fail(_ group: [Waiting], _ failure: JournalFailure) {
        state.withLock { $0.figures.recordFailure(of: group.count) }
        for one in group {
            for run in one.batch.runs { lineages.lose(run.key, run.lineage) }
        }
        for one in group { one.ended(.failed(failure)) }
    }
}

extension Verdict {
    fileprivate init(of count: Int, refusing refused: [SessionKey: CommitRefusal]) {
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
