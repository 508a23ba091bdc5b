/// A send that did not succeed, kept until the program has seen it (O4, O6).
package struct Settlement: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        /// Nothing of it is applied.
        case refused(ProblemDetails)
        /// It is applied once, or not at all; the client cannot find out.
        case inDoubt
    }

    package let ticket: Ticket
    package let session: SessionName
    package let outcome: Outcome
    /// The send; nil in a change while a lane has it.
    package var entry: OutboxEntry?

    package init(
        ticket: Ticket, session: SessionName, outcome: Outcome, entry: OutboxEntry? = nil
    ) {
        self.ticket = ticket
        self.session = session
        self.outcome = outcome
        self.entry = entry
    }

    /// Its size against the limits of the outbox.
    var cost: (actions: Int, bytes: Int) { (entry?.actions.count ?? 1, entry?.byteCount ?? 0) }
}
