internal import Feeds
internal import Storage

/// Handles a failed commit of a session: everything after the last committed record is undone.
///
/// Later steps depend on the one that failed, and are rolled back with it. Effects are cancelled.
/// Requests that were decided get the failure as their answer; requests that depend on none of the
/// steps are answered again, from the committed state.
struct FailedCommit {
    let session: Session
    let failure: JournalFailure
    /// Whether the journal has given its verdict on a step of the session. If not, steps that are
    /// under way may be in the journal.
    var isVerdict = true
    /// Whether committed records may be lost as well. Then no request is answered from the
    /// committed state.
    var isHistoryLost = false

    private var history: History { session.history }

    /// Whether the step can be dropped without loss: it has no record, no note and no answer to a
    /// key, so later steps do not depend on it and may be committed. A step with the first snapshot
    /// of a new form is not harmless, because later records have that form.
    func isHarmless(for step: Step) -> Bool {
        session.uncommitted.first === step && !step.creates && !step.beginsForm
            && step.end.position == history.committed.position && step.effects.isEmpty
            && step.answered.isEmpty && step.timersBefore == nil && step.tagsBefore == nil
    }

    /// Continues without a harmless step.
    func skip() {
        // The step may have had the newest snapshot, or a new time for the expiry row.
        session.persistence?.snapshots.forget()
        forgetExpiry()
        session.report(.commitFailed(failure.detail))
    }

    /// Rolls back a step and all that are newer.
    func rollBack(from step: Step) {
        let rolledBack = session.uncommitted.removeAll(from: step)
        guard !rolledBack.isEmpty else { return }
        undo(rolledBack)
        if session.isAwake { invalidate() }
    }

    /// Undoes everything, because another node owns the session or may own it. This node no longer
    /// decides on it.
    func depose() {
        undoAll()
        if session.isAwake { invalidate() }
    }

    /// Rolls back every step, and removes the session from memory. Its subscribers stay.
    ///
    /// - Precondition: the session is in memory, and history is lost.
    func forget() {
        undoAll()
        guard session.isAwake else { return }
        session.cancelTasks()
        session.leaveMemory()
    }

    /// The journal may still have the earlier time, so this loop no longer knows it.
    private func forgetExpiry() {
        if session.persistence != nil { session.feed.expiry = 0 }
    }

    private func undoAll() {
        undo(session.uncommitted.first.map { session.uncommitted.removeAll(from: $0) } ?? [])
    }

    /// Undoes the steps. A session that was never created leaves memory.
    private func undo(_ rolledBack: [Step]) {
        // The record numbers of the failed steps are used again.
        session.table.dropShown()
        // Lasts until this returns, because encoding the state meanwhile may fail, and must decide
        // nothing.
        session.attempt.begin(.rollback)
        defer { session.attempt.begin(.none) }
        // The newest snapshot may be in a step that is rolled back.
        session.persistence?.snapshots.forget()
        forgetExpiry()
        history.rollBack(to: history.committed)
        session.meters.ahead.forget()
        session.beginLineage()
        cancelEffects()
        session.takeBackEnd()
        session.restoreTimers(before: rolledBack, failure)
        session.restoreTags(before: rolledBack)
        let wasNeverCreated = rolledBack.contains(where: \.creates)
        for step in rolledBack {
            session.table.commits.withdraw(step)
            step.endTraces(failure.detail)
            session.keys?.rollBack(step)
            let failed = FailedCommit(session: session, failure: failure(of: step))
            for reply in step.repliesToDecisions {
                failed.fail(reply, hasNoState: wasNeverCreated || isHistoryLost)
            }
        }
        session.keys?.abandonWaits()
        failWaits(rolledBack)
        if !rolledBack.isEmpty { session.report(.commitFailed(failure.detail)) }
        // The waiting actions are cancelled. They have to be resumed, so that they end. Their
        // results are discarded, because their Cycler was replaced.
        for step in rolledBack {
            for case .carryOn(let resume) in step.effects { resume(session) }
        }
        guard wasNeverCreated else { return }
        // Other references to the session may remain: its sources must end now.
        session.cancelTasks()
        session.leave()
        let mayExist = rolledBack.contains {
            $0.creates && failure(of: $0).reason == .outcomeUnknown
        }
        session.table.remove(session, mayExist: mayExist)
    }

