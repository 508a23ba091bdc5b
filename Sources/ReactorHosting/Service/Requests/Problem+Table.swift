package import JSONCoding
package import Sessions
package import Storage
package import Wire

/// Maps every error of the floors below to the problem that the peer receives. The one table.
extension Problem {
    package init(_ refusal: RequestRefusal) {
        self.init(refusal.status, refusal.code, "\(refusal.detail) (\(refusal.clause))")
    }

    package init(_ refusal: JSONRefusal) {
        switch refusal {
        case .malformed(let offset, let reason):
            self.init(400, "malformed_json", "the body is not JSON: \(reason) at byte \(offset)")
        case .mismatch(let path, let reason):
            self.init(
                422, "not_an_action",
                "the body does not fit at \(path.isEmpty ? "its root" : path): \(reason)")
        }
    }

    package init(_ refusal: ActionRefusal) {
        switch refusal {
        case .json(let refusal):
            self.init(refusal)
        case .tooMany(let limit):
            self.init(
                422, "batch_too_large", "the body is an array of more than \(limit) actions")
        case .empty:
            self.init(422, "empty_batch", "the body is an empty array; post at least one action")
        case .tooManyKeys(let limit):
            self.init(
                503, "too_many_keys",
                "the session remembers \(limit) Idempotency-Keys; the oldest goes after 24 hours",
                fields: [("Retry-After", "60")])
        case .failed(let error):
            self.init(
                422, "action_failed", "the action failed and nothing of it was applied: \(error)")
        case .notEncodable(let what, let failure):
            self.init(
                422, "not_encodable",
                "nothing was applied: \(what) can't be written as JSON: \(failure)")
        case .parentMissing:
            self.init(
                409, "no_parent",
                "the action needs the session that this one is a part of, and there is none")
        case .tooManyRunning(let limit):
            self.init(
                503, "too_many_running",
                "nothing was applied: \(limit) actions of the session wait for something already",
                fields: [("Retry-After", "1")])
        case .stateTooLarge(let limit):
            self.init(
                422, "state_too_large",
                "nothing was applied: the state would have more than \(limit) bytes of JSON")
        case .overloaded:
            self.init(
                503, "too_busy", "the journal is behind; nothing was applied",
                fields: [("Retry-After", "1")])
        }
    }

    /// The same, and where the case of an action is what is wrong, which cases there are.
    package init(_ refusal: ActionRefusal, by reactor: Registration) {
        self.init(refusal)
        guard case .json(.mismatch(let path, _)) = refusal, Self.namesAction(path) else { return }
        let cases = reactor.exampleCases.joined(separator: ", ")
        detail +=
            cases.isEmpty
            ? "; GET /v1/reactors lists the reactors"
            : "; GET /v1/reactors has examples of \(cases)"
    }

    /// Whether a JSON pointer names an action of the body as a whole, or its `type`.
    private static func namesAction(_ path: String) -> Bool {
        var tokens = path.split(separator: "/")
        if tokens.last == "type" { tokens.removeLast() }
        return tokens.isEmpty || (tokens.count == 1 && UInt64(tokens[0]) != nil)
    }

    package init(_ failure: JournalFailure) {
        switch failure.reason {
        case .full:
            self.init(
                507, "journal_full", "nothing was applied: \(failure.detail)",
                fields: [("Retry-After", "5")])
        case .unavailable:
            self.init(
                503, "journal_unavailable", "nothing was applied: \(failure.detail)",
                fields: [("Retry-After", "1")])
        case .outcomeUnknown:
            self.init(
                504, "outcome_unknown",
                "it was applied once or not at all: \(failure.detail); the same request with its "
                    + "Idempotency-Key finds out",
                fields: [("Retry-After", "1")])
        }
    }

    static func unreadable(_ failure: JournalFailure) -> Problem {
        Problem(
            503, "journal_unreadable", "the journal can't be read: \(failure.detail)",
            fields: [("Retry-After", "1")])
    }

