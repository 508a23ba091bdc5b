// Rolls back a request as a whole after its turns, before any of it is visible. The host discards
// the starts and cancellations of tasks that the turns ordered.

/// The running steps before a request, and the frames that it has continued.
struct StepsMark<R: Reactor> {
    fileprivate let steps: RunningSteps
    fileprivate let unsettled: [ActionTag: UnsettledAction<R>]
    fileprivate var frames: [(frame: EffectFrame, saved: EffectFrame.Saved)] = []

    // Saves the frame and all outer ones, because continuing in one changes those too. A frame that
    // is saved twice is restored to its first state.
    mutating func save(_ frame: EffectFrame) {
        var next: EffectFrame? = frame
        while let some = next {
            frames.append((some, some.saved))
            next = some.parent
        }
    }
}

extension ReactorCore {
    /// Begins a request that may have to be rolled back. Costs nothing while no step runs. Returns
    /// whether ``endAttempt()`` must be called if the request is kept.
    @inlinable
    package func beginAttempt() -> Bool {
        guard !isQuiet else { return false }
        markSteps()
        return true
    }

    @usableFromInline
    func markSteps() {
        stepsMark = StepsMark(steps: steps.copy(), unsettled: unsettled)
    }

    /// Keeps the request.
    @usableFromInline
    package func endAttempt() {
        stepsMark = nil
    }

    /// Rolls the request back: its steps stop running, and the steps that it cancelled run again.
    package func takeBack(state: R.State, version: UInt64) {
        if let mark = stepsMark {
            for (frame, saved) in mark.frames.reversed() { frame.restore(saved) }
            steps.takeBack(to: mark.steps)
            unsettled = mark.unsettled
        } else {
            _ = steps.removeAll()
            unsettled = [:]
        }
        takeBackEnd()
        stepsMark = nil
        current = state
        count = version
        // The next mutation has the number of one that was rolled back.
        if let failed = failedTransform, failed > version { failedTransform = nil }
    }

    /// Rolls back the last mutation, which the current turn applied.
    package func takeBackMutation(state: R.State) {
        current = state
        count -= 1
    }
}
