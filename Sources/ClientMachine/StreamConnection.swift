internal import Wire

struct StreamShape: Equatable, Sendable {
    /// In the order of the request. Invariant: not empty.
    var sessions: [SessionName]
    var demand: Demand
    /// For the sessions of which nothing is seen.
    var start: Following.Start
}

/// A stream of one or several sessions, over all of its connections.
struct StreamConnection: Sendable {
    enum Phase: Equatable, Sendable {
        case closed
        case opening
        case open
        /// The server has refused it; the rest of the response follows.
        case refused(ClientResponse)
    }

    let id: StreamID
    let shape: StreamShape
    /// The reader of the action log that this stream is for; nil for a stream of events.
    var log: LogReader?
    /// Whether it is the stream of an action log: to ask for `log` copies it.
    let isOfLog: Bool
    private let members: Set<SessionName>
    /// Whether it is part of the plan; else it ends as soon as others have begun (C1).
    var isWanted = true
    /// Sessions of which the server has said that nothing more comes.
    private(set) var over: Set<SessionName> = []
    /// The entries of the sessions of which nothing has come on this connection.
    private var awaited: [SessionName: VectorEntry] = [:]
    /// Whether something of each session has come: where they began makes no difference any more.
    private(set) var hasBegun = false
    private(set) var phase = Phase.closed
    private(set) var openedAt = Duration.zero
    private(set) var lastByteAt = Duration.zero
    private var decoder: EventStreamDecoder
    /// The first `retry:` of the connection; a larger one later means that the server is draining.
    private var firstRetry: Int?
    private var hasBlock = false
    /// Whether states may come as patches of those before.
    private(set) var isPatched = false
    /// The target to which the server has redirected the stream. Only the next connection uses it.
    private var redirect: String?
    /// Redirects in a row.
    private var redirects = 0
    /// Bytes of a refusal's body that are kept.
    private static let problemLimit = 65_536

    init(id: StreamID, shape: StreamShape, log: LogReader? = nil, limits: ClientLimits) {
        self.id = id
        self.shape = shape
        self.log = log
        isOfLog = log != nil
        members = Set(shape.sessions)
        decoder = Self.makeDecoder(limits)
    }

    var sessions: [SessionName] { shape.sessions }
    var demand: Demand { shape.demand }

    /// The sessions of which events can come.
    var live: [SessionName] { sessions.filter { !over.contains($0) } }

    /// Whether events of the session can come.
    func isLive(_ session: SessionName) -> Bool {
        isMember(session) && (over.isEmpty || !over.contains(session))
    }

    private func isMember(_ session: SessionName) -> Bool {
        isShared ? members.contains(session) : sessions[0] == session
    }

    var isOpen: Bool { if case .open = phase { true } else { false } }

    /// Its part in the status of a session of which it can bring events.
    func carrier(of session: SessionName) -> StreamTable.Carrier? {
        guard !isOfLog, isLive(session) else { return nil }
        return StreamTable.Carrier(id: id, isOpen: isOpen)
    }

    private var isShared: Bool { sessions.count > 1 }

    /// The time for which the server's `retry:` asks to wait.
    var retryWait: Duration { .milliseconds(Int64(decoder.retryMilliseconds ?? 0)) }

    /// Whether the server spreads the clients that come back (C3).
    var isDraining: Bool {
        guard let first = firstRetry, let last = decoder.retryMilliseconds else { return false }
        return last > first
    }

    /// Whether the connection has shown that the server works (C3).
    func isProven(at now: Duration, within limits: ClientLimits) -> Bool {
        isOpen && hasBlock && now - openedAt >= limits.proven
    }

    /// The target that resumes each session by what is seen of it.
    ///
    /// - Parameter asksForPatches: whether states may come as patches.
    func target(
        _ presence: ClientPresence, asksForPatches: Bool, _ entry: (SessionName) -> VectorEntry
    ) -> String {
        if let log { return log.target }
        var items = demand.queryItems + presence.queryItems
        let entries = sessions.map { over.contains($0) ? .over : entry($0) }
        if asksForPatches { items.append(Self.patchesItem) }
        if isShared { items = sessions.map { "session=\($0)" } + ["ids=own"] + items }
        if entries.contains(.nothing) {
            switch shape.start {
            case .present: break
            case .now: items.append("from=now")
            case .start: items.append("from=start")
            }
        }
        if entries.contains(where: { $0 != .nothing }) {
            items.append("after=" + VectorEntry.vector(entries))
        }
        let path = isShared ? "/v1/events" : "/v1/sessions/\(sessions[0])/events"
        return path + "?" + items.joined(separator: "&")
    }

    private static let patchesItem = "form=patch"

    /// - Parameters:
    ///   - target: the request's target.
    ///   - entries: how each live session is resumed.
    mutating func begin(
        _ target: String, _ entries: [SessionName: VectorEntry], within limits: ClientLimits
    ) {
        phase = .opening
        isPatched = target.contains("&\(Self.patchesItem)")
        awaited = entries
        decoder = Self.makeDecoder(limits)
        firstRetry = nil
        hasBlock = false
    }

