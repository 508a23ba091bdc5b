// Runs failed effects again: the session receives their action again, under the same number.
//
// Design: between two attempts, a step of the core sleeps for the action. So the action is not
// settled, the session stays in memory, and its end cancels the pause like any other step. The host
// receives the action in a turn of its own, after the one in which the pause ends. Why: it may have
// to roll back the action, as it rolls back a request.

/// An action whose effects are running.
struct UnsettledAction<R: Reactor> {
    let action: R.Action
    let subject: String?
    // The present attempt, or the next one during a pause; from 1.
    var attempts = 1
    // How many processes in succession have ended while it ran.
    var interruptions = 0
    // The first error of the present attempt, and the name of the step that has thrown it.
    var error: (any Error)?
    var failedStep: EffectID?
}

/// An action that the host must receive again now.
package struct Repetition<R: Reactor> {
    package let action: R.Action
    package let tag: ActionTag
    package let subject: String?
    /// How many processes in succession have ended while it ran.
    package let interruptions: Int
}

/// The time for which an action waits for its next attempt.
@usableFromInline
package struct Pause<R: Reactor> {
    package let action: R.Action
    package let tag: ActionTag
    package let subject: String?
    /// The number of the next attempt.
    package let attempt: Int
    package let interruptions: Int
    package let time: Duration
    /// The name of the failed step; nil if it has none. Cancelling that name ends the pause.
    package let step: EffectID?

    /// About 32 000 years. Why a limit: a clock ends the process if the seconds of a deadline do
    /// not fit into an `Int64` (Swift 6.3 on Linux).
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
    /// Returns whether none of the action's effects is running. If one is, keeps the action until
    /// they have ended.
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

    /// Whether a step is running that is not a pause.
    package var hasRunningEffects: Bool { steps.pauses < steps.running.count }

    /// The number of the present attempt of an action; 1 if its effects are not running.
    package func attempts(of tag: ActionTag) -> Int { unsettled[tag]?.attempts ?? 1 }

    /// The name of pauses in the action log. The reactor's own steps may have the same name.
    static var pauseID: EffectID { "runAgain" }

    /// The shortest pause after a failure. Why: an effect that fails at once must not run again as
    /// fast as the processor allows.
    private static var shortestPause: Duration { .seconds(1) }

    /// Before an action settles whose effects have failed, asks the reactor whether they run again.
    /// If so, begins a pause.
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

    /// Continues a pause that an earlier process began, or begins one for an action that was
    /// running when that process ended.
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

    /// Prepares for an action of an earlier process, which the host then receives at once.
    ///
    /// - Parameter attempt: the number of this attempt.
    /// - Postcondition: the host calls ``endRepetition(_:observer:)`` after it received the action.
    package func beginRepetition(
        _ action: R.Action, _ tag: ActionTag, _ subject: String?, attempt: Int
    ) {
        unsettled[tag] = UnsettledAction(action: action, subject: subject, attempts: attempt)
        steps.hold(tag)
    }

    /// The host has received the action again, after ``ended(_:failure:observer:)`` returned it or
    /// ``beginRepetition(_:_:_:attempt:)`` prepared for it.
    package func endRepetition(_ tag: ActionTag, observer: some ReactorCoreObserver<R>) {
        beginTurn()
        defer { isInTurn = false }
        settle(tag, observer)
    }
}
