// Handles reports of the running steps' tasks, and the end of the session.

extension ReactorCore {
    /// Receives a mutation of a running step. Returns whether the step was running; `false`:
    /// dropped, and the observer was notified.
    package func receive(
        _ mutation: R.Mutation, from run: EffectRun<R>, observer: some ReactorCoreObserver<R>
    ) -> Bool {
        guard isRunning(run.id) else {
            observer.dropped(mutation, by: run.action, because: .ended)
            return false
        }
        beginTurn()
        defer { isInTurn = false }
        apply(mutation, run.action, observer)
        return true
    }

    /// Receives an activity of a running step. Returns whether the step was running; `false`:
    /// dropped, and the observer was notified.
    package func receive(
        activity: R.Activity, from run: EffectRun<R>, observer: some ReactorCoreObserver<R>
    ) -> Bool {
        guard isRunning(run.id) else {
            observer.dropped(activity, by: run.action)
            return false
        }
        beginTurn()
        defer { isInTurn = false }
        observer.emitted(activity, by: run.action, core: self)
        return true
    }

    /// Handles the end of a step's task: later parts of its effect continue, under the same action.
    ///
    /// Ignored for a cancelled step: it has ended, and a later error is not a failure.
    ///
    /// - Returns: nil, unless the step was a pause. Then the host receives this action again and
    ///   calls ``endRepetition(_:observer:)``.
    @discardableResult
    package func ended(
        _ run: EffectRun<R>, failure: (any Error)?, observer: some ReactorCoreObserver<R>
    ) -> Repetition<R>? {
        guard let entry = steps.remove(run.id) else { return nil }
        beginTurn()
        defer { isInTurn = false }
        stepsTaken = 0
        guard !entry.isPause else {
            observer.ended(run.id, named: run.effectID, action: run.action, hasFailed: false)
            return repetition(of: run.action)
        }
        if let failure {
            noteFailure(failure, of: run.action, step: entry.effectID)
            observer.failed(
                ReactorFailure(
                    place: .effect, error: failure, action: run.action, run: run.id,
                    effectID: run.effectID))
        }
        observer.ended(
            run.id, named: run.effectID, action: run.action, hasFailed: failure != nil)
        proceed(in: entry.frame, failed: failure != nil, run.action, observer)
        settle(run.action, observer)
        continueCancelled(observer)
        return nil
    }

    /// Whether applying a source's present value would change the state, for a session that may
    /// have applied it before it was evicted. Nothing is kept and the observer is not notified.
    package func wouldChange(
        by element: R.Source.Element, isSame: (R.State, R.State) -> Bool
    ) -> Bool {
        guard isOpen else { return true }
        beginTurn()
        defer { isInTurn = false }
        return reactor.wouldChange(current, by: element, isSame: isSame)
    }

    /// Handles the end of a source's stream: the observer is notified, the session continues.
    ///
    /// Ignored once the session has ended, because that ends its streams.
    package func ended(
        source: R.Source, failure: (any Error)?, observer: some ReactorCoreObserver<R>
    ) {
        guard !ended else { return }
        if let failure {
            observer.failed(
                ReactorFailure(
                    place: .source, error: failure, action: .none, source: source.name))
        } else {
            observer.sourceEnded(source.name)
        }
    }

    /// Running steps are cancelled without their continuations, actions are refused.
    package func end(observer: some ReactorCoreObserver<R>) {
        guard !ended else { return }
        ended = true
        isEnding = false
        isOpen = false
        cancelAll(observer: observer)
    }

    /// An effect ends the session. From now on it receives nothing. After the turn, the host ends
    /// the session, or rolls back the end together with the request.
    func beginEnd() {
        isEnding = true
        isOpen = false
    }

    func takeBackEnd() {
        guard isEnding else { return }
        isEnding = false
        isOpen = !ended && !isStubbed
    }

    /// Whether an effect has ended the session. The host must then call ``end(observer:)``.
    package var endsItself: Bool { isEnding }

    package func cancelAll(observer: some ReactorCoreObserver<R>) {
        beginTurn()
        defer { isInTurn = false }
        let (runs, actions) = steps.removeAll()
        unsettled = [:]
        for (run, entry) in runs {
            observer.cancel(run, named: entry.effectID, action: entry.action)
        }
        for action in actions { observer.settled(action) }
    }

    /// Replaces the state after a failed commit.
    ///
    /// Every running step is cancelled without continuations: its history was rolled back.
    package func restore(state: R.State, version: UInt64, observer: some ReactorCoreObserver<R>) {
        cancelAll(observer: observer)
        takeBackEnd()
        current = state
        count = version
    }

    package var runningCount: Int { steps.running.count }

    /// The running steps, the oldest first.
    package var runningSteps: [(run: RunID, id: EffectID?, action: ActionTag)] {
        steps.running.sorted { $0.key.number < $1.key.number }.map {
            ($0.key, $0.value.isPause ? Self.pauseID : $0.value.effectID, $0.value.action)
        }
    }

    /// Whether no step of this action is running and none of its continuations is due.
    @usableFromInline
    package func isSettled(_ action: ActionTag) -> Bool { steps.isSettled(action) }

    @usableFromInline
    func isRunning(_ run: RunID) -> Bool { steps.running[run] != nil }
}
