/// A send that did not succeed.
public struct Refusal: Hashable, Sendable {
    /// The id of its session.
    public let session: String
    /// ``SendFailure/refused(_:)``, ``SendFailure/positionChanged(_:)`` or ``SendFailure/inDoubt``.
    public let failure: SendFailure
    let ticket: UInt64
}
