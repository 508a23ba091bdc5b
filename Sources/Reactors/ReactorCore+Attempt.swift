// A request that is taken back as a whole, before anybody has seen anything of it. Its turns are over
// then; what they have ordered (tasks to start and to cancel) is dropped by the host.

/// The running steps before a request, and the frames that it has continued with.
struct StepsMark {
    fileprivate let steps: RunningSteps
    fileprivate var frames: [(frame: EffectFrame, saved: EffectFrame.Saved)] = []

    // The frame and all around it: continuing in one changes those further up. One that is saved
    // twice is restored to what it was first.
    mutating func save(_ frame: EffectFrame) {
        var next: EffectFrame? = frame
        while let some = next {
            frames.append((some, some.saved))
            next = some.parent
        }
    }
}

extension ReactorCore {
    /// A request begins that may have to be taken back. Costs nothing while no step runs.
    ///
    /// - Returns: whether ``endAttempt()`` has to be called if it stays.
    @inlinable
    package func beginAttempt() -> Bool {
        guard !isQuiet else { return false }
        markSteps()
        return true
    }

    @usableFromInline
    func markSteps() {
        stepsMark = StepsMark(steps: steps.copy())
    }

    /// It stays.
    @usableFromInline
    package func endAttempt() {
        stepsMark = nil
    }

    /// Nothing of the request has happened: what it began is not running, what it cancelled is.
    ///
    /// - Parameters:
    ///   - state: as it was when the request began.
    ///   - version: of that state.
    package func takeBack(state: R.State, version: UInt64) {
        if let mark = stepsMark {
            for (frame, saved) in mark.frames.reversed() { frame.restore(saved) }
            steps.takeBack(to: mark.steps)
        } else {
            _ = steps.removeAll()
        }
        stepsMark = nil
        current = state
        count = version
    }

    /// The mutation that was applied last, in the present turn, has not happened.
    ///
    /// - Parameter state: as it was before.
    package func takeBackMutation(state: R.State) {
        current = state
        count -= 1
    }

    /// The names of the steps that run, as far as they have any.
    package var runningNames: [RunID: EffectID] {
        steps.running.compactMapValues(\.effectID)
    }
}
