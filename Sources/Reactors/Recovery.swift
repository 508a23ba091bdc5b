/// The decision about an action whose effects have failed, or were running when the process ended.
public enum Recovery: Sendable {
    /// Its effects are not run again; a failure is recorded. The default: side effects outside the
    /// session happen at most once.
    case abandon

    /// The session receives the action again after this time. Side effects outside the session may
    /// happen twice, so pass ``Sink/key`` to the services that you call.
    ///
    /// After a failure, a time below a second counts as a second. The journal stores the time. It
    /// also passes while the process is stopped. The session stays in memory until then, so wait
    /// minutes, not weeks. If three processes end in succession while the effects run, the action
    /// is abandoned, because it may be the cause.
    ///
    /// The pause has the name of the failed step. If an effect cancels that name, or a step of that
    /// name with the policy ``EffectPolicy/latest`` begins, the session does not receive the action
    /// again.
    case runAgain(after: Duration)

    /// After the end of its process, the session receives the action again as soon as it is loaded.
    public static var runAgain: Recovery { .runAgain(after: .zero) }
}

/// Why ``Reactor/recovery(of:after:)`` is called: effects have failed, or the process has ended.
public struct Interruption: Sendable {
    /// The number of attempts so far, in all processes: 1 or more.
    public let attempts: Int

    /// The first error of this attempt; nil if the process ended while the effects ran. An error
    /// before the first wait of the first attempt does not count: it is in the answer.
    public let error: (any Error)?

    /// Makes an interruption, for tests of a reactor.
    public init(attempts: Int, error: (any Error)?) {
        self.attempts = attempts
        self.error = error
    }
}
