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

    package init(ticket: Ticket, session: SessionName, outcome: Outcome) {
        self.ticket = ticket
        self.session = session
        self.outcome = outcome
    }
}
