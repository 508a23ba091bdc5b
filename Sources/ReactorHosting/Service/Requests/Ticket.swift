internal import Feeds
internal import Wire

/// The query `?ticket=` of a stream's request, in which a ticket stands for the client's token:
/// EventSource cannot send `Authorization` (ADR-0062).
enum Ticket {
    /// A request target has 8 KB, and a ticket has a third more than its token.
    static let tokenLimitBytes = 5_120

    /// The value of `ticket` in a query; nil without one. Only the plain name counts. Throws 400
    /// for two of them.
    static func find(in head: RequestHead) throws(Problem) -> ArraySlice<UInt8>? {
        guard let query = head.query else { return nil }
        var found: ArraySlice<UInt8>?
        for item in items(of: head.bytes[query]) {
            guard let value = value(of: item) else { continue }
            guard found == nil else { throw .ticketRepeated }
            found = value
        }
        return found
    }

    static func rest(of query: ArraySlice<UInt8>) -> [UInt8] {
        let others = items(of: query).filter { value(of: $0) == nil }
        return Array(others.joined(separator: CollectionOfOne(UInt8(ascii: "&"))))
    }

    private static func items(of query: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    }

    private static let name = Array("ticket".utf8)

    private static func value(of item: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard item.starts(with: name) else { return nil }
        let rest = item.dropFirst(name.count)
        guard let equals = rest.first else { return rest }
        return equals == UInt8(ascii: "=") ? rest.dropFirst() : nil
    }
}

struct TicketStream {
    let route: Route
    /// Nil for a stream of several sessions, which its query names.
    let session: SessionID?
    /// The whole query besides the ticket; nil for a ticket that is valid with any.
    let query: [UInt8]?

    /// Identifies the stream: different streams have different digests.
    var digest: ArraySlice<UInt8> {
        // No id and no operation has a line feed.
        let path = Array("\(route.operationID)\n\(session?.text ?? "")\n".utf8)
        return SHA256.hash(path + (query ?? [])).prefix(16)
    }
}
