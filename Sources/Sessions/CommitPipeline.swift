internal import DequeModule
internal import Storage

/// The way of a table's steps through the journal.
///
/// Design: steps of all sessions that gather in one round go to the journal as one batch. Batches
/// end in the order in which they were handed in, so the first in flight is the one that ended.
final class CommitPipeline {
    private let journal: any Journal
    private let limits: SessionLimits
    private let hop: LoopServices.Hop
    private var gathering: [Step] = []
    private var inFlight: Deque<Flight> = []
    /// Replies that wait for the journal.
    private var unanswered = 0
    /// Bytes of posted bodies in steps that are not committed, and of those that wait for their key.
    private var uncommittedBytes = 0
    private var committed: (() -> Void)?
    private var isStopped = false

    init(_ journal: any Journal, _ limits: SessionLimits, hop: @escaping LoopServices.Hop) {
        self.journal = journal
        self.limits = limits
        self.hop = hop
    }

    // MARK: Within a round

    /// Whether one more answer may wait for the journal.
    var hasRoom: Bool {
        unanswered < limits.unanswered && uncommittedBytes < limits.uncommittedBytes
    }

    /// A request waits for the journal to say whether it knows its key: it counts as one whose
    /// commit is under way.
    func beginLookUp(ofBytes bytes: Int) {
        unanswered += 1
        uncommittedBytes += bytes
    }

    func endLookUp(ofBytes bytes: Int) {
        unanswered -= 1
        uncommittedBytes -= bytes
    }

    /// A body that was posted is part of the step.
    func charge(_ bytes: Int, to step: Step) {
        step.postedBytes += bytes
        uncommittedBytes += bytes
    }

    func gather(_ step: Step) { gathering.append(step) }

    func attach(_ reply: consuming Reply, to step: Step) {
        step.replies.append(reply)
        unanswered += 1
    }

    /// A step that was rolled back is not handed in.
    func withdraw(_ step: Step) {
        step.isRolledBack = true
        release(step)
        guard step.isGathering else { return }
        gathering.removeAll { $0 === step }
    }

    /// Nothing of the step waits for the journal any more.
    private func release(_ step: Step) {
        unanswered -= step.replies.count
        uncommittedBytes -= step.postedBytes
    }

    // MARK: Committing

    /// Batches that one ``commit(in:)`` hands in at the most.
    private static let batchesInARound = 8

    /// Hands what has gathered to the journal, as one batch. Called once a round.
    ///
    /// A journal that ends a batch at once lets actions continue that waited for it, and what they
    /// decide gathers when the round is over: it is handed in here too. An action that decides
    /// without end does so in later rounds, so that others have their turn.
    func commit(in table: SessionTable) {
        for _ in 0..<Self.batchesInARound {
            guard !gathering.isEmpty else { return }
            commitBatch(in: table)
        }
        if !gathering.isEmpty { _ = hop { $0.commit() } }
    }

    private func commitBatch(in table: SessionTable) {
        table.records.finish()
        let batch = gathering
        gathering.removeAll(keepingCapacity: true)
        for step in batch { step.isGathering = false }
        var whole = Batch()
        if journal.keepsRecords {
            for step in batch {
                // Handed over, not copied: nothing is added to a step from here on.
                var part = Batch()
                swap(&part, &step.batch)
                if whole.isEmpty { whole = part } else { whole.append(part) }
            }
        }
        handIn(whole, .steps(batch), table)
    }

    /// One batch on its way to the journal.
    private enum Flight {
        case steps([Step])
        /// The end of a session that is not in memory: it is not decided in a step, and whatever
        /// is wrong with it fails nobody else.
        case deletion(SessionID)

        var steps: [Step] { if case .steps(let steps) = self { steps } else { [] } }
    }

    /// Hands in the end of a session that is not in memory.
    func handIn(_ batch: Batch, deleting id: SessionID, in table: SessionTable) {
        handIn(batch, .deletion(id), table)
    }

    private func handIn(_ batch: Batch, _ flight: Flight, _ table: SessionTable) {
        // Batches that were given up may end yet: what is handed in now would be taken for one.
        guard !isStopped else { return }
        inFlight.append(flight)
        let hop = hop
        let ending = journal.commit(batch) { failure in
            _ = hop { table in table.commits.batchEnded(failure, in: table) }
        }
        switch ending {
        case .done: batchEnded(nil, in: table)
        case .pending: break
        }
    }

    private func batchEnded(_ failure: JournalFailure?, in table: SessionTable) {
        guard let flight = inFlight.popFirst() else {
            precondition(isStopped, "the journal ended a batch that it was not given")
            return
        }
        defer { finishWait() }
        let batch: [Step]
        switch flight {
        case .steps(let steps): batch = steps
        case .deletion(let id): return SessionDeleter(table: table).batchEnded(id, failure)
        }
        for step in batch where !step.isRolledBack {
            if let failure {
                let failed = FailedCommit(session: step.session, failure: failure)
                guard failed.isHarmless(for: step) else {
                    failed.rollBack(from: step)
                    continue
                }
                failed.skip()
            }
            release(step)
            step.session.commit(step, isTaken: failure == nil)
        }
        guard failure == nil else { return }
        for step in batch where !step.isRolledBack { step.session.publish() }
    }

    // MARK: The end

    /// `act` comes when everything that was handed in has ended, well or not.
    func whenCommitted(_ act: @escaping () -> Void) {
        guard !inFlight.isEmpty else { return act() }
        committed = act
    }

    private func finishWait() {
        guard inFlight.isEmpty, let act = committed else { return }
        committed = nil
        act()
    }

    /// The process ends: no step is committed any more.
    func giveUp() {
        for step in inFlight.flatMap(\.steps) + gathering { step.giveUp() }
        gathering = []
        inFlight = []
        isStopped = true
    }

    /// Its caller waits for commits that end nowhere any more.
    func stop() {
        let act = committed
        committed = nil
        act?()
    }
}
