// The interpreter. A loop over frames instead of recursion: effects can be endless (`.deferred`),
// the stack cannot.

// The position of the interpreter.
private struct Place {
    // Continuations of the present part.
    var frame: EffectFrame?
    // The age of the present part: later cancellations of its name affect it.
    var born: UInt64
    // The merges with parts left to begin, innermost last.
    var opening: [EffectFrame] = []
    let action: ActionTag
}

private enum Outcome {
    case next(EffectPart)
    case done
    case failed
    case waiting
}

extension ReactorCore {
    // Precedent: RxSwift has no limit and overflows the stack. A turn of 100 000 steps takes some
    // ms. Each mutation of a list is a step, and a list that does not fit is not begun: this bounds
    // a turn's time, its memory and its records.
    @usableFromInline
    static var stepLimit: Int { 100_000 }

    // An action's effect is a single list of mutations that exceeds a turn's limit.
    @usableFromInline
    func refuseSteps<Observer: ReactorCoreObserver>(
        of action: ActionTag, _ observer: Observer
    ) where Observer.R == R {
        observer.failed(
            ReactorFailure(place: .effect, error: EffectLimitReached.steps, action: action))
    }

    @usableFromInline
    func perform<Observer: ReactorCoreObserver>(
        _ part: EffectPart, _ tag: ActionTag, _ observer: Observer
    ) where Observer.R == R {
        stepsTaken = 0
        interpret(
            .next(part), Place(frame: nil, born: steps.cancellations, action: tag), observer)
    }

    // Continues the parts that waited in `frame` for a step that has ended.
    func proceed<Observer: ReactorCoreObserver>(
        in frame: EffectFrame?, failed: Bool, _ tag: ActionTag, _ observer: Observer
    ) where Observer.R == R {
        guard let frame else { return }
        stepsMark?.save(frame)
        let place = Place(frame: frame, born: frame.born, action: tag)
        interpret(failed ? .failed : .done, place, observer)
    }

    @usableFromInline
    func continueCancelled<Observer: ReactorCoreObserver>(
        _ observer: Observer
    ) where Observer.R == R {
        while case let due = steps.takeDue(), !due.isEmpty {
            for continuation in due {
                proceed(in: continuation.frame, failed: false, continuation.action, observer)
                settle(continuation.action, observer)
            }
        }
    }

    func settle<Observer: ReactorCoreObserver>(
        _ action: ActionTag, _ observer: Observer
    ) where Observer.R == R {
        if steps.settle(action) { observer.settled(action) }
    }

    private func interpret<Observer: ReactorCoreObserver>(
        _ first: Outcome, _ start: Place, _ observer: Observer
    ) where Observer.R == R {
        var place = start
        var outcome = first
        while true {
            switch outcome {
            case .next(let part):
                outcome = begin(part, &place, observer)
            case .done, .failed:
                guard let frame = place.frame else { return }
                let failed = if case .failed = outcome { true } else { false }
                outcome =
                    switch frame.kind {
                    case .concat: climbConcat(frame, failed, &place)
                    case .merge: climbMerge(frame, failed, &place)
                    }
            case .waiting:
                guard let merge = place.opening.last else { return }
                outcome = open(merge, &place)
            }
        }
    }

    private func climbConcat(
        _ frame: EffectFrame, _ failed: Bool, _ place: inout Place
    ) -> Outcome {
        guard !failed else {
            place.frame = frame.parent
            return .failed
        }
        return advance(frame, &place)
    }

    // The last step of a concat runs in its parent's frame: a chain that renews itself at its end
    // (`.concat(.run(…), .deferred { again() })`) does not grow.
    private func advance(_ frame: EffectFrame, _ place: inout Place) -> Outcome {
        place.born = frame.born
        let step = frame.takeNext()
        place.frame = frame.isExhausted ? frame.parent : frame
        return step.map(Outcome.next) ?? .done
    }

    private func climbMerge(
        _ frame: EffectFrame, _ failed: Bool, _ place: inout Place
    ) -> Outcome {
        frame.running -= 1
        frame.hasFailed = frame.hasFailed || failed
        if !frame.isExhausted { return open(frame, &place) }
        guard frame.running == 0 else { return .waiting }
        place.frame = frame.parent
        return frame.hasFailed ? .failed : .done
    }

    private func open(_ merge: EffectFrame, _ place: inout Place) -> Outcome {
        guard let step = merge.takeNext() else { return .waiting }
        if merge.isExhausted { place.opening.removeLast() }
        merge.running += 1
        place.frame = merge
        place.born = merge.born
        return .next(step)
    }