    static func quarantined(_ id: String, _ fault: RecoveryFault) -> Problem {
        Problem(
            500, "session_quarantined",
            "the session \(id) can't be rebuilt at \(fault.place): \(fault.reason); its data are "
                + "kept for a deployment that can read them")
    }

    static let keyRunning = Problem(
        409, "request_running", "the request with this Idempotency-Key has no answer yet",
        fields: [("Retry-After", "1")])

    static let keyReused = Problem(
        422, "key_reused", "this Idempotency-Key belongs to a request with another body")

    package init(_ refusal: StubRefusal) {
        switch refusal {
        case .json(let refusal):
            self.init(refusal)
            if case .mismatch = refusal { code = "not_a_stub" }
        case .notStubbed:
            self.init(
                409, "not_stubbed",
                "state is for a stubbed session; send \"enabled\":true with it or before it")
        }
    }

    /// The fault in the value of a topic.
    init(topic refusal: JSONRefusal) {
        self.init(refusal)
        if case .mismatch = refusal { code = "not_a_value" }
    }

    static func unknownTopic(_ topic: String) -> Problem {
        Problem(404, "unknown_topic", "no session listens to the topic \(topic)")
    }

    static func positionChanged(_ position: String) -> Problem {
        Problem(
            412, "position_changed",
            "If-Match does not name the present position, \(position)",
            fields: [("ETag", "\"\(position)\"")])
    }

    /// A state whose type encodes itself in a way that JSON does not allow.
    static func unencodable(_ reason: String) -> Problem {
        Problem(500, "not_encodable", "the state can't be written as JSON: \(reason)")
    }

    static func unknownVersion(_ kept: ClosedRange<UInt64>) -> Problem {
        Problem(
            404, "unknown_version",
            "version is not among those kept, \(kept.lowerBound) to \(kept.upperBound)")
    }

    static func otherReactor(_ id: String, _ reactor: String) -> Problem {
        Problem(409, "other_reactor", "the session \(id) has the reactor \(reactor)")
    }

    init(_ fault: ExportFault) {
        switch fault {
        case .versionUnknown(let kept): self = .unknownVersion(kept)
        case .unreadable(let failure): self = .unreadable(failure)
        case .gone(let id): self = .endedSession(id.text)
        case .unencodable(let reason): self = .unencodable("\(reason)")
        }
    }

    static let administrationOff = Problem(
        403, "administration_off",
        "topics and stubs are for administrators; start the server with --admin on")

    static func unknownSession(_ id: String) -> Problem {
        Problem(404, "unknown_session", "there is no session \(id); PUT it first")
    }

    static func endedSession(_ id: String) -> Problem {
        Problem(410, "session_ended", "the session \(id) has been deleted")
    }

    static func unknownReactor(_ name: String) -> Problem {
        Problem(
            422, "unknown_reactor",
            "no reactor is hosted under the name in \"reactor\": \(name); see GET /v1/reactors")
    }

    static let noRoomForSession = Problem(
        503, "session_limit", "this server holds as many sessions as it may",
        fields: [("Retry-After", "10")])

    /// For streams alone: it travels as an event.
    static func tooManySelections(_ limit: Int) -> Problem {
        Problem(
            503, "too_many_selections",
            "\(limit) distinct selections of this session are read already; ask for one of those")
    }

    static let tooManyBodies = Problem(
        503, "too_many_bodies",
        "the bodies that are arriving take all of --body-budget; nothing was applied",
        fields: [("Retry-After", "1")])

    /// The fault in the body that names a reactor.
    init(session refusal: JSONRefusal) {
        self.init(refusal)
        if case .mismatch = refusal { code = "not_a_session" }
    }

    package init(_ refusal: TargetRefusal) {
        self.init(refusal.status, refusal.code, "\(refusal.detail) (\(refusal.clause))")
    }

    static let draining = Problem(
        503, "draining", "the server is shutting down", fields: [("Retry-After", "1")])
}
