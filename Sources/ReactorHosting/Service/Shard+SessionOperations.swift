internal import JSONCoding
internal import Reactors
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

// Operations on one session, which this loop owns.
extension Shard {
    /// Carries it out now, or when the session has come from the journal.
    func carryOut(
        _ operation: Operation, on id: SessionID, _ connection: ConnectionID
    ) throws(Problem) {
        let found = sessions.find(id)
        if case .notInMemory = found { return try fetch(id, for: operation, connection) }
        try carryOut(operation, on: id, found, connection)
    }

    func carryOut(
        _ operation: Operation, on id: SessionID, _ found: SessionTable.Found,
        _ connection: ConnectionID
    ) throws(Problem) {
        switch operation {
        case .postActions: try postActions(session(id, found), connection)
        case .streamPulses, .streamActivities, .streamStates, .streamEvents:
            try stream(operation, id, found, connection)
        case .readLog: try readLog(id, found, connection)
        case .putStub, .readStub: try stub(operation, session(id, found), connection)
        case .readSession: try readSession(session(id, found), connection)
        case .putSession: try putSession(id, found, connection)
        case .deleteSession: try deleteSession(id, found, connection)
        case .listReactors, .createSession, .listSessions, .livez, .readyz, .metrics, .openapi,
            .publishTopic:
            preconditionFailure("\(operation) concerns no session")
        }
    }

    func session(
        _ id: SessionID, _ found: SessionTable.Found
    ) throws(Problem) -> Session {
        switch found {
        case .session(let session): return session
        case .ended: throw .endedSession(id.text)
        case .nothing: throw .unknownSession(id.text)
        case .quarantined(let fault): throw .quarantined(id.text, fault)
        case .unreadable(let failure): throw .unreadable(failure)
        case .noRoom: throw .noRoomForSession
        case .notInMemory: preconditionFailure("it was fetched")
        }
    }

    private func putSession(
        _ id: SessionID, _ found: SessionTable.Found, _ connection: ConnectionID
    ) throws(Problem) {
        let registration = try wantedReactor()
        switch found {
        case .session(let session):
            guard session.registration.name == registration.name else {
                throw .otherReactor(id.text, session.registration.name)
            }
            session.greet(for: connection.token)
        case .nothing:
            guard sessions.hasRoomForSession else { throw .noRoomForSession }
            try create(id, registration, connection)
        case .ended, .quarantined, .unreadable, .noRoom, .notInMemory:
            _ = try session(id, found)
        }
    }

    func create(
        _ id: SessionID, _ registration: Registration, from saved: SavedSession? = nil,
        _ connection: ConnectionID
    ) throws(Problem) {
        do {
            try sessions.create(id, registration, for: connection.token, from: saved)
        } catch {
            throw .quarantined(id.text, error)
        }
    }

    /// A session that can't come into memory ends all the same.
    private func deleteSession(
        _ id: SessionID, _ found: SessionTable.Found, _ connection: ConnectionID
    ) throws(Problem) {
        switch found {
        case .quarantined, .unreadable:
            sessions.delete(id) { [unowned self] deletion in
                guard isCurrent(connection) else { return }
                serveLate(connection) { () throws(Problem) in
                    switch deletion {
                    case .deleted: self.answer(connection, 204, [self.durability], [])
                    case .overtaken(let found):
                        try self.session(id, found).end(for: connection.token)
                    case .unreadable(let failure): throw .unreadable(failure)
                    case .failed(let failure): throw Problem(failure)
                    }
                }
            }
        case .session, .ended, .nothing, .noRoom, .notInMemory:
            try session(id, found).end(for: connection.token)
        }
    }

    private func readSession(_ session: Session, _ connection: ConnectionID) throws(Problem) {
        var version: UInt64?
        if head.query != nil, let text = try queryItems().first("version") {
            guard let number = UInt64(text) else {
                throw Problem(400, "bad_version", "version is \(text); send a whole number")
            }
            version = number
        }
        if head.range(of: .ifNoneMatch) != nil {
            let known = try EntityTags(head, .ifNoneMatch)
            wish(connection) { $0.known = known }
        }
        session.read(version: version, for: connection.token)
    }

    private func postActions(_ session: Session, _ connection: ConnectionID) throws(Problem) {
        try requireJSON()
        // Once, for each look at the property would copy all of it.
        let head = head
        var waits = false
        if head.query != nil { waits = try readPatience(session.id, connection) }
        let condition = try positionCondition(head)
        let traceparent = head.text(of: .traceparent).flatMap { TraceParent($0)?.text }
        if let traceparent { wish(connection) { $0.traceparent = traceparent } }
        var post = ActionPost(body: body, token: connection.token)
        post.condition = condition
        post.waits = waits
        post.traceparent = traceparent
        post.key = try idempotencyKey()
        do {
            try session.post(post)
        } catch {
            throw Problem(error, by: session.registration)
        }
        if waits { rearm(connection) }
    }

