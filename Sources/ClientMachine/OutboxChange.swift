/// A change of an outbox: a line of its file.
///
/// Invariant: an outbox results from its changes in order, so file and memory cannot differ.
package enum OutboxChange: Equatable, Sendable {
    /// A send waits.
    case queued(OutboxEntry)
    /// The first `count` waiting sends are a request. Durable before its first byte leaves.
    case sent(SessionName, RequestKey, body: [UInt8], count: Int, date: Int64)
    /// The request was refused as a whole without effect; its sends wait again, before all others.
    case withdrawn(SessionName, RequestKey)
    case done(SessionName, RequestKey)
    /// A send, waiting or sent, has come to an end that the program must see. It has its entry if
    /// the change that queued the send is dead.
    case settled(Settlement)
    /// The program has seen the end of a send.
    case seen(Ticket)
    /// A waiting send was taken back.
    case discarded(Ticket, SessionName)
    /// Later sends have no smaller ticket, so that one never stands for two sends.
    case next(Ticket)
}
