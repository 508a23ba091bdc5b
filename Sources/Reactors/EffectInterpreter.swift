private enum Outcome {
    case next(EffectPart)
    case done
    case failed
    case waiting
    case refused
    case ended
}

/// Runs one effect of an action, up to the asynchronous steps that it starts.
///
/// Design: a loop over frames: effects can be endless (`.deferred`), the stack cannot.
struct EffectInterpreter<R: Reactor, Observer: ReactorCoreObserver> where Observer.R == R {
    private let core: ReactorCore<R>
    private let observer: Observer
    private let action: ActionTag
    // Whether the action is not answered yet, so that it can be refused.
    private var isSynchronous = false

    // The concat or merge that contains the current part.
    private var frame: EffectFrame?
    // The cancellations before the current part: later ones of its name affect it.
    private var born: UInt64
    // Names the steps of the current concat or branch.
    private var strand: EffectStrand
    // The merges with parts that have not begun, innermost last.
    private var opening: [EffectFrame] = []

    private var steps: RunningSteps { core.steps }

    init(
        _ core: ReactorCore<R>, _ observer: Observer, _ action: ActionTag,
        _ strand: EffectStrand = EffectStrand()
    ) {
        self.strand = strand
        self.core = core
        self.observer = observer
        self.action = action
        born = core.steps.cancellations
    }

    mutating func perform(_ part: EffectPart) {
        isSynchronous = true
        run(.next(part))
    }

    /// Continues the parts that waited in `frame` for a step that has ended.
    mutating func proceed(in frame: EffectFrame, failed: Bool) {
        self.frame = frame
        born = frame.born
        run(failed ? .failed : .done)
    }

    private mutating func run(_ first: Outcome) {
        var outcome = first
        while true {
            switch outcome {
            case .next(let part):
                outcome = begin(part)
            case .done, .failed:
                guard let frame else { return }
                let failed = if case .failed = outcome { true } else { false }
                outcome =
                    switch frame.kind {
                    case .concat: climbConcat(frame, failed)
                    case .merge: climbMerge(frame, failed)
                    }
            case .waiting:
                guard let merge = opening.last else { return }
                outcome = open(merge)
            case .refused:
                // The host rolls back the action, including its frames and steps.
                return
            case .ended:
                // The rest of the effect never runs. If the host rolls back the end, it restores
                // the frames.
                return
            }
        }
    }

    // MARK: Frames

    private mutating func climbConcat(_ frame: EffectFrame, _ failed: Bool) -> Outcome {
        guard !failed else {
            self.frame = frame.parent
            return .failed
        }
        return advance(frame)
    }

    // The last step of a concat runs in its parent's frame: so a chain that ends by restarting
    // itself (`.concat(.run(…), .deferred { again() })`) does not grow.
    private mutating func advance(_ frame: EffectFrame) -> Outcome {
        born = frame.born
        strand = frame.strand
        let step = frame.takeNext()
        self.frame = frame.isExhausted ? frame.parent : frame
        return step.map(Outcome.next) ?? .done
    }

    private mutating func climbMerge(_ frame: EffectFrame, _ failed: Bool) -> Outcome {
        frame.running -= 1
        frame.hasFailed = frame.hasFailed || failed
        if !frame.isExhausted { return open(frame) }
        guard frame.running == 0 else { return .waiting }
        self.frame = frame.parent
        return frame.hasFailed ? .failed : .done
    }

    private mutating func open(_ merge: EffectFrame) -> Outcome {
        guard let step = merge.takeNext() else { return .waiting }
        if merge.isExhausted { opening.removeLast() }
        merge.running += 1
        frame = merge
        born = merge.born
        strand = EffectStrand(merge.strand.next())
        return .next(step)
    }

    private mutating func enter(_ kind: EffectFrame.Kind, _ steps: [EffectPart]) -> Outcome {
        let strand = kind == .merge ? EffectStrand(strand.next()) : strand
        let frame = EffectFrame(kind, steps, parent: frame, born: born, strand: strand)
        guard frame.depth <= EffectFrame.depthLimit else {
            return fail(EffectLimitReached.depth)
        }
        guard kind == .merge else { return advance(frame) }
        opening.append(frame)
        return open(frame)
    }

    // MARK: Parts

