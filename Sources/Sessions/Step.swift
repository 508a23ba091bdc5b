package import Feeds
internal import Storage

/// Decisions of a session that must be carried out: *records* to commit first, *events* to publish
/// and *replies* to send only after the commit.
///
/// Design: this is the contract between deciding and doing. One step collects all decisions of a
/// session in one round of its loop. While its commit is under way the next step collects further
/// decisions. Nothing is published that a crash could undo.
package final class Step {
    package let session: Session
    /// The session's next step; see ``StepQueue``.
    var next: Step?
    /// The items for the journal; empty if it stores no records.
    var batch = Batch()
    /// The end of the history upon which the step is decided.
    private let start: HistoryPosition
    /// See ``Session/lineage``.
    let lineage: UInt64
    /// The end of the history that is committed when the step is.
    var end: HistoryEnd
    /// Whether the step creates its session. See ``isCreation``.
    var creates = false
    /// Whether the step still collects decisions: it is not submitted to the journal.
    var isGathering = true
    /// Whether it has the first snapshot of this program's form of the state. Later records have
    /// that form, so the session's next step is submitted only when this one is committed.
    var beginsForm = false
    /// Whether the step was rolled back, alone or with an earlier one. The result of its commit is
    /// then ignored.
    var isRolledBack = false
    /// The bytes of the posted bodies whose decisions it has, and of its snapshots.
    var postedBytes = 0
    /// The charge of the state that a fork begins with.
    var charge: WorkCharge?
    /// Sent after the commit, in this order.
    var replies: [Reply] = []
    /// The decided answers to requests with an `Idempotency-Key`.
    var answered: [StoredAnswer] = []
    /// The preliminary answers to such requests, while their effects have not ended.
    var preliminary: [StoredAnswer] = []
    /// The waits for effects that are ended by one of `replies`. Their actions were decided earlier
    /// and may be committed although this step fails.
    var waited: [SettledWaits.Wait] = []
    /// The commits of the traced requests whose decisions it has.
    var traced: [any TracedWork] = []
    /// The records, if other nodes read the session; sent to them after the commit.
    package var records: CommittedRecords?
    /// The session's timers before the step; nil if the step changes none.
    var timersBefore: SessionTimers?
    /// The session's tags before the step; nil if the step changes none.
    var tagsBefore: SessionTags??
    /// Whether it counts an attempt of a late timer; see ``Session/countLateTimer()``.
    var countsLateTimer = false
    /// The work of effects, carried out after the commit, in this order.
    var effects: [EffectOrder] = []

    init(_ session: Session, end: HistoryEnd) {
        self.session = session
        start = end.position
        lineage = session.lineage
        self.end = end
    }

    /// Whether the step creates its session. A property of its own for the reason of ADR-0013.
    package var isCreation: Bool { creates }

    /// The position that the next records of the step continue; nil if they create the session.
    var continued: HistoryPosition? { batch.runs.last?.last ?? (creates ? nil : start) }

    /// Takes its part of a batch, which says where the session's history has to end.
    func takeBatch() -> Batch {
        var part = Batch()
        // Moved, not copied: nothing is added to a step after this.
        swap(&part, &batch)
        assert(part.runs.first?.followsItsEnd ?? true, "a step that continues another end")
        if part.runs.isEmpty, !part.isEmpty {
            part.expected.append(ExpectedEnd(session.key, at: start, lineage: lineage))
        }
        session.table.placement?.stamp(&part, of: self)
        return part
    }

    /// The replies that end no wait for effects.
    var repliesToDecisions: [Reply] {
        guard !waited.isEmpty else { return replies }
        let tokens = Set(waited.map(\.token))
        return replies.filter { reply in
            guard case .content(_, let token) = reply else { return true }
            return !tokens.contains(token)
        }
    }

    /// Ends the traces of its commit.
    func endTraces(_ failure: String?) {
        guard !traced.isEmpty else { return }
        for commit in traced { commit.end(failure.map(CommitFailure.init)) }
        traced = []
    }

    /// Abandons the step because the process ends before the commit: no reply is sent, and the
    /// tasks that wait are resumed.
    func abandon() {
        // The rollback has resumed the tasks already, and each may be resumed only once.
        guard !isRolledBack else { return }
        endTraces("the server ended before the commit")
        for case .applied(let continuation) in replies { continuation.resume(returning: false) }
        for case .part(let act) in replies {
            act(JournalFailure(reason: .outcomeUnknown, detail: "the server is shutting down"))
        }
        replies = []
        // The Cyclers have ended; a task that is never resumed would never end.
        for case .carryOn(let resume) in effects { resume(session) }
        effects = []
    }
}
