/// The change of a session's shown state that is not delivered (R3).
struct PendingChange: Sendable {
    /// Whether there is a newer confirmed state.
    var advancesBase = false
    private(set) var joined: [OutboxEntry]
    /// Sends that the newest confirmed state contains.
    private(set) var left: [Ticket] = []
    /// Sends that have failed, or were taken back.
    private(set) var rolledBack: [Ticket] = []

    init(joined: [OutboxEntry] = []) { self.joined = joined }

    var isEmpty: Bool {
        !advancesBase && joined.isEmpty && left.isEmpty && rolledBack.isEmpty
    }

    mutating func join(_ entry: OutboxEntry) { joined.append(entry) }

    mutating func leave(_ ticket: Ticket) {
        if !withdraw(ticket) { left.append(ticket) }
    }

    mutating func rollBack(_ ticket: Ticket) {
        if !withdraw(ticket) { rolledBack.append(ticket) }
    }

    mutating func takeAll() -> ShownChange {
        defer { self = PendingChange() }
        let left = rolledBack.isEmpty ? left : left + rolledBack
        return ShownChange(advancesBase: advancesBase, left: left, joined: joined)
    }

    /// Takes what can be delivered while the state below is held: the program's own further actions
    /// show at once, and those that have failed vanish at once.
    mutating func takeOwn(except held: Set<Ticket>) -> ShownChange? {
        let own = ShownChange(
            left: rolledBack, joined: joined.filter { !held.contains($0.ticket) })
        joined.removeAll { !held.contains($0.ticket) }
        rolledBack = []
        return own.isEmpty ? nil : own
    }

    /// - Returns: whether the send has joined and that is not delivered, so that nothing
    ///   is left to do.
    private mutating func withdraw(_ ticket: Ticket) -> Bool {
        guard let index = joined.firstIndex(where: { $0.ticket == ticket }) else { return false }
        joined.remove(at: index)
        return true
    }
}
