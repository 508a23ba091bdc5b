/// Carries out the decisions of a core. Every call comes from inside a call into the core.
///
/// Invariant: during these calls the core is in the middle of a turn: read it, but call only
/// `visibleState(observer:)`. `start` and `cancel` are decisions to carry out, in order, when the
/// step is committed.
@usableFromInline
package protocol ReactorCoreObserver<R>: AnyObject {
    associatedtype R: Reactor

    /// `reduce` has applied `mutation` (as returned by `transform(mutation:)`): `core.state` and
    /// `core.version` are new.
    func mutated(_ mutation: R.Mutation, by action: ActionTag, core: ReactorCore<R>)

    func emitted(_ activity: R.Activity, by action: ActionTag, core: ReactorCore<R>)

    /// User code failed; the session lives.
    func failed(_ failure: ReactorFailure)

    /// A step begins: start a task for it.
    func start(_ run: EffectRun<R>)

    /// A step was cancelled: cancel its task. The core ignores the step from now on.
    func cancel(_ run: RunID, named effectID: EffectID?, action: ActionTag)

    /// All steps of an action have ended that was not settled when it was received.
    func settled(_ action: ActionTag)

    /// Sets a timer of the session. It replaces one of the same name. The name is valid.
    ///
    /// - Returns: the error with which the effect fails if the timer cannot be set; else nil. By
    ///   default, sets no timer and returns nil.
    func schedule(
        _ action: R.Action, as name: EffectID, _ time: TimerTime, by tag: ActionTag
    ) -> (any Error)?

    /// Removes the session's timer of this name, if there is one. Default: does nothing.
    func cancelTimer(_ name: EffectID, by action: ActionTag)

    /// An effect begins that may refuse its action. If it refuses, the call to the core returns
    /// `.refused`, and the observer has to discard every report from this one on. Default: does
    /// nothing.
    func mayRefuse(core: ReactorCore<R>)

    /// An effect of the action ends the session. From now on the core decides nothing. The host
    /// ends the session when its present call of the core returns. Default: does nothing.
    func ends(by action: ActionTag)

    /// An action waits for its next attempt: its effects have failed, or their process has ended.
    /// The core calls `start(_:)` for the pause next. Default: does nothing.
    func paused(_ pause: Pause<R>)

    // For the action log; the defaults do nothing.

    /// `transform(action:)` accepted an action, possibly rewritten, and `mutate` has returned its
    /// effect.
    func accepted(_ action: R.Action, as transformed: R.Action, tag: ActionTag)

    /// `transform(action:)` returned `nil`, or failed: then `failed` was called before.
    func rejected(_ action: R.Action, tag: ActionTag)

    /// The synchronous part of an action is applied; the rest belongs to steps that it cancelled.
    func synchronousPartEnded(_ action: ActionTag, core: ReactorCore<R>)

    /// A step ended by itself; if it failed, `failed` was called before.
    func ended(_ run: RunID, named effectID: EffectID?, action: ActionTag, hasFailed: Bool)

    /// A source's stream ended without a failure; the session continues without it.
    func sourceEnded(_ name: String)

    // For stubs; the defaults do nothing.

    func recorded(_ action: R.Action, tag: ActionTag)

    /// A stubbed session shows another state: `core.version` and `core.visibleState(observer:)` are
    /// new, `core.state` is unchanged. Assigned pulses are found by their marks, as for a mutation.
    func injected(core: ReactorCore<R>)

    /// A session that is no longer stubbed shows its own state again, which is a version. No pulse
    /// was assigned, even if marks differ.
    func uncovered(core: ReactorCore<R>)

    /// A mutation was not applied.
    func dropped(_ mutation: R.Mutation, by action: ActionTag, because reason: DropReason)

    /// An activity came from a step that had ended or was cancelled.
    func dropped(_ activity: R.Activity, by action: ActionTag)

    /// A step did not begin.
    func skipped(_ effectID: EffectID, action: ActionTag, because reason: DropReason)
}

extension ReactorCoreObserver {
    /// Sets no timer.
    @inlinable
    package func schedule(
        _ action: R.Action, as name: EffectID, _ time: TimerTime, by tag: ActionTag
    ) -> (any Error)? { nil }

    /// Does nothing.
    @inlinable
    package func cancelTimer(_ name: EffectID, by action: ActionTag) {}

    /// Does nothing.
    @inlinable
    package func mayRefuse(core: ReactorCore<R>) {}

    /// Does nothing.
    @inlinable
    package func ends(by action: ActionTag) {}

    /// Does nothing.
    package func paused(_ pause: Pause<R>) {}

    /// Does nothing.
    @inlinable
    package func accepted(_ action: R.Action, as transformed: R.Action, tag: ActionTag) {}

    /// Does nothing.
    @inlinable
    package func rejected(_ action: R.Action, tag: ActionTag) {}

    /// Does nothing.
    @inlinable
    package func synchronousPartEnded(_ action: ActionTag, core: ReactorCore<R>) {}

    /// Does nothing.
    @inlinable
    package func sourceEnded(_ name: String) {}

    /// Does nothing.
    @inlinable
    package func ended(
        _ run: RunID, named effectID: EffectID?, action: ActionTag, hasFailed: Bool
    ) {}

    /// Does nothing.
    @inlinable
    package func recorded(_ action: R.Action, tag: ActionTag) {}

    /// Does nothing.
    @inlinable
    package func injected(core: ReactorCore<R>) {}

    /// Does nothing.
    @inlinable
    package func uncovered(core: ReactorCore<R>) {}

    /// Does nothing.
    @inlinable
    package func dropped(
        _ mutation: R.Mutation, by action: ActionTag, because reason: DropReason
    ) {}

    /// Does nothing.
    @inlinable
    package func dropped(_ activity: R.Activity, by action: ActionTag) {}

    /// Does nothing.
    @inlinable
    package func skipped(_ effectID: EffectID, action: ActionTag, because reason: DropReason) {}
}
