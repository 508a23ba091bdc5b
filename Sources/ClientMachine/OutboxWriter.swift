/// The outbox, and what waits until its changes are durable.
///
/// Invariant: nothing that follows from a change happens before the change is durable.
struct OutboxWriter: Sendable {
    /// An act that waits for a change to be durable.
    enum Consequence: Equatable, Sendable {
        case report(Ticket, SessionName, TicketOutcome)
        case post(SessionName, RequestKey)
    }

    private(set) var outbox: Outbox
    /// Why nothing can be written any more.
    private(set) var failure: String?
    /// Why changes are not written yet, and the uptime of the next attempt.
    private(set) var delay: (until: Duration, why: String)?
    private var changes: [OutboxChange] = []
    private var lastNumber: UInt64 = 0
    /// In order of their numbers. Invariant: bounded by the outbox, whose changes they follow from.
    private var waiting: [(number: UInt64, consequence: Consequence)] = []

    init(_ outbox: Outbox) { self.outbox = outbox }

    mutating func record(_ change: OutboxChange, then consequence: Consequence? = nil) {
        guard outbox.apply(change) else { return }
        changes.append(change)
        if let consequence { waiting.append((lastNumber + 1, consequence)) }
    }

    /// The changes since the last call, to be made durable under a number.
    mutating func takeChanges() -> (number: UInt64, changes: [OutboxChange])? {
        guard !changes.isEmpty, failure == nil else { return nil }
        defer { changes = [] }
        lastNumber += 1
        return (lastNumber, changes)
    }

    /// All changes up to this number are durable.
    mutating func persisted(_ number: UInt64) -> [Consequence] {
        delay = nil
        let count = waiting.prefix { $0.number <= number }.count
        defer { waiting.removeFirst(count) }
        return waiting.prefix(count).map(\.consequence)
    }

    /// Changes could not be written, and are tried again.
    mutating func wait(until time: Duration, _ why: String) { delay = (time, why) }

    /// Nothing can be written any more.
    ///
    /// - Returns: what does not follow, because its change is not durable.
    mutating func fail(_ reason: String) -> [Consequence] {
        failure = failure ?? reason
        delay = nil
        defer { waiting = [] }
        return waiting.map(\.consequence)
    }
}
