internal import Storage

/// A commit of a session that failed: nothing after the last committed record has happened.
///
/// Later steps were decided upon the one that failed, and are rolled back with it. Effects are cancelled,
/// and requests that were decided are answered with the failure; those that depend on nothing that
/// failed are answered again, about what is committed.
struct FailedCommit {
    let session: Session
    let failure: JournalFailure

    private var history: History { session.history }

    /// Whether nothing of what happened is lost with a step that the journal did not take: it has no
    /// record and no note, so later steps do not depend on it, and the journal may take them.
    func isHarmless(for step: Step) -> Bool {
        session.uncommitted.first === step && !step.creates
            && step.end.position == history.committed.position && step.effects.isEmpty
    }

    /// Continues without a step of which nothing is lost.
    func skip() {
        // It may have had one; another one follows after the usual number of records.
        session.persistence?.snapshotNumber = 0
        session.report(.commitFailed(failure.detail))
    }

    /// Rolls back a step and all that are newer.
    func rollBack(from step: Step) {
        let rolledBack = session.uncommitted.removeAll(from: step)
        guard !rolledBack.isEmpty else { return }
        // The numbers of what failed are used again.
        session.table.shown = nil
        // To the very end: a look at the state on the way may fail, and decides nothing.
        session.attempt.begin(.rollback)
        defer { session.attempt.begin(.none) }
        // It may be among the steps that were rolled back; another one follows.
        session.persistence?.snapshotNumber = 0
        history.rollBack(to: history.committed)
        cancelEffects()
        session.takeBackEnd()
        let wasNeverCreated = rolledBack.contains(where: \.creates)
        for step in rolledBack {
            session.table.commits.withdraw(step)
            session.keys?.rollBack(step)
            for reply in step.replies where !step.endsWait(reply) {
                fail(reply, wasNeverCreated: wasNeverCreated)
            }
        }
        failWaits(rolledBack)
        session.report(.commitFailed(failure.detail))
        // Cancelled, and of a Cycler that was replaced: they end, and their results are discarded.
        for step in rolledBack {
            for case .carryOn(let go) in step.effects { go(session) }
        }
        guard !wasNeverCreated else {
            // Other references to the session may remain; it listens no more.
            session.cancelTasks()
            session.fallAsleepAtOnce()
            return session.table.remove(session)
        }
        if session.persistence != nil { session.invalidate() }
    }

    /// Takes the machine back to what is committed. No effect continues: what the machine thinks
    /// is running and what has been launched would differ from now on.
    private func cancelEffects() {
        session.machine?.rollBack(to: history.committed.version, in: session)
        let steps = session.tasks.removeSteps()
        steps.cancel()
        session.attempt.hasSettled = false
    }

    // MARK: Answers

    private func fail(_ reply: Reply, wasNeverCreated: Bool) {
        switch reply {
        case .content(_, let token): answer(token)
        case .state(_, _, let token) where wasNeverCreated: answer(token)
        case .state(_, let version, let token):
            session.table.output.reply(StateReader(session: session).content(version), to: token)
        case .subscription(let request, _, _) where wasNeverCreated: answer(request.token)
        case .subscription(let request, _, _): StreamOpener(session: session).openNow(request)
        case .log(let request) where wasNeverCreated: answer(request.token)
        case .log(let request): LogReader(session: session).deliver(request)
        case .applied(let continuation): continuation.resume(returning: false)
        }
    }

    private func answer(_ token: UInt64) {
        session.table.output.reply(session.content(.failed(failure)), to: token)
    }

    /// Replies to requests that waited for effects to end: they have, being cancelled. Only those whose
    /// own actions were rolled back have failed.
    private func failWaits(_ rolledBack: [Step]) {
        for wait in rolledBack.flatMap(\.waited) + session.waits.removeAll() {
            guard !rolledBack.contains(where: { $0 === wait.step }) else {
                answer(wait.token)
                continue
            }
            session.keys?.endWaiting(wait.token)
            session.table.output.reply(session.content(wait.answer), to: wait.token)
        }
    }
}