    /// `?wait=settled&timeout=10s`.
    private func readPatience(
        _ session: SessionID, _ connection: ConnectionID
    ) throws(Problem) -> Bool {
        let items = try queryItems()
        var patience = Duration.seconds(10)
        if let text = items.first("timeout") {
            guard let time = DurationText.parse(text), time <= .seconds(600) else {
                throw Problem(
                    400, "bad_timeout", "timeout is \(text); send a time such as 500ms or 10s")
            }
            patience = time
        }
        guard let wait = items.first("wait") else { return false }
        guard wait == "settled" else {
            throw Problem(400, "bad_wait", "wait is \(wait); the only thing to wait for is settled")
        }
        let until = connections.now + patience
        wish(connection) { wishes in
            wishes.patience = until
            wishes.session = session
        }
        return true
    }

    /// RFC 9110 §13.1.1; weak tags never match.
    private func positionCondition(
        _ head: RequestHead
    ) throws(Problem) -> PositionCondition? {
        guard head.range(of: .ifMatch) != nil else { return nil }
        let tags = try EntityTags(head, .ifMatch)
        return tags.isAny ? .any : .oneOf(tags.strong)
    }

    /// Opaque, compared byte by byte (draft-ietf-httpapi-idempotency-key-header §2.1).
    private func idempotencyKey() throws(Problem) -> String? {
        guard let key = head.text(of: .idempotencyKey) else { return nil }
        guard (1...255).contains(key.utf8.count),
            key.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Problem(
                400, "bad_idempotency_key",
                "Idempotency-Key must be 1 to 255 visible ASCII characters")
        }
        return key
    }

    // MARK: Streams

    func stream(
        _ operation: Operation, _ id: SessionID, _ found: SessionTable.Found,
        _ connection: ConnectionID
    ) throws(Problem) {
        let session: Session
        switch found {
        case .session(let present): session = present
        // 204 tells EventSource to stop (contract §3.2).
        case .ended: return answer(connection, 204, [], [])
        // Any status but 200 would stop it too, and this may pass.
        case .quarantined(let fault):
            return answerStream(connection, with: .quarantined(id.text, fault))
        case .unreadable(let failure): return answerStream(connection, with: .unreadable(failure))
        case .noRoom: return answerStream(connection, with: .noRoomForSession)
        case .nothing, .notInMemory: throw .unknownSession(id.text)
        }
        try requireEventStreamAccepted()
        wish(connection) { $0.isStream = true }
        let items = try queryItems()
        let query = try StreamQuery(operation, items, head, session.registration)
        guard head.method != .head else { return answerStreamHead(connection) }
        guard !service.isDraining else { return answerStream(connection, with: .draining) }
        if query.heartbeatIsEvent { wish(connection) { $0.heartbeatIsEvent = true } }
        var selection = query.selection
        // RFC 9112 §6.1: chunks only in answer to HTTP/1.1.
        selection.isChunked = head.minorVersion > 0
        session.subscribe(
            SubscriptionRequest(
                token: connection.token, selection: selection, start: query.start))
    }

    /// RFC 9110 §12.5.1: a stream is all there is at these paths.
    private func requireEventStreamAccepted() throws(Problem) {
        guard let accept = head.text(of: .accept) else { return }
        guard accepts(["text/event-stream", "text/*", "*/*"], accept) else {
            throw Problem(
                406, "not_acceptable", "Accept is \(accept); this is text/event-stream")
        }
    }

    /// Whether `Accept` names one of these; what it weighs less is still accepted.
    private func accepts(_ types: [String], _ accept: String) -> Bool {
        accept.split(separator: ",").contains {
            types.contains($0.prefix { $0 != ";" }.trimmingSpaces.lowercased())
        }
    }

    /// Whether the request is answered with a stream if all goes well.
    func wantsStream(_ operation: Operation) -> Bool {
        switch operation {
        case .streamPulses, .streamActivities, .streamStates, .streamEvents: true
        case .readLog: logIsStream
        default: false
        }
    }

    // MARK: The action log

    /// Only if the request accepts an event stream by its name.
    private var logIsStream: Bool {
        head.text(of: .accept).map { accepts(["text/event-stream", "text/*"], $0) } ?? false
    }

    /// A page as JSON, or, for those who accept an event stream by its name, a stream.
    private func readLog(
        _ id: SessionID, _ found: SessionTable.Found, _ connection: ConnectionID
    ) throws(Problem) {
        guard !logIsStream else { return try stream(.readLog, id, found, connection) }
        let session = try session(id, found)
        if let accept = head.text(of: .accept),
            !accepts(["application/json", "application/*", "*/*"], accept)
        {
            throw Problem(
                406, "not_acceptable",
                "Accept is \(accept); this is application/json or text/event-stream")
        }
        let items = try queryItems()
        let query = try StreamQuery(.readLog, items, head, session.registration)
        session.readLog(
            LogPageRequest(
                token: connection.token, after: items.first("after"), limit: query.limit))
    }
}

extension Substring {
    /// Without spaces and tabs around it (RFC 9110 §5.6.3).
    var trimmingSpaces: Substring {
        var rest = drop { $0 == " " || $0 == "\t" }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return rest
    }
}