    private func begin<Observer: ReactorCoreObserver>(
        _ part: EffectPart, _ place: inout Place, _ observer: Observer
    ) -> Outcome where Observer.R == R {
        stepsTaken += 1
        guard stepsTaken <= Self.stepLimit else {
            // A step that has not begun in this turn never begins.
            for merge in place.opening { merge.dropRest() }
            place.opening = []
            return fail(EffectLimitReached.steps, place, observer)
        }
        switch part.kind {
        case .concat(let steps):
            return enter(.concat, steps, &place, observer)
        case .merge(let steps):
            return enter(.merge, steps, &place, observer)
        case .cancel(let id):
            cancel(id, place, observer)
            return .done
        case .error(let error):
            return fail(error, place, observer)
        case .leaf:
            guard let leaf = part as? Leaf else {
                preconditionFailure("the effect's type says that its parts are of this reactor")
            }
            return begin(leaf, place, observer)
        }
    }

    private typealias Leaf = EffectLeaf<R.Mutation, R.State, R.Activity>

    private func begin<Observer: ReactorCoreObserver>(
        _ leaf: Leaf, _ place: Place, _ observer: Observer
    ) -> Outcome where Observer.R == R {
        switch leaf.content {
        case .just(let mutation): apply(mutation, place.action, observer)
        case .several(let mutations):
            return apply(mutations, place, observer)
        case .emit(let activity):
            observer.emitted(activity, by: place.action, core: self)
        case .run(let step):
            return begin(step, place, observer)
        case .deferred(let make):
            do {
                return unfold(try make(current), place, observer)
            } catch {
                return fail(error, place, observer)
            }
        }
        return .done
    }

    private func unfold<Observer: ReactorCoreObserver>(
        _ effect: R.Effect<R.Mutation>, _ place: Place, _ observer: Observer
    ) -> Outcome where Observer.R == R {
        switch effect.node {
        case .none: return .done
        case .just(let mutation): apply(mutation, place.action, observer)
        case .several(let mutations): return apply(mutations, place, observer)
        case .tree(let part): return .next(part)
        }
        return .done
    }

    // The part itself is counted already, as the first of the mutations.
    private func apply<Observer: ReactorCoreObserver>(
        _ mutations: [R.Mutation], _ place: Place, _ observer: Observer
    ) -> Outcome where Observer.R == R {
        let others = max(0, mutations.count - 1)
        guard others <= Self.stepLimit - stepsTaken else {
            return fail(EffectLimitReached.steps, place, observer)
        }
        stepsTaken += others
        for mutation in mutations { apply(mutation, place.action, observer) }
        return .done
    }

    private func enter<Observer: ReactorCoreObserver>(
        _ kind: EffectFrame.Kind, _ steps: [EffectPart], _ place: inout Place, _ observer: Observer
    ) -> Outcome where Observer.R == R {
        let frame = EffectFrame(kind, steps, parent: place.frame, born: place.born)
        guard frame.depth <= EffectFrame.depthLimit else {
            return fail(EffectLimitReached.depth, place, observer)
        }
        guard kind == .merge else { return advance(frame, &place) }
        place.opening.append(frame)
        return open(frame, &place)
    }

    private func begin<Observer: ReactorCoreObserver>(
        _ step: Leaf.Step, _ place: Place, _ observer: Observer
    ) -> Outcome where Observer.R == R {
        if let id = step.id, !mayBegin(step, id, place, observer) { return .done }
        guard !steps.isFull else { return fail(EffectLimitReached.running, place, observer) }
        let run = steps.begin(step.id, action: place.action, frame: place.frame)
        observer.start(
            EffectRun(id: run, effectID: step.id, action: place.action, work: step.work))
        return .waiting
    }

    private func mayBegin<Observer: ReactorCoreObserver>(
        _ step: Leaf.Step, _ id: EffectID, _ place: Place, _ observer: Observer
    ) -> Bool where Observer.R == R {
        if steps.isCancelled(id, since: place.born) {
            observer.skipped(id, action: place.action, because: .cancelledBeforeStart)
            return false
        }
        switch step.policy {
        case .merge: return true
        case .latest:
            for run in steps.steps(named: id) { cancel(run, observer) }
            return true
        case .first:
            guard !steps.steps(named: id).isEmpty else { return true }
            observer.skipped(id, action: place.action, because: .first)
            return false
        }
    }

    private func cancel<Observer: ReactorCoreObserver>(
        _ id: EffectID, _ place: Place, _ observer: Observer
    ) where Observer.R == R {
        for run in steps.steps(named: id) { cancel(run, observer) }
        let moment = steps.noteCancellation(of: id)
        // Not affected: later parts in its own concats and merges.
        var frame = place.frame
        while let some = frame {
            some.born = moment
            frame = some.parent
        }
    }

    private func cancel<Observer: ReactorCoreObserver>(
        _ run: RunID, _ observer: Observer
    ) where Observer.R == R {
        guard let entry = steps.remove(run) else { return }
        observer.cancel(run, named: entry.effectID, action: entry.action)
        steps.makeDue(entry)
    }

    private func fail<Observer: ReactorCoreObserver>(
        _ error: any Error, _ place: Place, _ observer: Observer
    ) -> Outcome where Observer.R == R {
        observer.failed(ReactorFailure(place: .effect, error: error, action: place.action))
        return .failed
    }
}
