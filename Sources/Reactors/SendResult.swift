/// The outcome of an action that was sent to a host.
public struct SendResult: Hashable, Sendable {
    /// Whether the reactor accepted it: `false` when `transform(action:)` rejected it or failed,
    /// and when the session has ended.
    public let accepted: Bool

    /// The version after its synchronous part; the current one if it was not accepted.
    public let version: UInt64

    /// Makes a result, for a test double of a host.
    public init(accepted: Bool, version: UInt64) {
        self.accepted = accepted
        self.version = version
    }
}
