/// A send in a client's outbox that is not done.
public struct PendingSend: Sendable {
    /// The id of its session.
    public let session: String
    /// Its actions as JSON.
    public let actions: [String]
    /// Whether its request may have left. If not, ``Ticket/discard()`` takes it back.
    public let isSent: Bool
    /// Its progress.
    public let ticket: Ticket
}
