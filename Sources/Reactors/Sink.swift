/// Sends elements of the asynchronous part of an effect to the session.
///
/// Every call waits until the session has received the element, so that an effect cannot run far
/// ahead. Sinks never keep their session alive: once it is released, or once the step has ended or
/// was cancelled, elements are dropped and reported, and the call returns `false`.
public struct Sink<Mutation: Sendable, Activity: Sendable>: Sendable {
    /// The session's clock. Use this one for waits, so that tests can control the time.
    public let clock: any Clock<Duration>

    /// Names the step, for ``key``.
    let step: StepName

    private let deliver: @Sendable (Mutation) async -> Bool
    private let emitActivity: @Sendable (Activity) async -> Bool

    package init(
        clock: any Clock<Duration>, step: StepName,
        send: @escaping @Sendable (Mutation) async -> Bool,
        emit: @escaping @Sendable (Activity) async -> Bool
    ) {
        self.clock = clock
        self.step = step
        deliver = send
        emitActivity = emit
    }

    /// Applies a mutation, then returns: in a server, after the commit.
    ///
    /// - Returns: whether it was accepted; `false` after the end or the cancellation of this step.
    ///   A mutation that `transform(mutation:)` dropped counts as accepted.
    @discardableResult
    public func send(_ mutation: Mutation) async -> Bool { await deliver(mutation) }

    /// The same as ``send(_:)``.
    @discardableResult
    public func callAsFunction(_ mutation: Mutation) async -> Bool { await deliver(mutation) }

    /// Emits an activity, then returns.
    ///
    /// - Returns: whether it was accepted; `false` after the end or the cancellation of this step.
    @discardableResult
    public func emit(_ activity: Activity) async -> Bool { await emitActivity(activity) }

    /// An idempotency key for a service that this step calls: `session.generation.action.step`.
    ///
    /// The key is the same in each attempt (``Recovery/runAgain(after:)``), also in another
    /// process. No other step has it, with one exception: after the journal was restored from a
    /// copy, numbers are used again. Its last part is the place of the `.run` in the action's
    /// effect: 1, 2, 3 in sequence. Each branch of a `.merge` counts separately: `2.1.3`. So the
    /// key stays the same only if each attempt returns the same effect. If a step makes several
    /// calls, append something to the key for each.
    ///
    /// The key is visible ASCII. It has at most about 200 bytes, or more if `.merge` is nested
    /// deeply. It is no secret: readers of the session can guess it.
    ///
    /// A ``ReactorHost`` has a random name in place of the session and the generation. There the
    /// key is stable only within the process.
    public var key: String { step.key }

    /// Whether this step was cancelled. Steps need not check: their elements are dropped anyway.
    public var isCancelled: Bool { Task.isCancelled }
}
