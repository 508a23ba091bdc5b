/// Something for the owner of a machine to do, in order.
package enum Output: Equatable, Sendable {
    /// To make changes of the outbox durable, in order; `persisted` with the number follows, whose
    /// outputs are the requests that depend on them. None if the outbox has nothing to save.
    case persist(UInt64, [OutboxChange])
    case request(AttemptID, ClientRequest)
    case cancelRequest(AttemptID)
    case openStream(AttemptID, ClientRequest)
    case closeStream(AttemptID)
    /// - Parameter refused: the credential that the server has refused.
    case askForCredential(AttemptID, refused: String?)
    case deliver(SessionName, Delivery)
    case deliverLog(LogID, LogDelivery)
    /// To save the newest delivered confirmed state of the session, with this position: it has the
    /// effects of no request that the outbox regards as unanswered.
    case keepState(SessionName, StreamPosition)
    /// To send `timer` at this uptime, in place of an earlier request; nil: nothing is due.
    case wakeMe(at: Duration?)
}
