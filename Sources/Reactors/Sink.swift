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

    /// The idempotency key of this step, for a service that it calls:
    /// `session.generation.action.step`.
    ///
    /// It is the same each time that the step runs, also in another process: after
    /// ``Recovery/runAgain``, and for each attempt of ``Recovery/runAgain(after:)``. No other step
    /// has it. The step is the place of the `.run` in the action's effect: in sequence 1, 2, 3, and
    /// in each branch of a `.merge` on its own. So it is the same as long as the reactor makes the
    /// same effect of the action; a step that makes several calls appends something of its own.
    ///
    /// A ``ReactorHost`` draws a name instead of session and generation: there a key is stable
    /// within the process.
    public var key: String { step.key }

    /// Whether this step was cancelled. Steps need not check: their elements are dropped anyway.
    public var isCancelled: Bool { Task.isCancelled }
}
