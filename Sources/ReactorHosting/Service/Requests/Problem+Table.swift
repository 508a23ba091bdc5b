internal import Feeds
package import JSONCoding
package import Sessions
package import Storage
package import Wire

/// Maps every error of the layers below to the problem that the client receives. The only table.
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
                "the body is invalid at \(path.isEmpty ? "its root" : path): \(reason)")
            // The path may quote input, so its length is limited.
            if path.utf8.count <= Self.detailLimit { pointer = path }
        }
    }

    package init(_ refusal: ActionRefusal) {
        switch refusal {
        case .json(let refusal):
            self.init(refusal)
        case .refused(let refusal, let index):
            self.init(refusal, at: index)
        case .forbidden:
            self = .forbidden
        case .tooMany(let limit):
            self.init(
                422, "batch_too_large", "the body is an array of more than \(limit) actions")
        case .empty:
            self.init(422, "empty_batch", "the body is an empty array; post at least one action")
        case .tooManyKeys:
            self.init(
                temporary: 503, "too_many_keys",
                "the session already keeps \(IdempotencyKeys.limit) Idempotency-Keys, or "
                    + "\(IdempotencyKeys.limitBytes) bytes of their answers, each for 24 hours; "
                    + "Idempotency-Key-Done releases those that are not used again", retryAfter: 60)
        case .failed(let error):
            self.init(
                422, "action_failed", "nothing was applied: the action failed: \(error)")
        case .notEncodable(let what, let failure):
            self.init(
                422, "not_encodable",
                "nothing was applied: \(what) cannot be encoded as JSON: \(failure)")
        case .parentMissing:
            self.init(
                409, "no_parent",
                "the action requires the parent session, which does not exist")
        case .tooManyRunning(let limit):
            self.init(
                temporary: 503, "too_many_running",
                "nothing was applied: \(limit) actions of the session are already waiting")
        case .tooMuchOutput(let limit):
            self.init(
                422, "too_much_output",
                "nothing was applied: together these actions would make more than \(limit) bytes of "
                    + "records and events; send fewer of them at once")
        case .stateTooLarge(let limit):
            self.init(
                422, "state_too_large",
                "nothing was applied: the state would exceed \(limit) bytes of JSON")
        case .overloaded:
            self.init(
                temporary: 503, "too_busy", "nothing was applied: too many commits are waiting")
        }
    }

    /// The same, with the existing cases if the case of an action is wrong.
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
                temporary: 507, "journal_full", "nothing was applied: \(failure.publicDetail)",
                retryAfter: 5)
        case .unavailable:
            self.init(
                temporary: 503, "journal_unavailable",
                "nothing was applied: \(failure.publicDetail)")
        case .refused:
            self.init(
                422, "not_encodable",
                "nothing was applied: the journal refuses a value: \(failure.publicDetail)")
        case .moved:
            self.init(
                temporary: 503, Self.movedCode, "nothing was applied: \(failure.publicDetail)")
        case .outcomeUnknown:
            self.init(
                temporary: 504, "outcome_unknown",
                "the request was applied once or not at all: \(failure.publicDetail); send it again with "
                    + "its Idempotency-Key")
        }
    }

    static func unreadable(_ failure: JournalFailure) -> Problem {
        Problem(
            temporary: 503, "journal_unreadable",
            "the journal cannot be read: \(failure.publicDetail)")
    }

    /// The code of a request that was not served because another node owns its session.
    static let movedCode = "moved"

    /// Why without the node's address: it is no business of clients.
    static func moved(_ id: String) -> Problem {
        Problem(
            temporary: 503, movedCode,
            "nothing was applied: another node decides on the session \(id)")
    }

    /// The session is as it was: a deployment with a node that can read it serves it again.
    static func noNode(_ id: String, _ reactor: String, _ stateVersion: Int) -> Problem {
        Problem(
            temporary: 503, "no_node_for_session",
            "nothing was applied: the session \(id) needs the reactor \(reactor) with version "
                + "\(stateVersion) of its state, or a newer one, and no node hosts it")
    }

    /// This node does not host the reactor, and another one does.
    ///
    /// - Parameter mayBeNamed: Whether the session has no id yet: with one it may be
    ///   created elsewhere.
    static func hostedElsewhere(_ reactor: String, mayBeNamed: Bool = false) -> Problem {
        Problem(
            temporary: 503, "reactor_elsewhere",
            "nothing was created: this node does not host the reactor \(reactor), but another one "
                + "does; send the request again"
                + (mayBeNamed ? ", or name the session with PUT" : ""))
    }

    static func quarantined(_ id: String, _ fault: RecoveryFault) -> Problem {
        Problem(
            500, "session_quarantined",
            "the session \(id) cannot be rebuilt at \(fault.place): \(fault.reason); its data is "
                + "kept until a deployment can read it")
    }

    static let keyRunning = Problem(
        temporary: 409, "request_running",
        "a request with this Idempotency-Key is still in progress")

    static let keyReused = Problem(
        422, "key_reused", "this Idempotency-Key was used with another body")

    package init(_ refusal: StubRefusal) {
        switch refusal {
        case .json(let refusal):
            self.init(refusal, mismatch: "not_a_stub")
        case .notStubbed:
            self.init(
                409, "not_stubbed",
                "state requires a stubbed session; send \"enabled\":true with it or before it")
        case .notEncodable(let failure):
            self.init(ActionRefusal.notEncodable("the state", failure))
        case .stateTooLarge(let limit):
            self.init(ActionRefusal.stateTooLarge(limit: limit))
        }
    }

    /// The problem with a body whose JSON is refused.
    ///
    /// - Parameter code: The code if the body is JSON, but of a wrong form.
    init(_ refusal: JSONRefusal, mismatch code: String) {
        self.init(refusal)
        if case .mismatch = refusal { self.code = code }
    }

    static func unknownTopic(_ topic: String) -> Problem {
        Problem(
            404, "unknown_topic",
            "this server knows no reactor with a source of the topic \(topic)")
    }

    static func positionChanged(_ position: String) -> Problem {
        Problem(
            412, "position_changed",
            "If-Match does not match the current position, \(position); a weak tag, "
                + "W/\"…\", never matches",
            fields: [("ETag", "\"\(position)\"")])
    }

    /// A state whose type encodes itself in a way that JSON does not allow.
    static func unencodable(_ reason: String) -> Problem {
        Problem(500, "not_encodable", "the state cannot be encoded as JSON: \(reason)")
    }

    static func unknownVersion(_ kept: ClosedRange<UInt64>) -> Problem {
        Problem(
            404, "unknown_version",
            "this version is not kept; the kept versions are \(kept.lowerBound) to "
                + "\(kept.upperBound)")
    }

    package init(_ refusal: InputRefusal, of reactor: Registration) {
        let place = "; GET /v1/reactors has the schema of its input"
        switch refusal {
        case .missing:
            self.init(
                422, "not_an_input",
                "a session of the reactor \(reactor.name) needs an input, and the request has "
                    + "none\(place)")
        case .notTaken:
            self.init(422, "not_an_input", "the reactor \(reactor.name) takes no input")
        case .json(.malformed(let offset, let reason)):
            self.init(
                422, "not_an_input", "the input is not JSON: \(reason) at byte \(offset)\(place)")
        case .json(.mismatch(let path, let reason)):
            self.init(
                422, "not_an_input",
                "the reactor \(reactor.name) cannot read the input, which is invalid at "
                    + "\(path.isEmpty ? "its root" : path): \(reason)\(place)")
            guard path.utf8.count <= Self.detailLimit else { break }
            pointer = "/input" + path
            return
        }
        pointer = "/input"
    }

    static func otherInput(_ id: String) -> Problem {
        Problem(
            409, "other_input",
            "the session \(id) was created with another input; GET /v1/sessions/\(id) shows it")
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
        case .overBudget: self = .tooMuchMemory
        }
    }

    static let administrationOff = Problem(
        403, "administration_off",
        "topics and stubs are disabled; start the server with --admin on")

    /// The state of a stub is in no record, so the other nodes would show the session's own.
    static let notOnOneNode = Problem(
        409, "not_on_one_node",
        "sessions can be stubbed only on a server without other nodes")

    /// No session has this id, or the client may not see it; then PUT of the id is refused.
    static func unknownSession(_ id: String, to access: Access?) -> Problem {
        let advice =
            access == nil
            ? "create it with PUT"
            : "PUT creates it, unless another client uses its id or has used it"
        return Problem(404, "unknown_session", "the session \(id) does not exist; \(advice)")
    }

    static func endedSession(_ id: String) -> Problem {
        Problem(410, "session_ended", "the session \(id) has been deleted")
    }

    static func unknownReactor(_ name: String) -> Problem {
        Problem(
            422, "unknown_reactor",
            "the reactor \(name) is not hosted; GET /v1/reactors lists those that are")
    }

    static let noRoomForSession = Problem(
        temporary: 503, "session_limit", "the server has reached its session limit", retryAfter: 10)

    /// Only for streams, which send it as an event.
    static func tooManySelections(_ limit: Int) -> Problem {
        Problem(
            503, "too_many_selections",
            "the session already has \(limit) distinct selections; use one of them")
    }

    /// Only for streams, which send it as an event.
    static func tooManySubscribers(_ limit: Int) -> Problem {
        Problem(
            temporary: 503, "too_many_subscribers",
            "the session already has \(limit) subscribers, which is the limit", retryAfter: 10)
    }

    static func slowBody(_ rate: Int) -> Problem {
        Problem(
            408, "body_too_slow",
            "the body arrived at less than the minimum of \(rate) bytes per second")
    }

    static let tooManyBodies = Problem(
        temporary: 503, "too_many_bodies",
        "nothing was applied: the incoming requests of all clients, or of this one, have used up "
            + "their share of --body-budget")

    static let tooMuchMemory = Problem(
        temporary: 503, "too_much_memory",
        "nothing was applied: the memory held for all clients, or for this one, has used up its "
            + "share of the budget for answers")

    /// Any client may ask for it, so it names no reactor and no session; the log does.
    static func stuck(_ loop: LoopWatch.Occupied, _ limit: Duration) -> Problem {
        Problem(
            temporary: 503, "loop_stuck",
            "the event loop \(loop.loop) has been occupied for \(loop.time.milliseconds) ms; "
                + "the limit is \(limit.milliseconds) ms")
    }

    /// A loop that was asked has not responded within the limit for stuck loops.
    static func stuck(on loop: LoopResources) -> Problem {
        let watch = loop.service.watch
        let longest = watch.occupied(for: watch.limit).max { $0.time < $1.time }
        return longest.map { stuck($0, watch.limit) }
            ?? Problem(
                temporary: 503, "loop_stuck",
                "an event loop did not respond within \(watch.limit.milliseconds) ms")
    }

    static let draining = Problem(
        temporary: 503, "draining", "the server is shutting down")
}
