// The synchronous parts of effects that are more than mutations.

extension ReactorCore {
    // Precedent: RxSwift has no limit and overflows the stack. A turn of 100 000 steps takes some
    // ms. Each mutation of a list is a step, and a list that does not fit is not started: this
    // bounds a turn's time, memory and records.
    @usableFromInline
    static var stepLimit: Int { 100_000 }

    // Refuses an action whose effect is a single list of mutations beyond a turn's limit.
    @usableFromInline
    func refuseSteps(of action: ActionTag, _ observer: some ReactorCoreObserver<R>) {
        observer.failed(
            ReactorFailure(place: .effect, error: EffectLimitReached.steps, action: action))
    }

    // Counts steps of this turn; returns false, without counting, if they exceed the limit.
    func countSteps(_ count: Int) -> Bool {
        guard count <= Self.stepLimit - stepsTaken else { return false }
        stepsTaken += count
        return true
    }

    // Returns false if the effect refuses the action.
    @usableFromInline
    func perform(
        _ part: EffectPart, _ tag: ActionTag, _ observer: some ReactorCoreObserver<R>
    ) -> Bool {
        stepsTaken = 0
        var interpreter = EffectInterpreter(self, observer, tag)
        interpreter.perform(part)
        return refusal == nil
    }

    // A hook threw. A `Refusal` refuses the action; another error rejects it with a failure.
    @usableFromInline
    func hookFailed(
        _ error: any Error, _ action: R.Action, _ tag: ActionTag,
        _ observer: some ReactorCoreObserver<R>
    ) {
        refusal = error as? Refusal
        guard refusal == nil else { return }
        observer.failed(ReactorFailure(place: .transformAction, error: error, action: tag))
        observer.rejected(action, tag: tag)
    }

    // The outcome of an action that no hook accepted.
    @usableFromInline
    var unaccepted: Disposition { refusal == nil ? .rejected : .refused }

    /// The reason of the last `.refused`. Take it before the next action.
    package func takeRefusal() -> Refusal? {
        defer { refusal = nil }
        return refusal
    }

    // Continues the parts that waited in `frame` for a step that has ended.
    func proceed(
        in frame: EffectFrame?, failed: Bool, _ tag: ActionTag,
        _ observer: some ReactorCoreObserver<R>
    ) {
        guard let frame else { return }
        stepsMark?.save(frame)
        var interpreter = EffectInterpreter(self, observer, tag, frame.strand)
        interpreter.proceed(in: frame, failed: failed)
    }

    @usableFromInline
    func continueCancelled(_ observer: some ReactorCoreObserver<R>) {
        while !isEnding, case let due = steps.takeDue(), !due.isEmpty {
            for continuation in due where !isEnding {
                proceed(in: continuation.frame, failed: false, continuation.action, observer)
                settle(continuation.action, observer)
            }
        }
    }

    func settle(_ action: ActionTag, _ observer: some ReactorCoreObserver<R>) {
        considerPause(of: action, observer)
        guard steps.settle(action) else { return }
        unsettled[action] = nil
        observer.settled(action)
    }
}