    mutating func open(_ response: ClientResponse, at now: Duration) {
        lastByteAt = now
        let type = response.value("content-type")?.lowercased() ?? ""
        if response.status == 200, type.hasPrefix("text/event-stream") {
            phase = .open
            openedAt = now
        } else {
            phase = .refused(response)
        }
    }

    /// Follows a redirect. Returns false after three in a row (C5).
    mutating func redirect(to target: String) -> Bool {
        redirects += 1
        redirect = redirects <= 3 ? target : nil
        return redirect != nil
    }

    /// The target of the next connection, if the previous one was redirected. Any other connection
    /// uses the original address, because the service may never answer at the target.
    mutating func takeRedirect() -> String? {
        defer { redirect = nil }
        if redirect == nil { redirects = 0 }
        return redirect
    }

    /// The facts on which the meaning of an event depends.
    struct Context {
        let demand: Demand
        let openedAt: Duration
        /// Whether it is the first of its session on a connection that begins with it.
        let isFirst: Bool
    }

    /// Nil if no events of the session can come.
    mutating func beginEvent(of session: SessionName) -> Context? {
        guard isLive(session) else { return nil }
        var isFirst = false
        if !awaited.isEmpty {
            isFirst = awaited.removeValue(forKey: session) == .nothing
            if awaited.isEmpty { hasBegun = true }
        }
        return Context(demand: demand, openedAt: openedAt, isFirst: isFirst)
    }

    func awaitedEntry(of session: SessionName) -> VectorEntry? {
        isLive(session) && !isOfLog ? awaited[session] : nil
    }

    mutating func close() { phase = .closed }

    mutating func end(_ session: SessionName) { over.insert(session) }

    /// The meaning of bytes of the body.
    struct Incoming {
        /// In order, of sessions that are on the stream.
        var blocks: [(SessionName, StreamBlock)] = []
        /// The server's reason to end the stream, after these blocks. The rest is ignored.
        var problem: [UInt8]?
        let isOfLog: Bool
        /// As ``isProven(at:within:)``.
        var isProven = false
    }

    /// Reads bytes of the body.
    ///
    /// - Returns: nil if the stream is not open.
    /// - Throws: if an event is too large.
    mutating func receive(
        _ bytes: [UInt8], at now: Duration, within limits: ClientLimits
    ) throws(EventStreamFailure) -> Incoming? {
        lastByteAt = now
        if case .refused(var response) = phase {
            let room = Self.problemLimit - response.body.count
            response.body += bytes.prefix(room)
            phase = .refused(response)
        }
        guard isOpen else { return nil }
        var incoming = Incoming(isOfLog: isOfLog)
        var hasEvents = false
        let form = BlockForm(sessions: sessions, members: members, isPatched: isPatched)
        try decoder.receive(bytes.span) { event in
            hasEvents = true
            guard incoming.problem == nil else { return }
            if event.name == "problem" {
                incoming.problem = Array(event.data.utf8)
            } else if let block = form.block(of: event) {
                incoming.blocks.append(block)
            }
        }
        if firstRetry == nil { firstRetry = decoder.retryMilliseconds }
        if hasEvents { hasBlock = true }
        incoming.isProven = isProven(at: now, within: limits)
        return incoming
    }

    private static func makeDecoder(_ limits: ClientLimits) -> EventStreamDecoder {
        EventStreamDecoder(eventLimitBytes: limits.eventBytes, reportsIDs: true)
    }
}

/// How the events of a stream name their sessions.
private struct BlockForm {
    let sessions: [SessionName]
    let members: Set<SessionName>
    let isPatched: Bool

    /// The session and the block that an event is about; nil if it is the connection's own, or of a
    /// session that is not on this stream.
    func block(of event: ServerSentEvent) -> (SessionName, StreamBlock)? {
        var block = StreamBlock(
            name: event.name, data: Array(event.data.utf8), position: nil, cause: event.cause)
        guard sessions.count > 1 else {
            block.position = StreamPosition(event.lastEventID)
            block.isPatch = isPatched && block.name == "patch"
            return (sessions[0], block)
        }
        let id = Self.split(event.lastEventID)
        let name = event.name.isEmpty ? id : Self.split(event.name)
        guard let name, let session = SessionName(name.session), members.contains(session) else {
            return nil
        }
        block.name = event.name.isEmpty ? "" : name.rest
        block.isPatch = isPatched && block.name == "patch"
        if let id, id.session == name.session { block.position = StreamPosition(id.rest) }
        return (session, block)
    }

    /// An id of a session has no slash: the first one splits.
    private static func split(_ text: String) -> (session: String, rest: String)? {
        guard let slash = text.firstIndex(of: "/") else { return nil }
        return (String(text[..<slash]), String(text[text.index(after: slash)...]))
    }
}
