internal import DequeModule
package import Feeds
internal import Storage

/// Commits the steps of a table's sessions.
///
/// Design: the steps that all sessions collect in one round are submitted to the journal as one
/// batch. Batches end in the order in which they were submitted, so a batch that ends is the first
/// one in flight.
///
/// Invariant: after a step that begins a form (``Step/beginsForm``), nothing of its session is
/// submitted until that step is committed. The step may have no record, so the journal would accept
/// later steps without it.
package final class CommitPipeline {
    private let committer: any BatchCommitter
    let records = RecordWriter()
    private let keepsRecords: Bool
    private let limits: SessionLimits
    private let hop: LoopServices.Hop
    private var gathering: [Step] = []
    private var inFlight: Deque<Flight> = []
    /// The number of replies that wait for the journal.
    private var unanswered = 0
    /// The bytes of posted bodies in uncommitted steps and in requests whose key is
    /// being looked up.
    private var uncommittedBytes = 0
    /// Called when no batch is in flight.
    private var completion: (() -> Void)?
    /// Whether steps that had waited for a batch were gathered.
    private var hasReleased = false
    private var hasStopped = false
    /// The sessions with a step that was rolled back after it had been submitted, and on which the
    /// journal has not decided yet. Each has the number of its last rollback. Only for a journal
    /// of several nodes. Invariant: there are no more of these sessions than steps in flight.
    private var undecided: [SessionID: UInt64] = [:]
    private var lastRollback: UInt64 = 0
    private let isShared: Bool
    /// The number of steps in each batch.
    private(set) var sizes = SizeHistogram()

    init(_ journal: any Journal, _ limits: SessionLimits, hop: @escaping LoopServices.Hop) {
        committer = journal.takeCommitter()
        keepsRecords = journal.keepsRecords
        isShared = journal.ownership != nil
        self.limits = limits
        self.hop = hop
    }

    /// True once the table has stopped. No step is submitted after that. Why not the stored
    /// property itself: ADR-0013.
    package var isStopped: Bool { hasStopped }

    /// Replies that wait for the journal, and the bytes of their bodies.
    var waitingReplies: Int { unanswered }
    var waitingBytes: Int { uncommittedBytes }

    // MARK: Within a round

    /// Whether one more reply may wait for the journal.
    var hasRoom: Bool {
        unanswered < limits.unanswered && uncommittedBytes < limits.uncommittedBytes
    }

    /// Whether there is room for work that nobody waits for. It may use half; requests may use all.
    var hasHalfOfRoom: Bool {
        unanswered < limits.unanswered / 2 && uncommittedBytes < limits.uncommittedBytes / 2
    }

    /// Counts a request whose key is looked up in the journal. It counts as one whose commit
    /// is under way.
    func beginLookUp(ofBytes bytes: Int) {
        unanswered += 1
        uncommittedBytes += bytes
    }

    func endLookUp(ofBytes bytes: Int) {
        unanswered -= 1
        uncommittedBytes -= bytes
    }

    /// Counts the bytes of a posted body until the step is committed.
    func charge(_ bytes: Int, to step: Step) {
        step.postedBytes += bytes
        uncommittedBytes += bytes
    }

    /// Gathers the newest step of a session.
    func gather(_ step: Step) {
        if let first = step.session.uncommitted.first, first.beginsForm, first !== step { return }
        gathering.append(step)
    }

    /// Gathers a step that waited for a step that begins a form.
    private func release(after step: Step) {
        guard step.beginsForm, let next = step.next else { return }
        gathering.append(next)
        hasReleased = true
    }

    func attach(_ reply: consuming Reply, to step: Step) {
        step.replies.append(reply)
        unanswered += 1
    }

    /// Removes a step that was rolled back, so that it is not submitted.
    func withdraw(_ step: Step) {
        step.isRolledBack = true
        release(step)
        guard step.isGathering else { return addUndecided(step.session.id) }
        gathering.removeAll { $0 === step }
    }

    /// Whether the journal may still accept a step of the session that was submitted and rolled
    /// back. A reader that loads the session from the journal before this has ended may miss the
    /// step.
    package func isUndecided(_ id: SessionID) -> Bool { undecided[id] != nil }

    private func addUndecided(_ id: SessionID) {
        guard isShared else { return }
        lastRollback += 1
        let rollback = lastRollback
        undecided[id] = rollback
        afterSubmitted { [unowned self] in
            if undecided[id] == rollback { undecided[id] = nil }
        }
    }

    /// Called when the journal has lost history: it no longer accepts steps that were submitted
    /// before, because they name another generation.
    func forgetUndecided() { undecided = [:] }

    /// Uncounts the replies and the bytes of a step.
    private func release(_ step: Step) {
        unanswered -= step.replies.count
        uncommittedBytes -= step.postedBytes
    }

    // MARK: Committing

    /// The most batches that one ``commit(in:)`` submits.
    private static let batchesInARound = 8

    /// Submits the collected steps to the journal, as one batch. Called once a round.
    ///
    /// If the journal ends the batch at once, actions that waited for it continue, and their
    /// decisions are submitted here too. After the limit of batches the rest is left for later
    /// rounds, so that an action that decides without end cannot starve other requests.
    func commit(in table: SessionTable) {
        for _ in 0..<Self.batchesInARound {
            guard !gathering.isEmpty else { return }
            commitBatch(in: table)
        }
        if !gathering.isEmpty { _ = hop { $0.commit() } }
    }

    private func commitBatch(in table: SessionTable) {
        records.finish()
        let batch = gathering
        gathering.removeAll(keepingCapacity: true)
        sizes.record(batch.count)
        for step in batch {
            step.session.updateTags(in: step)
            step.isGathering = false
        }
        var whole = Batch()
        if keepsRecords {
            for step in batch {
                let part = step.takeBatch()
                if whole.isEmpty { whole = part } else { whole.append(part) }
            }
        }
        submit(whole, .steps(batch), table)
    }

    /// A batch that the journal has not ended yet.
    private enum Flight {
        case steps([Step])
        /// The end of a session that is not in memory. It is not part of a step: its failure does
        /// not fail the commits of other sessions.
        case deletion(SessionID, SessionKey, OwnedSession?)
        /// Not a batch: a caller that waits for the batches before it.
        case barrier(() -> Void)

        var steps: [Step] { if case .steps(let steps) = self { steps } else { [] } }
    }

    /// Submits the end of a session that is not in memory.
    func submit(
        _ batch: Batch, deleting id: SessionID, _ key: SessionKey, _ owned: OwnedSession?,
        in table: SessionTable
    ) {
        submit(batch, .deletion(id, key, owned), table)
    }

    /// Called when the journal has lost history: the outcomes of deletions under way are unknown,
    /// and stay so.
    func abandonDeletions(in table: SessionTable, _ failure: JournalFailure) {
        var deletions: [(SessionID, OwnedSession?)] = []
        for index in inFlight.indices {
            guard case .deletion(let id, _, let owned) = inFlight[index] else { continue }
            deletions.append((id, owned))
            inFlight[index] = .steps([])
        }
        for (id, owned) in deletions {
            SessionDeleter(table: table).batchEnded(id, owned, failure)
        }
    }

    private func submit(_ batch: Batch, _ flight: Flight, _ table: SessionTable) {
        // Batches that were abandoned may still end. Their ends would be taken for the end of this
        // batch.
        guard !isStopped else { return }
        inFlight.append(flight)
        let hop = hop
        let result = committer.commit(batch) { verdict in
            _ = hop { table in table.commits.batchEnded(verdict, in: table) }
        }
        switch result {
        case .done: batchEnded(.committed, in: table)
        case .pending: break
        }
    }

    private func batchEnded(_ verdict: Verdict, in table: SessionTable) {
        guard let flight = inFlight.popFirst() else {
            precondition(isStopped, "the journal ended a batch that it was not given")
            return
        }
        defer {
            passBarriers()
            finishWait(in: table)
        }
        let batch: [Step]
        switch flight {
        case .steps(let steps): batch = steps
        case .deletion(let id, let key, let owned):
            return SessionDeleter(table: table).batchEnded(id, owned, verdict.failure(of: key))
        // Barriers are removed with the batch before them.
        case .barrier: return
        }
        switch verdict {
        case .committed: for step in batch where !step.isRolledBack { commit(step) }
        case .partial(let refused):
            for step in batch where !step.isRolledBack {
                guard let refusal = refused[step.session.key] else {
                    commit(step)
                    continue
                }
                // Rolls back even a step that could fail alone, because memory differs from the
                // journal.
                let failure = refusal.failure(of: step.session.key)
                FailedCommit(session: step.session, failure: failure).rollBack(from: step)
            }
        case .failed(let failure): return batchFailed(batch, failure)
        }
        for step in batch where !step.isRolledBack { step.session.publish() }
    }

    private func commit(_ step: Step) {
        release(step)
        release(after: step)
        if !step.replies.isEmpty { step.session.table.feeds.deliveries.answered() }
        step.session.commit(step)
        if isShared { step.session.table.placement?.committed(step) }
    }

    private func batchFailed(_ batch: [Step], _ failure: JournalFailure) {
        for step in batch where !step.isRolledBack {
            let failed = FailedCommit(session: step.session, failure: failure)
            guard failed.isHarmless(for: step) else {
                failed.rollBack(from: step)
                continue
            }
            failed.skip()
            release(step)
            step.session.commit(step, isTaken: false)
        }
    }

    // MARK: The end

    /// Calls `act` when all submitted batches have ended, with success or without.
    func whenCommitted(_ act: @escaping () -> Void) {
        guard !inFlight.isEmpty else { return act() }
        completion = act
    }

    /// Calls `act` when the batches submitted so far have ended, or when the process ends.
    package func afterSubmitted(_ act: @escaping () -> Void) {
        if inFlight.isEmpty { act() } else { inFlight.append(.barrier(act)) }
    }

    private func passBarriers() {
        while case .barrier(let act)? = inFlight.first {
            inFlight.removeFirst()
            act()
        }
    }

    private func finishWait(in table: SessionTable) {
        if hasReleased, completion != nil { commit(in: table) }
        hasReleased = false
        if inFlight.isEmpty { complete() }
    }

    /// Abandons all uncommitted steps because the process ends.
    func abandonSteps() {
        hasStopped = true
        for step in inFlight.flatMap(\.steps) + gathering {
            step.abandon()
            if step.beginsForm { step.next?.abandon() }
        }
        for case .barrier(let act) in inFlight { act() }
        gathering = []
        inFlight = []
    }

    /// Calls the completion, because the end of an abandoned batch does not call it.
    func complete() {
        let act = completion
        completion = nil
        act?()
    }
}
