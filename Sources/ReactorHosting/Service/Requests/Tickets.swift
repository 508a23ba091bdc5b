internal import Sessions
internal import Sockets
internal import Synchronization

/// The tickets of the process, for all loops.
///
/// Why a lock: a client makes a ticket on any loop, and opens its stream on that of the session. It is
/// held for a look-up, and by no request but those that make a ticket or open a stream with one.
final class Tickets: Sendable {
    private let table = Mutex(TicketTable())

    /// A new ticket; see ``TicketTable/insert(_:for:to:at:)``.
    ///
    /// - Parameter now: Milliseconds since 1970, here and below.
    /// - Returns: The ticket, and the time until which a stream must be opened with it.
    func issue(
        for stream: TicketStream, to access: Access, at now: Int64
    ) throws(Problem) -> (ticket: Ticket, expiresAt: Int64) {
        let ticket = Ticket()
        let end = try table.withLock { table throws(Problem) in
            try table.insert(ticket, for: stream, to: access, at: now)
        }
        return (ticket, end)
    }

    /// The token for which the ticket stands; see ``TicketTable/redeem(_:for:query:at:)``.
    func redeem(
        _ ticket: Ticket, for stream: TicketStream, query: ArraySlice<UInt8>, at now: Int64
    ) throws(Problem) -> ArraySlice<UInt8> {
        try table.withLock { table throws(Problem) in
            try table.redeem(ticket, for: stream, query: query, at: now)
        }
    }

    /// Records that a connection is the ticket's stream.
    ///
    /// - Returns: The connection that was, if it may still be open.
    func opened(_ ticket: Ticket, by connection: TicketConnection) -> TicketConnection? {
        table.withLock { $0.opened(ticket, by: connection) }
    }

    /// The ticket's stream has moved to another connection.
    ///
    /// - Returns: False if another stream was opened with the ticket meanwhile.
    func moved(
        _ ticket: Ticket, from earlier: TicketConnection, to present: TicketConnection
    ) -> Bool {
        table.withLock { $0.moved(ticket, from: earlier, to: present) }
    }

    /// Removes expired tickets, a bounded number at a time.
    func sweep(at now: Int64) {
        table.withLock { $0.sweep(at: now, count: TicketTable.sweptAtOnce) }
    }
}

/// The stream for which a ticket is made.
struct TicketStream: Equatable, Sendable {
    let route: Route
    /// Nil for a stream of several sessions, which its query names.
    let session: SessionID?
}

/// A connection of one of the loops.
struct TicketConnection: Equatable, Sendable {
    let loop: Int
    let id: ConnectionID
}