    private func failure(of step: Step) -> JournalFailure {
        guard !isVerdict, !step.isGathering else { return failure }
        return JournalFailure(
            reason: .outcomeUnknown, detail: failure.detail, publicDetail: failure.publicDetail)
    }

    /// Rolls the machine back to the committed version. Cancels all effects, because the machine's
    /// list of running effects may differ from the tasks that were launched.
    private func cancelEffects() {
        session.machine?.rollBack(to: history.committed.version, in: session)
        let steps = session.tasks.removeSteps()
        steps.cancel()
        session.traces.removeAll()
        session.attempt.hasSettled = false
        session.attempt.endsSession = false
    }

    /// Removes the session from memory, if the journal can restore it. A failed flush may have
    /// written the records all the same, so memory may differ from the journal. The next request
    /// loads the session from the journal. A session that listens to sources is loaded without a
    /// request: at once, or at the next tick.
    private func invalidate() {
        guard let persistence = session.persistence else { return }
        let table = session.table
        let listens = session.tasks.isListening
        session.cancelTasks()
        if failure.reason == .moved {
            table.placement?.countMoved()
            table.loads.dueAtNextTick.remove(session.id)
        } else {
            table.placement?.giveUp(session)
        }
        if let placement = table.placement {
            // Another node may continue the session.
            session.leaveMemory()
            placement.carryOn(session.feed, in: table)
        } else {
            session.feed.abandonReadersOfJournal()
            session.leaveMemory()
            session.feed.readJournal()
        }
        guard failure.reason != .moved, listens else { return }
        // If the session has committed nothing since it woke, the present values of its sources may
        // be what failed to commit. If it woke at once, it would fail again, as fast as the disk
        // fails.
        if persistence.hasCommitted {
            table.loads.reload([session.id], in: table)
        } else {
            table.loads.dueAtNextTick.insert(session.id)
        }
    }

    // MARK: Answers

    private func fail(_ reply: Reply, hasNoState: Bool) {
        switch reply {
        case .content(_, let token): answer(token)
        case .state(_, _, let token) where hasNoState: answer(token)
        // Among several nodes the committed state may no longer be the newest.
        case .state(_, _, let token) where session.table.sharesJournal: answerReader(token)
        case .log(let request) where hasNoState: answer(request.token)
        case .log(let request) where session.table.sharesJournal: answerReader(request.token)
        case .state(_, let version, let token):
            session.table.output.reply(
                StateReader(session: session).content(version, for: token), to: token)
        case .subscription(let request, _, _) where hasNoState: answer(request.token)
        case .subscription(var request, _, _):
            request.isConfirmed = false
            guard let opener = StreamOpener(session.feed) else { return answer(request.token) }
            opener.openNow(request)
        case .log(let request) where hasNoState: answer(request.token)
        case .log(let request): LogReader(session: session).deliver(request)
        case .applied(let continuation): continuation.resume(returning: false)
        case .part(let act): act(failure)
        }
    }

    private func answerReader(_ token: UInt64) {
        session.table.output.reply(session.content(.unreadable(failure)), to: token)
    }

    private func answer(_ token: UInt64) {
        session.table.output.reply(session.content(.failed(failure)), to: token)
    }

    /// Replies to the requests that waited for effects to end: the effects are cancelled, and may
    /// run again when the session is next in memory. Only the requests whose own actions were
    /// rolled back have failed.
    private func failWaits(_ rolledBack: [Step]) {
        for wait in rolledBack.flatMap(\.waited) + session.waits.removeAll() {
            let step = rolledBack.first { $0 === wait.step }
            guard !isHistoryLost, step == nil else {
                let failed = FailedCommit(
                    session: session, failure: step.map(failure(of:)) ?? failure)
                failed.answer(wait.token)
                continue
            }
            session.table.output.reply(session.content(wait.unsettled), to: wait.token)
        }
    }
}

extension JournalFailure {
    static func moved(_ key: SessionKey) -> JournalFailure {
        CommitRefusal.moved(nil).failure(of: key)
    }
}
