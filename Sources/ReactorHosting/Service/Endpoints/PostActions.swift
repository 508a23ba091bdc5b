internal import Feeds
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

/// `POST /v1/sessions/{id}/actions`: one action or a batch. With `?reactor=name` the session is
/// created first if there is none, in the same commit (ADR-0095).
enum PostActions: SessionEndpoint {
    static let isForwarded = true

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let wanted = request.head.query == nil ? nil : try request.queryItems().first("reactor")
        let creates = if case .nothing = target.found { wanted != nil } else { false }
        if creates {
            // A condition is about a session that exists.
            guard request.head.range(of: .ifMatch) == nil else { throw target.problem }
            _ = (try idempotencyKey(request), try doneKeys(request))
        }
        let present = creates ? nil : try target.session()
        if let wanted, let present, present.registration.name != wanted {
            throw .otherReactor(target.id.text, present.registration.name)
        }
        try request.requireJSON()
        if request.examined == nil, request.body.count > LargeBodies.minimumBytes {
            return LargeBodies.examine(request, on: connection)
        }
        if let present {
            try post(request, to: present, on: connection)
        } else if let wanted {
            if let grants = request.access?.grants,
                !grants.verbs.contains(.create) || !grants.permits(reactor: wanted)
            {
                throw .forbidden
            }
            try PutSession.create(
                SessionBody(reactor: wanted), request, Self.self, for: target, on: connection
            ) { session, connection throws(Problem) in
                try post(request, to: session, on: connection)
            }
        }
        return nil
    }

    private static func post(
        _ request: Request, to session: Session, on connection: HTTPConnection
    ) throws(Problem) {
        let body = request.examined ?? ActionBody(request.body)
        var waits = false
        if request.head.query != nil { waits = try readWait(request, session, connection) }
        var post = ActionPost(body: body, token: connection.token)
        if let grants = request.access?.grants, grants.actions != nil {
            let (reactor, limit) = (session.registration, connection.loop.sessions.limits.batch)
            post.check = { () throws(ActionRefusal) in
                try reactor.check(body.json, batchLimit: limit, against: grants)
            }
        }
        post.waits = waits
        post.condition = try condition(request)
        let span = connection.span
        let sent = request.head.text(of: .traceparent).flatMap(TraceParent.init)
        if let traceparent = (sent ?? span?.traceparent.flatMap(TraceParent.init))?.text {
            connection.setOptions { $0.traceparent = traceparent }
            post.traceparent = traceparent
        }
        post.trace = span.map(RequestTrail.init)
        post.subject = request.access?.subject?.text
        post.key = try idempotencyKey(request)
        post.doneKeys = try doneKeys(request)
        do {
            try session.post(post)
        } catch {
            throw Problem(error, by: session.registration)
        }
        if waits { connection.rearm() }
    }

    /// `?wait=settled&timeout=10s`.
    private static func readWait(
        _ request: Request, _ session: Session, _ connection: HTTPConnection
    ) throws(Problem) -> Bool {
        let items = try request.queryItems()
        var timeout = Duration.seconds(10)
        if let text = items.first("timeout") {
            guard let time = DurationText.parse(text), time <= .seconds(600) else {
                throw .badParameter("timeout", text, "send a time such as 500ms or 10s")
            }
            timeout = time
        }
        guard try items.word("wait", of: ["settled"]) != nil else { return false }
        let loop = connection.loop
        // A server that drains has ended the waits of all earlier requests already.
        connection.setOptions { options in
            let isDue = options.isHurried || loop.service.isDraining
            let deadline = isDue ? loop.now : loop.now + timeout
            options.waitDeadline = deadline
            options.waitingIn = session
        }
        return true
    }

    /// RFC 9110 §13.1.1; weak tags never match.
    private static func condition(_ request: Request) throws(Problem) -> PositionCondition? {
        guard request.head.range(of: .ifMatch) != nil else { return nil }
        let tags = try EntityTags(request.head, .ifMatch)
        return tags.isAny ? .any : .oneOf(tags.strong)
    }

    /// Opaque, compared byte by byte (draft-ietf-httpapi-idempotency-key-header §2.1).
    static func idempotencyKey(_ request: Request) throws(Problem) -> String? {
        guard let key = request.head.text(of: .idempotencyKey) else { return nil }
        guard isKey(key) else { throw .badIdempotencyKey }
        return key
    }

    static func isKey(_ text: some StringProtocol) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// A list (RFC 9110 §5.6.1). A key that has a comma cannot be in it.
    private static func doneKeys(_ request: Request) throws(Problem) -> [String] {
        guard request.head.range(of: .idempotencyKeyDone) != nil else { return [] }
        var keys: [String] = []
        for range in request.head.values(of: .idempotencyKeyDone) {
            for part in request.head.text(range).split(separator: ",") {
                let key = Substring(part).trimmingSpaces
                guard !key.isEmpty else { continue }
                guard isKey(key), keys.count < doneKeysLimit else {
                    throw Problem(
                        400, "bad_idempotency_key",
                        "Idempotency-Key-Done must be a list of at most \(doneKeysLimit) keys, "
                            + "each with 1 to 255 visible ASCII characters and no comma")
                }
                keys.append(String(key))
            }
        }
        return keys
    }

    /// More keys than a client releases between two requests.
    private static let doneKeysLimit = 16
}
