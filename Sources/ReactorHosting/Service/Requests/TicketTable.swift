/// Tickets by their random bits.
///
/// Design: a ticket is valid for 30 s until it is used, and then for one stream until its token
/// expires: EventSource connects again with the same URL. A subject that makes too many loses its
/// least recently used one. Removal needs no search of all tickets: they are swept a few at a time, in
/// the order of ``all``.
///
/// Why a look-up by a hash is safe although it takes a varying time: the hash has a random key, and a
/// ticket cannot be guessed byte by byte.
struct TicketTable {
    /// The maximum number of tickets. With tokens of a kilobyte, 20 MB.
    static let limit = 16_384
    /// The maximum number of tickets of one subject.
    static let subjectLimit = 256
    /// The time until the first use.
    static let unusedMilliseconds: Int64 = 30_000
    /// The number of tickets that a sweep examines.
    static let sweptAtOnce = 4_096

    private struct Entry {
        let stream: TicketStream
        /// The client that made it. A reference to the token, which is verified again as if it were
        /// sent.
        let access: Access
        let unusedUntil: Int64
        /// Nil until the first use.
        var query: QueryDigest?
        var connection: TicketConnection?
        /// The index in ``all``.
        var index: Int

        var end: Int64 { query == nil ? unusedUntil : access.expiresAtMilliseconds }
    }

    private var entries: [Ticket: Entry] = [:]
    /// All tickets, in any order.
    private var all: [Ticket] = []
    /// The index in ``all`` at which the next sweep begins.
    private var cursor = 0
    /// The tickets of each subject, the least recently used one first.
    private var subjects: [String: [Ticket]] = [:]

    var count: Int { entries.count }

    /// Adds a ticket. Of a subject with the maximum number, the least recently used one is removed: it
    /// is probably that of a page which was closed.
    ///
    /// - Returns: The time until which it must be used.
    /// - Throws: 503 if there are too many tickets of all subjects.
    mutating func insert(
        _ ticket: Ticket, for stream: TicketStream, to access: Access, at now: Int64
    ) throws(Problem) -> Int64 {
        let subject = access.principal.subject
        if let own = subjects[subject], own.count >= Self.subjectLimit { remove(own[0]) }
        if entries.count >= Self.limit { sweep(at: now, count: Self.sweptAtOnce) }
        guard entries.count < Self.limit else { throw .tooManyTickets }
        let end = min(now + Self.unusedMilliseconds, access.expiresAtMilliseconds)
        entries[ticket] = Entry(
            stream: stream, access: access, unusedUntil: end, index: all.count)
        all.append(ticket)
        subjects[subject, default: []].append(ticket)
        return end
    }

    /// Binds the ticket to its stream at the first use, and compares at every other use.
    ///
    /// - Parameter query: The whole query, which contains the selection of the stream.
    /// - Returns: The token.
    /// - Throws: 401 for a ticket that is unknown, has expired, or belongs to another stream.
    mutating func redeem(
        _ ticket: Ticket, for stream: TicketStream, query: ArraySlice<UInt8>, at now: Int64
    ) throws(Problem) -> ArraySlice<UInt8> {
        guard let entry = entries[ticket] else { throw .ticketInvalid(.unknown) }
        guard now < entry.end else {
            remove(ticket)
            throw .ticketInvalid(.unknown)
        }
        let digest = QueryDigest(query)
        guard entry.stream == stream, entry.query == nil || entry.query == digest else {
            throw .ticketInvalid(.elsewhere)
        }
        entries[ticket]?.query = digest
        let subject = entry.access.principal.subject
        if let place = subjects[subject]?.firstIndex(of: ticket) {
            subjects[subject]?.remove(at: place)
            subjects[subject]?.append(ticket)
        }
        return entry.access.token
    }

    mutating func opened(
        _ ticket: Ticket, by connection: TicketConnection
    ) -> TicketConnection? {
        let earlier = entries[ticket]?.connection
        entries[ticket]?.connection = connection
        return earlier
    }

    mutating func moved(
        _ ticket: Ticket, from earlier: TicketConnection, to present: TicketConnection
    ) -> Bool {
        // One that has expired opens no other stream.
        guard let entry = entries[ticket] else { return true }
        guard entry.connection == earlier else { return false }
        entries[ticket]?.connection = present
        return true
    }

    /// Examines `count` tickets after those of the last sweep, and removes those that have expired.
    mutating func sweep(at now: Int64, count: Int) {
        for _ in 0..<min(count, all.count) {
            if cursor >= all.count { cursor = 0 }
            if let entry = entries[all[cursor]], entry.end <= now {
                // The last ticket takes its index.
                remove(all[cursor])
            } else {
                cursor += 1
            }
        }
    }

    private mutating func remove(_ ticket: Ticket) {
        guard let entry = entries.removeValue(forKey: ticket) else { return }
        let last = all.removeLast()
        if last != ticket {
            all[entry.index] = last
            entries[last]?.index = entry.index
        }
        let subject = entry.access.principal.subject
        subjects[subject]?.removeAll { $0 == ticket }
        if subjects[subject]?.isEmpty ?? false { subjects[subject] = nil }
        // Gives the memory back.
        if entries.isEmpty { self = TicketTable() }
    }
}

/// 128 bits of two hashes with the random key of the process.
///
/// Why not the query itself: it may have 16 KB. Nobody can look for two queries with one digest, and
/// two of them would be parts of the same session, both of which the token grants.
private struct QueryDigest: Equatable {
    private let first: Int
    private let second: Int

    init(_ query: ArraySlice<UInt8>) {
        first = Self.hash(query, 1)
        second = Self.hash(query, 2)
    }

    private static func hash(_ query: ArraySlice<UInt8>, _ salt: Int) -> Int {
        var hasher = Hasher()
        hasher.combine(salt)
        hasher.combine(query)
        return hasher.finalize()
    }
}
