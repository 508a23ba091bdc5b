/// An outbox without its past: the beginning of a file that was rewritten.
package struct OutboxSnapshot: Equatable, Sendable {
    /// Later sends have no smaller one, so that a ticket never stands for two sends.
    package var nextTicket: Ticket
    /// In the order of their tickets. Each has its send, so no change leads to them.
    package var settlements: [Settlement]
    /// The sends in the order of their tickets, then the requests.
    package var changes: [OutboxChange]

    package init(nextTicket: Ticket, settlements: [Settlement], changes: [OutboxChange]) {
        self.nextTicket = nextTicket
        self.settlements = settlements
        self.changes = changes
    }
}
