/// The reason why a send did not succeed.
public enum SendFailure: Error, Hashable, Sendable {
    /// Nothing of it is applied.
    case refused(ProblemDetails)
    /// The session has another position than the send expected; nothing of it is applied.
    case positionChanged(Position)
    /// The outbox has that many actions, or 16 MiB of them: nothing was accepted. Send again when
    /// some of them are done, or ``ReactorClient/dismiss(_:)`` refusals.
    case outboxFull(limit: Int)
    /// The outbox cannot be written. The action is not sent, now or later.
    case outboxUnavailable(String)
    /// The outbox cannot be written any more, for the given reason. The action is in it, and the
    /// next client with the same outbox sends it.
    case stored(String)
    /// The action cannot be written as JSON.
    case notEncodable(String)
    /// There is no action to send.
    case empty
    /// The refusal was dismissed before, or its actions are sent again already.
    case dismissed
    /// It was applied once or not at all; the server may have forgotten which. Not sent again.
    case inDoubt
    /// The session has ended.
    case ended(EndReason)
    /// It was taken back with ``Ticket/discard()``.
    case discarded
    /// The task that waited was cancelled. The action is not taken back.
    case cancelled
    /// The client was closed before the answer came: it may have been applied or not.
    case closed
}

extension SendFailure: CustomStringConvertible {
    /// A sentence for people.
    public var description: String {
        switch self {
        case .refused(let problem): "the server refused the action: \(problem)"
        case .positionChanged(let position):
            "the session is not at the expected position, but at \(position)"
        case .outboxFull(let limit):
            "the outbox is full: it has at most \(limit) actions, and 16 MiB of them"
        case .outboxUnavailable(let reason): "the outbox cannot be used: \(reason)"
        case .stored(let reason):
            "the action is stored, and the next client with the same outbox sends it: \(reason)"
        case .notEncodable(let reason): "the action cannot be written as JSON: \(reason)"
        case .empty: "there is no action to send"
        case .dismissed: "the refusal was dismissed, or its actions are sent again"
        case .inDoubt: "the action was applied once or not at all"
        case .ended(let reason): "the session has ended: \(reason)"
        case .discarded: "the action was taken back"
        case .cancelled: "the task that waits for the answer was cancelled"
        case .closed: "the client is closed"
        }
    }
}
