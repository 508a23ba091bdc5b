/// The treatment of an action whose effects did not run to their end.
public enum Recovery: Sendable {
    /// Its effects are not run again; a failure is recorded. The default: side effects outside the
    /// session happen at most once.
    case abandon

    /// The action is received again after this time: side effects outside the session may happen
    /// twice, so give ``Sink/key`` to the services that you call.
    ///
    /// After a failure, the time is at least a second. It counts on while the process is stopped. The
    /// session stays in memory meanwhile, so wait minutes, not weeks. The pause has the name of the
    /// step that has failed: what cancels or replaces the step ends the pause, and then the action
    /// is not received again. If the process ends three times in succession while
    /// the effects run, they are abandoned, because they may have ended those processes.
    case runAgain(after: Duration)

    /// The action is received again at once, when the session is loaded after its process has
    /// ended.
    public static var runAgain: Recovery { .runAgain(after: .zero) }
}

/// Why the effects of an action have not run to their end.
public struct Interruption: Sendable {
    /// How often they were begun so far, in all processes: 1 or more.
    public let attempts: Int

    /// The first error of the effects after the action's first wait; nil if the process ended while
    /// they ran.
    public let error: (any Error)?

    /// Makes an interruption, for tests of a reactor.
    public init(attempts: Int, error: (any Error)?) {
        self.attempts = attempts
        self.error = error
    }
}
