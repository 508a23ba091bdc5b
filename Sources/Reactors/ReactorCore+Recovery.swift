// Effects that have failed run again: their action is received once more, under its own number.
//
// Design: between two attempts the action has a step of the core's own, which sleeps. So the action
// is not settled meanwhile, the session does not leave memory, and its end cancels the pause like
// any other step. The host receives the action again after the turn in which the pause has ended,
// because it may have to roll that back as one request.

/// An action whose effects are running.
struct UnsettledAction<R: Reactor> {
    let action: R.Action
    let subject: String?
    // The number of times that it was begun.
    var attempts = 1
    // The number of processes that have ended while it ran, in succession.
    var interruptions = 0
    // The first error since it was last begun, and the name of the step that has thrown it.
    var error: (any Error)?
    var failedStep: EffectID?
}

/// An action that is to be received again now.
package struct Repetition<R: Reactor> {
    package let action: R.Action
    package let tag: ActionTag
    package let subject: String?
    /// The number of processes that have ended while it ran, in succession.
    package let interruptions: Int
}

/// The wait of an action for its next attempt.
@usableFromInline
package struct Pause<R: Reactor> {
    package let action: R.Action
    package let tag: ActionTag
    package let subject: String?
    /// The attempt that follows.
    package let attempt: Int
    package let interruptions: Int
    package let time: Duration
    /// The name of the step that has failed, if it has one. What cancels that step ends the pause.
    package let step: EffectID?

    /// About 32 000 years. Clocks end the process if a deadline has more seconds than an `Int64`
    /// (Swift 6.3 on Linux).
    package static var longest: Duration { .seconds(1_000_000_000_000) }

    package init(
        action: R.Action, tag: ActionTag, subject: String?, attempt: Int, interruptions: Int,
        time: Duration, step: EffectID?
    ) {
        self.action = action
        self.tag = tag
        self.subject = subject
        self.attempt = attempt
        self.interruptions = interruptions
        self.time = time
        self.step = step
    }
}

extension ReactorCore {
    /// Keeps an action until its effects have ended. Returns whether none of them is running.
    @usableFromInline
    func settles(_ action: R.Action, _ tag: ActionTag, _ subject: String?) -> Bool {
        guard !isSettled(tag) else { return true }
        if unsettled[tag] == nil {
            unsettled[tag] = UnsettledAction(action: action, subject: subject)
        }
        return false
    }

    func noteFailure(_ error: any Error, of tag: ActionTag, step: EffectID? = nil) {
        guard let action = unsettled[tag], action.error == nil else { return }
        unsettled[tag]?.error = error
        unsettled[tag]?.failedStep = step
    }

    /// Whether a step runs that is no pause.
    package var hasRunningEffects: Bool { steps.pauses < steps.running.count }

    /// The number of times that an action was begun whose effects are running.
    package func attempts(of tag: ActionTag) -> Int { unsettled[tag]?.attempts ?? 1 }

    /// The name of pauses in the action log. A step of the reactor may have it, too.
    static var pauseID: EffectID { "runAgain" }

    /// The shortest pause after a failure: an effect that fails at once must not repeat as fast as
    /// the processor allows.
    private static var shortestPause: Duration { .seconds(1) }

    /// Asks the reactor about an action that is about to settle, and begins a pause if its effects
    /// have failed and are to run again.
    func considerPause(of tag: ActionTag, _ observer: some ReactorCoreObserver<R>) {
        guard !isEnding, let action = unsettled[tag], let error = action.error,
            steps.isLast(of: tag)
        else { return }
        let interruption = Interruption(attempts: action.attempts, error: error)
        guard case .runAgain(let time) = reactor.recovery(of: action.action, after: interruption)
        else { return }
        guard !steps.isFullOfPauses else {
            return observer.failed(
                ReactorFailure(place: .effect, error: EffectLimitReached.running, action: tag))
        }
        pause(
            Pause(
                action: action.action, tag: tag, subject: action.subject,
                attempt: action.attempts + 1, interruptions: 0,
                time: max(time, Self.shortestPause), step: action.failedStep), observer)
    }

    /// Continues a pause of an earlier process, or begins one for an action that it was running.
    package func resume(_ pause: Pause<R>, observer: some ReactorCoreObserver<R>) {
        guard isOpen else { return }
        beginTurn()
        defer { isInTurn = false }
        self.pause(pause, observer)
    }

    private func pause(_ pause: Pause<R>, _ observer: some ReactorCoreObserver<R>) {
        unsettled[pause.tag] = UnsettledAction(
            action: pause.action, subject: pause.subject, attempts: pause.attempt,
            interruptions: pause.interruptions)
        observer.paused(pause)
        let run = steps.begin(pause.step, action: pause.tag, frame: nil, isPause: true)
        let time = min(max(pause.time, .zero), Pause<R>.longest)
        observer.start(
            EffectRun(id: run, effectID: Self.pauseID, action: pause.tag, step: "pause") { sink in
                try await sink.clock.sleep(for: time)
            })
    }

    /// The action whose pause has ended.
    func repetition(of tag: ActionTag) -> Repetition<R>? {
        unsettled[tag].map {
            Repetition(
                action: $0.action, tag: tag, subject: $0.subject, interruptions: $0.interruptions)
        }
    }

    /// Marks an action of an earlier process, which is received again at once.
    ///
    /// - Parameter attempt: the number of the attempt.
    /// - Postcondition: ``endRepetition(_:observer:)`` has to be called when it was received.
    package func beginRepetition(
        _ action: R.Action, _ tag: ActionTag, _ subject: String?, attempt: Int
    ) {
        unsettled[tag] = UnsettledAction(action: action, subject: subject, attempts: attempt)
        steps.hold(tag)
    }

    /// Ends what ``ended(_:failure:observer:)`` or ``beginRepetition(_:_:_:attempt:)`` has begun:
    /// the action was received again.
    package func endRepetition(_ tag: ActionTag, observer: some ReactorCoreObserver<R>) {
        beginTurn()
        defer { isInTurn = false }
        settle(tag, observer)
    }
}