    private mutating func begin(_ part: EffectPart) -> Outcome {
        guard core.countSteps(1) else {
            // A step that has not begun in this turn never begins.
            for merge in opening { merge.dropRest() }
            opening = []
            return fail(EffectLimitReached.steps)
        }
        switch part.kind {
        case .concat(let steps):
            return enter(.concat, steps)
        case .merge(let steps):
            return enter(.merge, steps)
        case .cancel(let id):
            cancel(id)
            return .done
        case .schedule(let name, let time, let action):
            return schedule(name, time, action)
        case .error(let error):
            return fail(error)
        case .end:
            core.beginEnd()
            observer.ends(by: action)
            return .ended
        case .leaf:
            guard let leaf = part as? Leaf else {
                preconditionFailure("the effect's type says that its parts are of this reactor")
            }
            return begin(leaf)
        }
    }

    private typealias Leaf = EffectLeaf<R.Mutation, R.State, R.Activity, R.Action>

    private func begin(_ leaf: Leaf) -> Outcome {
        switch leaf.content {
        case .just(let mutation): core.apply(mutation, action, observer)
        case .several(let mutations):
            return apply(mutations)
        case .emit(let activity):
            observer.emitted(activity, by: action, core: core)
        case .run(let step):
            return begin(step)
        case .deferred(let make):
            do {
                return unfold(try make(core.current))
            } catch {
                return fail(error)
            }
        }
        return .done
    }

    private func unfold(_ effect: R.Effect<R.Mutation>) -> Outcome {
        switch effect.node {
        case .none: return .done
        case .just(let mutation): core.apply(mutation, action, observer)
        case .several(let mutations): return apply(mutations)
        case .tree(let part): return .next(part)
        }
        return .done
    }

    // The part itself is counted already, as the first mutation.
    private func apply(_ mutations: [R.Mutation]) -> Outcome {
        guard core.countSteps(max(0, mutations.count - 1)) else {
            return fail(EffectLimitReached.steps)
        }
        for mutation in mutations { core.apply(mutation, action, observer) }
        return .done
    }

    private func schedule(
        _ name: EffectID, _ time: TimerTime, _ action: any Sendable
    ) -> Outcome {
        guard let action = action as? R.Action else {
            preconditionFailure("the effect's type says that its actions are of this reactor")
        }
        guard TimerBounds.admits(name) else { return fail(EffectLimitReached.timerName) }
        let failure = observer.schedule(action, as: name, time, by: self.action)
        return failure.map(fail) ?? .done
    }

    private func fail(_ error: any Error) -> Outcome {
        if isSynchronous, let refusal = error as? Refusal {
            core.refusal = refusal
            return .refused
        }
        core.noteFailure(error, of: action)
        observer.failed(ReactorFailure(place: .effect, error: error, action: action))
        return .failed
    }

    // MARK: Asynchronous steps

    private func begin(_ step: Leaf.Step) -> Outcome {
        let name = strand.next()
        if let id = step.id, !mayBegin(step, id) { return .done }
        guard !steps.isFull else { return fail(EffectLimitReached.running) }
        let run = steps.begin(step.id, action: action, frame: frame)
        observer.start(
            EffectRun(id: run, effectID: step.id, action: action, step: name, work: step.work))
        return .waiting
    }

    private func mayBegin(_ step: Leaf.Step, _ id: EffectID) -> Bool {
        if steps.isCancelled(id, since: born) {
            observer.skipped(id, action: action, because: .cancelledBeforeStart)
            return false
        }
        switch step.policy {
        case .merge: return true
        case .latest:
            cancelRunning(id)
            return true
        case .first:
            guard !steps.steps(named: id).isEmpty else { return true }
            observer.skipped(id, action: action, because: .first)
            return false
        }
    }

    private func cancel(_ id: EffectID) {
        cancelRunning(id)
        observer.cancelTimer(id, by: action)
        let moment = steps.noteCancellation(of: id)
        // Later parts in its own concats and merges are not affected.
        var frame = frame
        while let some = frame {
            some.born = moment
            frame = some.parent
        }
    }

    private func cancelRunning(_ id: EffectID) {
        for run in steps.steps(named: id) {
            guard let entry = steps.remove(run) else { continue }
            observer.cancel(run, named: entry.effectID, action: entry.action)
            steps.makeDue(entry)
        }
    }
}
