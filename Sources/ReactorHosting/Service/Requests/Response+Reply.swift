internal import Feeds
internal import JSONCoding
internal import Sessions
internal import Storage

extension Response {
    /// The response to a session's reply. Streams start elsewhere (``EventStream/begin(_:_:on:)``).
    init(_ content: Reply.Content, _ options: RequestOptions?, _ durability: (String, String)) {
        let id = content.feed.id.text
        let wantsStream = options?.wantsStream ?? false
        self =
            switch content.kind {
            case .received: .receipt(200, content, options, durability)
            case .unsettled: .receipt(202, content, options, durability)
            case .created(let isNew):
                .json(
                    isNew ? 201 : 200, SessionDescription(content),
                    fields: [durability] + (isNew ? [("Location", "/v1/sessions/\(id)")] : []))
            case .state(let state, let version):
                .state(state, version, content, options, durability)
            case .stub(let body): .json(200, body, fields: [durability])
            case .logPage(let body):
                .json(
                    200, body,
                    fields: [Self.isValidated, ("Vary", "Accept"), durability]
                        + Self.ageField(options))
            case .runtime(let body): .runtime(body, durability)
            case .ended: .noContent(fields: [durability])
            case .replayed(let stored):
                .json(
                    stored.status, stored.body,
                    fields: [durability, ("Idempotency-Replayed", "true")])
            case .tooManySelections(let limit): .endedStream(.tooManySelections(limit))
            case .tooManySubscribers(let limit): .endedStream(.tooManySubscribers(limit))
            // A stream reports the journal's failure in its body, like any temporary problem.
            case .failed(let failure) where wantsStream: .endedStream(Problem(failure))
            case .unreadable(let failure) where wantsStream: .endedStream(.unreadable(failure))
            // 204 stops EventSource: the session ended meanwhile (contract §3.2).
            case .gone where wantsStream: .noContent()
            case .overBudget: wantsStream ? .endedStream(.tooMuchMemory) : .problem(.tooMuchMemory)
            case .failed(let failure): .problem(Problem(failure))
            case .unreadable(let failure): .problem(.unreadable(failure))
            case .gone: .problem(.endedSession(id))
            case .conditionFailed: .problem(.positionChanged(content.position.text))
            case .versionUnknown(let kept): .problem(.unknownVersion(kept))
            case .unencodable(let failure): .problem(.unencodable("\(failure)"))
            case .refused(let refusal, let reactor): .problem(Problem(refusal, by: reactor))
            case .keyRunning: .problem(.keyRunning)
            case .keyReused: .problem(.keyReused)
            case .subscribed: .endedStream(.draining)
            }
        charge = content.charge
    }

    private static func receipt(
        _ status: Int, _ content: Reply.Content, _ options: RequestOptions?,
        _ durability: (String, String)
    ) -> Response {
        var body: [UInt8] = []
        content.appendReceipt(to: &body)
        var fields = [durability]
        if let traceparent = options?.traceparent { fields.append(("traceparent", traceparent)) }
        return .json(status, body, fields: fields)
    }

    /// RFC 9111 §5.1: a state that may not be the newest has the seconds since it was.
    private static func ageField(_ options: RequestOptions?) -> [(String, String)] {
        options?.age.map { [("Age", "\($0)")] } ?? []
    }

    private static func state(
        _ state: [UInt8], _ version: UInt64, _ content: Reply.Content, _ options: RequestOptions?,
        _ durability: (String, String)
    ) -> Response {
        let position = content.position.text
        let tag = ("ETag", "\"\(position)\"")
        let age = ageField(options)
        if let known = options?.knownTags, known.includes(position) {
            return Response(
                status: 304, fields: [tag, isValidated] + age, discardedBytes: state.count)
        }
        var description = SessionDescription(content)
        description.version = version
        // The state is JSON already. It becomes the last member of the description.
        var beginning = JSON.line(description)
        beginning.removeLast(2)
        // The input is JSON, too.
        if let input = content.feed.creation.input {
            beginning.append(contentsOf: ",\"input\":".utf8)
            beginning.append(contentsOf: input)
        }
        beginning.append(contentsOf: ",\"state\":".utf8)
        return Response(
            status: 200,
            fields: [
                ("Content-Type", "application/json"), isValidated, durability, tag,
            ] + age,
            body: .parts(beginning: beginning, shared: state, end: Array("}\n".utf8)))
    }
}

struct SessionDescription: Encodable, Sendable {
    let id: String
    let reactor: String
    var version: UInt64
    let position: String
    /// `quarantined`; nil for every other session.
    private(set) var status: String?
    private(set) var reason: String?
    /// Nil if the reactor declares none, or if the journal does not have them yet.
    private(set) var tags: ShownTags?
    /// When the tags were last changed.
    private(set) var changed: String?

    init(_ content: Reply.Content) {
        id = content.feed.id.text
        reactor = content.feed.reactor
        version = content.version
        position = content.position.text
        tags = content.tags.map(ShownTags.init)
    }

    init(_ session: Session) {
        id = session.id.text
        reactor = session.registration.name
        version = session.version
        position = session.position.text
        show(session.tags)
    }

    /// A session as stored in the journal.
    init(_ head: SavedHead, _ fault: RecoveryFault?) {
        id = head.key.session
        reactor = head.reactor
        version = head.end.version
        position = "\(head.key.generation).\(head.end.number)"
        show(head.tags)
        guard let fault else { return }
        status = "quarantined"
        reason = Problem.shortened("\(fault.place): \(fault.reason)")
    }

    /// For a client that may not see the state.
    var withoutTags: SessionDescription {
        var description = self
        description.show(nil)
        return description
    }

    private mutating func show(_ tags: SessionTags?) {
        self.tags = tags.map(ShownTags.init)
        changed = self.tags?.changed
    }
}
