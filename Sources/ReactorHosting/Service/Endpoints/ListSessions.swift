internal import Feeds
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

/// `GET /v1/sessions`: a page of sessions (`?prefix=`, `?after=`, `?limit=`, `?reactor=`), from the
/// journal, or from memory if the journal has no archive. A loop that is stuck has sessions of
/// which nothing is known: 503.
enum ListSessions: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let items = try request.queryItems()
        let wanted = try items.pageLimit()
        let room = room(for: wanted, on: connection)
        let limit = room == nil ? min(wanted, fewLines) : wanted
        let range = SessionRange(
            after: items.first("after"), prefix: try prefix(items), reactor: items.first("reactor"),
            limit: limit + 1)
        if let grants = request.access?.grants, grants.reactors != nil,
            !(range.reactor.map(grants.permits(reactor:)) ?? false)
        {
            throw .forbidden
        }
        let id = connection.id
        let isArchived = connection.loop.sessions.page(range) { heads in
            if connection.id == id { respond(heads, limit: limit, room, on: connection) }
        }
        if isArchived { return nil }
        LoopQuery.ask(
            for: connection, within: waitLimit(connection), late: { .problem(.stuck(on: $0)) }
        ) { loop in
            loop.sessions.page(range).map(SessionDescription.init)
        } then: { parts, _ in
            response(Page(parts.flatMap { $0 }, limit: limit), room)
        }
        return nil
    }

    /// About the bytes that a line takes while it is read and then in the page.
    private static let lineBytes = 1_024
    /// A page with at most this number of lines does not count.
    private static let fewLines = WorkBudget.smallestBytes / lineBytes

    /// Counts a page until it is sent. Nil if the page is small, or if there is no room for it: it
    /// then has only a few lines, and the client continues after them.
    private static func room(for limit: Int, on connection: HTTPConnection) -> WorkCharge? {
        guard limit > fewLines else { return nil }
        let (service, loops) = (connection.loop.service, connection.loop.peers.count)
        // Without an archive, each loop makes a page.
        let count = limit * (service.journal.archive == nil ? loops : 1)
        return service.work.charge(
            count * lineBytes, for: service.workClient(of: connection.identity))
    }

    private static func response(_ page: Page, _ room: WorkCharge?) -> Response {
        var response = Response.json(200, page)
        if let room, case .bytes(let body) = response.body, room.resize(to: body.count) {
            response.charge = room
        }
        return response
    }

    private static func prefix(_ items: QueryItems) throws(Problem) -> String {
        let prefix = items.first("prefix") ?? ""
        guard SessionID.canBegin(with: prefix) else {
            throw .badParameter(
                "prefix", prefix, "a session id has 1 to 128 characters of A-Z a-z 0-9 _ -")
        }
        return prefix
    }

    /// Only the loop that owns a session knows whether it can be rebuilt.
    private static func respond(
        _ heads: Result<[SavedHead], JournalFailure>, limit: Int, _ room: WorkCharge?,
        on connection: HTTPConnection
    ) {
        switch heads {
        case .failure(let failure):
            connection.respond(.problem(.unreadable(failure)))
        case .success(let heads):
            LoopQuery.ask(
                for: connection, within: waitLimit(connection), late: { .problem(.stuck(on: $0)) }
            ) { loop in
                var faults: [String: RecoveryFault] = [:]
                for head in heads { faults[head.key.session] = loop.sessions.fault(of: head) }
                return faults
            } then: { parts, _ in
                let faults = parts.reduce(into: [:]) { known, more in
                    known.merge(more) { known, _ in known }
                }
                return response(
                    Page(
                        heads.map { SessionDescription($0, faults[$0.key.session]) }, limit: limit),
                    room)
            }
        }
    }

    private static func waitLimit(_ connection: HTTPConnection) -> Duration {
        connection.loop.service.watch.limit
    }

    private struct Page: Encodable {
        let sessions: [SessionDescription]
        /// `?after=` of the next page; nil on the last one.
        let next: String?

        /// - Parameter sessions: In any order; one more than the limit if there is a next page.
        init(_ sessions: [SessionDescription], limit: Int) {
            let sorted = sessions.sorted { $0.id < $1.id }
            self.sessions = Array(sorted.prefix(limit))
            next = sorted.count > limit ? sorted[limit - 1].id : nil
        }
    }
}
