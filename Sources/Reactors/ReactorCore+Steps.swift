// Reports of the running steps' tasks, and the end of the session.

extension ReactorCore {
    /// Receives a mutation of a running step.
    ///
    /// - Returns: whether the step was running; `false`: dropped, and the observer was notified.
    package func receive<Observer: ReactorCoreObserver>(
        _ mutation: R.Mutation, from run: EffectRun<R>, observer: Observer
    ) -> Bool where Observer.R == R {
        guard isRunning(run.id) else {
            observer.dropped(mutation, by: run.action, because: .ended)
            return false
        }
        beginTurn()
        defer { isInTurn = false }
        apply(mutation, run.action, observer)
        return true
    }

    /// Receives an activity of a running step.
    ///
    /// - Returns: whether the step was running; `false`: dropped, and the observer was notified.
    package func receive<Observer: ReactorCoreObserver>(
        activity: R.Activity, from run: EffectRun<R>, observer: Observer
    ) -> Bool where Observer.R == R {
        guard isRunning(run.id) else {
            observer.dropped(activity, by: run.action)
            return false
        }
        beginTurn()
        defer { isInTurn = false }
        observer.emitted(activity, by: run.action, core: self)
        return true
    }

    /// A step's task has ended: later parts of its effect continue, under the same action.
    ///
    /// Does nothing for a cancelled step: the cancellation was its end, and an error thrown since
    /// then is no failure.
    package func ended<Observer: ReactorCoreObserver>(
        _ run: EffectRun<R>, failure: (any Error)?, observer: Observer
    ) where Observer.R == R {
        guard let entry = steps.remove(run.id) else { return }
        beginTurn()
        defer { isInTurn = false }
        stepsTaken = 0
        if let failure {
            observer.failed(
                ReactorFailure(failure, ofStep: run.id, named: run.effectID, action: run.action))
        }
        observer.ended(run.id, named: run.effectID, action: run.action)
        proceed(in: entry.frame, failed: failure != nil, run.action, observer)
        settle(run.action, observer)
        continueCancelled(observer)
    }

    /// Whether applying a source's present value would change the state, for a session that may
    /// have applied it in an earlier life.
    ///
    /// It is tried on a copy: hooks, `mutate` and `reduce` are called, nothing is kept and nobody
    /// is notified. A value that a hook rejects, or fails on, changes nothing; an effect with more
    /// than mutations always counts as a change.
    ///
    /// - Parameter isSame: compares the state with the resulting one.
    package func wouldChange(
        by element: R.Source.Element, isSame: (R.State, R.State) -> Bool
    ) -> Bool {
        guard isOpen else { return true }
        beginTurn()
        defer { isInTurn = false }
        var state = current
        do {
            switch element {
            case .mutation(let mutation):
                try preview(mutation, &state)
            case .action(let action):
                guard let accepted = try reactor.transform(action: action) else { return false }
                switch reactor.mutate(state: current, action: accepted).node {
                case .none: return false
                case .just(let mutation): try preview(mutation, &state)
                case .several(let mutations): for one in mutations { try preview(one, &state) }
                case .tree: return true
                }
            }
        } catch {
            return false
        }
        return !isSame(current, state)
    }

    private func preview(_ mutation: R.Mutation, _ state: inout R.State) throws {
        guard let mutation = try reactor.transform(mutation: mutation) else { return }
        reactor.reduce(state: &state, mutation: mutation)
    }

    /// A source's stream has ended: the observer is notified, the session continues.
    ///
    /// Does nothing once the session has ended, which ends its streams.
    package func ended<Observer: ReactorCoreObserver>(
        source: R.Source, failure: (any Error)?, observer: Observer
    ) where Observer.R == R {
        guard !ended else { return }
        if let failure {
            observer.failed(ReactorFailure(failure, ofSource: source.name))
        } else {
            observer.sourceEnded(source.name)
        }
    }

    /// Ends the session: running steps are cancelled without their continuations, actions are
    /// refused.
    package func end<Observer: ReactorCoreObserver>(observer: Observer) where Observer.R == R {
        guard !ended else { return }
        ended = true
        isOpen = false
        cancelAll(observer: observer)
    }

    /// Cancels every running step without its continuations.
    package func cancelAll<Observer: ReactorCoreObserver>(
        observer: Observer
    ) where Observer.R == R {
        beginTurn()
        defer { isInTurn = false }
        let (runs, actions) = steps.removeAll()
        for (run, entry) in runs {
            observer.cancel(run, named: entry.effectID, action: entry.action)
        }
        for action in actions { observer.settled(action) }
    }

    /// Replaces the state after a failed commit.
    ///
    /// Every running step is cancelled without its continuations: it belongs to a history that was
    /// rolled back.
    package func restore<Observer: ReactorCoreObserver>(
        state: R.State, version: UInt64, observer: Observer
    ) where Observer.R == R {
        cancelAll(observer: observer)
        current = state
        count = version
    }

    /// The number of running steps.
    package var runningCount: Int { steps.running.count }

    /// Whether no step of this action is running and none of its continuations is due.
    @usableFromInline
    package func isSettled(_ action: ActionTag) -> Bool { steps.isSettled(action) }

    /// Whether the step is running: neither ended nor cancelled.
    @usableFromInline
    func isRunning(_ run: RunID) -> Bool { steps.running[run] != nil }
}
