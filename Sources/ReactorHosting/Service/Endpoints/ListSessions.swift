internal import Feeds
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

/// `GET /v1/sessions`: a page of sessions (`?prefix=`, `?after=`, `?limit=`, `?reactor=`, `?tag=`,
/// `?sort=`), from the journal, or from memory if the journal has no archive. If a loop is stuck,
/// its sessions are unknown: 503.
///
/// If `Accept` names an event stream: a stream that follows the first page of a list by tags.
enum ListSessions: ServiceEndpoint {
    static func wantsStream(_ request: Request) -> Bool {
        AcceptedTypes(request.head).names(.eventStream, notLessThan: .json)
    }

    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let query = try ListQuery(try request.queryItems())
        if let grants = request.access?.grants, grants.reactors != nil,
            !(query.reactor.map(grants.permits(reactor:)) ?? false)
        {
            throw .forbidden
        }
        // Tags are parts of a state, which contains every pulse.
        let showsTags = request.access?.grants.pulses == nil
        if !showsTags, case .tagged = query { throw .forbidden }
        guard !wantsStream(request) else { return try follow(query, request, on: connection) }
        switch query {
        case .all(let range): list(range, showsTags, on: connection)
        case .tagged(let selection): list(selection, on: connection)
        }
        return nil
    }

    private static func follow(
        _ query: ListQuery, _ request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        guard case .tagged(let selection) = query else {
            throw Problem(
                400, "bad_sort",
                "a stream follows a list by tags: name a tag, or send "
                    + "sort=changed and a reactor")
        }
        if let after = selection.after {
            throw .badParameter("after", after.text, "a stream begins with the first page")
        }
        let items = try request.queryItems()
        let isPing = try items.word("ping", of: ["events", "comments"]) == "events"
        guard request.head.method != .head else { return .streamHead }
        let loop = connection.loop
        guard !loop.service.isDraining else { return .endedStream(.draining) }
        let charge = loop.service.work.charge(
            selection.limit * lineBytes, for: loop.service.workClient(of: connection.identity))
        guard let charge else { return .endedStream(.tooMuchMemory) }
        let list = ListConnection(connection, charge, isChunked: request.head.minorVersion > 0)
        connection.setOptions {
            $0.wantsStream = true
            $0.list = list
            $0.heartbeatIsEvent = isPing
            if let access = request.access { $0.accessEnd = access.end(on: loop) }
        }
        loop.lists.insert(list, selection)
        return nil
    }

    private static func list(
        _ wanted: SessionRange, _ showsTags: Bool, on connection: HTTPConnection
    ) {
        let room = room(for: wanted.limit, on: connection)
        let limit = room == nil ? min(wanted.limit, fewLines) : wanted.limit
        var range = wanted
        range.limit = limit + 1
        let (id, asked) = (connection.id, range)
        let isArchived = connection.loop.sessions.page(asked) { heads in
            guard connection.id == id else { return }
            respond(heads, on: connection) {
                response(Page(sorting: $0, limit: limit, showsTags), room)
            }
        }
        guard !isArchived else { return }
        LoopQuery.ask(
            for: connection, within: waitLimit(connection), late: { .problem(.stuck(on: $0)) }
        ) { loop in
            loop.sessions.page(asked).map(SessionDescription.init)
        } then: { parts, _ in
            response(Page(sorting: parts.flatMap { $0 }, limit: limit, showsTags), room)
        }
    }

    private static func list(_ wanted: TagSelection, on connection: HTTPConnection) {
        let room = room(for: wanted.limit, on: connection)
        var selection = wanted
        if room == nil { selection.limit = min(wanted.limit, fewLines) }
        let (id, asked) = (connection.id, selection)
        let isArchived = connection.loop.sessions.taggedPage(asked) { page in
            guard connection.id == id else { return }
            respond(page.map(\.heads), on: connection) { sessions in
                response(Page(sessions, next: (try? page.get())?.next?.text), room)
            }
        }
        guard !isArchived else { return }
        LoopQuery.ask(
            for: connection, within: waitLimit(connection), late: { .problem(.stuck(on: $0)) }
        ) { loop in
            loop.sessions.taggedPage(asked, loop: loop.index)
                .map { (place: $0.place, session: SessionDescription($0.session)) }
        } then: { parts, _ in
            let all = parts.flatMap { $0 }.sorted { $0.place > $1.place }
            let page = all.prefix(asked.limit)
            let next = all.count > page.count ? page.last?.place.text : nil
            return response(Page(page.map(\.session), next: next), room)
        }
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
        var response = Response.json(200, page, fields: [("Vary", "Accept")])
        if let room, case .bytes(let body) = response.body, room.resize(to: body.count) {
            response.charge = room
        }
        return response
    }

    /// Only the loop that owns a session knows whether it can be rebuilt.
    private static func respond(
        _ heads: Result<[SavedHead], JournalFailure>, on connection: HTTPConnection,
        _ response: @escaping @Sendable ([SessionDescription]) -> Response
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
                return response(heads.map { SessionDescription($0, faults[$0.key.session]) })
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

        init(_ sessions: [SessionDescription], next: String?) {
            (self.sessions, self.next) = (sessions, next)
        }

        /// - Parameter sessions: In any order; one more than the limit if there is a next page.
        init(sorting sessions: [SessionDescription], limit: Int, _ showsTags: Bool) {
            let sorted = sessions.sorted { $0.id < $1.id }
            self.sessions = sorted.prefix(limit).map { showsTags ? $0 : $0.withoutTags }
            next = sorted.count > limit ? sorted[limit - 1].id : nil
        }
    }
}
