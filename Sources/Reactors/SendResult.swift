/// The outcome of an action that was sent to a host.
public struct SendResult: Hashable, Sendable {
    /// Whether the reactor accepted it: `false` when it was refused, when `transform(action:)`
    /// rejected it or failed, and when the session has ended.
    public let accepted: Bool

    /// The version after its synchronous part; the current one if it was not accepted.
    public let version: UInt64

    /// The reactor's reason, if it refused the action; nil otherwise.
    public let refusal: Refusal?

    /// The error that `transform(action:)` threw, if that is why the action was not accepted; or
    /// the first error of its synchronous part. Mutations before that error stay. Nil otherwise.
    public let failure: String?

    /// Makes a result, for a test double of a host.
    public init(
        accepted: Bool, version: UInt64, refusal: Refusal? = nil, failure: String? = nil
    ) {
        self.accepted = accepted
        self.version = version
        self.refusal = refusal
        self.failure = failure
    }
}
