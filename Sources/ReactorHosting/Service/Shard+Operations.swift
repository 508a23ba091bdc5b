internal import JSONCoding
internal import Sessions
internal import Sockets
internal import Storage
internal import Specification
internal import Wire

// Operations that concern no session, or make one.
extension Shard {
    func carryOut(_ operation: Operation, _ connection: ConnectionID) throws(Problem) {
        switch operation {
        case .createSession: try createSession(connection)
        case .listSessions: try listSessions(connection)
        case .listReactors: listReactors(connection)
        case .livez: answerJSON(connection, 200, "{\"status\":\"alive\"}\n")
        case .readyz: try readiness(connection)
        case .metrics: gatherMetrics(connection)
        case .openapi:
            answer(
                connection, 200, [("Content-Type", "application/yaml")],
                Specification.openapi)
        case .putSession, .readSession, .deleteSession, .postActions, .streamPulses,
            .streamActivities, .streamStates, .streamEvents, .readLog, .putStub, .readStub,
            .publishTopic:
            preconditionFailure("\(operation) concerns what its path names")
        }
    }

    func answerJSON(_ connection: ConnectionID, _ status: Int, _ body: String) {
        answer(
            connection, status, [("Content-Type", "application/json"), durability],
            Array(body.utf8))
    }

    var durability: (String, String) { ("Durability", service.journalName) }

    /// Ready to serve, said fast: nothing is waited for.
    private func readiness(_ connection: ConnectionID) throws(Problem) {
        guard !service.isDraining else { throw .draining }
        if let failure = service.journal.failure {
            throw Problem(
                503, "journal_unavailable",
                "the \(service.journalName) journal takes no commits: \(failure.detail)",
                fields: [("Retry-After", "1")])
        }
        answerJSON(
            connection, 200,
            "{\"status\":\"ready\",\"journal\":\"\(service.journalName)\"}\n")
    }

    private func listReactors(_ connection: ConnectionID) {
        var body = Array("{\"reactors\":[".utf8)
        for (index, reactor) in service.reactors.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body.append(contentsOf: "{\"name\":".utf8)
            JSON.appendString(reactor.name, to: &body)
            appendList("pulses", reactor.pulses, to: &body)
            appendList("activities", reactor.activities, to: &body)
            body.append(contentsOf: ",\"examples\":[".utf8)
            body.append(contentsOf: reactor.examples.joined(separator: [UInt8(ascii: ",")]))
            body.append(contentsOf: "]}".utf8)
        }
        body.append(contentsOf: "]}\n".utf8)
        answer(connection, 200, [("Content-Type", "application/json")], body)
    }

    private func appendList(_ name: String, _ words: [String], to out: inout [UInt8]) {
        out.append(contentsOf: ",\"\(name)\":[".utf8)
        for (index, word) in words.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            JSON.appendString(word, to: &out)
        }
        out.append(UInt8(ascii: "]"))
    }

    private func createSession(_ connection: ConnectionID) throws(Problem) {
        let (registration, origin) = try wantedSession()
        guard sessions.hasRoomForSession else { throw .noRoomForSession }
        if let origin { return try fork(origin, registration, connection) }
        try create(newID(), registration, connection)
    }

    /// Any id is as good as any other, so this loop takes one that it owns.
    func newID() -> SessionID {
        var id = SessionID.random(using: &randomness)
        while id.owner(of: peers.count) != index { id = SessionID.random(using: &randomness) }
        return id
    }

    /// The body's `{"reactor":"<name>"}`.
    func wantedReactor() throws(Problem) -> Registration {
        let (registration, origin) = try wantedSession()
        guard origin == nil else {
            throw Problem(
                422, "not_a_session", "\"from\" makes a new session: POST /v1/sessions takes it")
        }
        return registration
    }

    /// `{"reactor":"<name>"}`, and `"from":{"session":"<id>","version":<n>}` for a fork.
    private func wantedSession() throws(Problem) -> (Registration, Origin?) {
        try requireJSON()
        let wanted: SessionBody
        do {
            wanted = try JSON.decode(SessionBody.self, from: body)
        } catch {
            throw Problem(session: error)
        }
        guard let registration = service.registration(named: wanted.reactor) else {
            throw .unknownReactor(wanted.reactor)
        }
        return (registration, wanted.from)
    }

    /// RFC 9110 §8.3: the body's type decides what it is.
    func requireJSON() throws(Problem) {
        let head = head
        if head.range(of: .contentEncoding) != nil { try refuseCoding(head) }
        guard let range = head.range(of: .contentType) else {
            throw Problem(
                415, "media_type_missing", "Content-Type is missing; send application/json")
        }
        // The form that nearly every client sends.
        if head.matches(range, ignoringCase: "application/json") { return }
        let text = head.text(range)
        let type = text.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        guard type.lowercased() == "application/json" else {
            throw Problem(
                415, "unsupported_media_type", "Content-Type is \(text); send application/json")
        }
    }

    /// RFC 9110 §8.4: a body in a coding that is not understood is refused, not read as it is.
    private func refuseCoding(_ head: RequestHead) throws(Problem) {
        let coding = head.text(of: .contentEncoding) ?? ""
        guard coding.lowercased() == "identity" else {
            throw Problem(
                415, "unsupported_content_encoding",
                "Content-Encoding is \(coding); send the body without one",
                fields: [("Accept-Encoding", "identity")])
        }
    }

    func queryItems() throws(Problem) -> QueryItems {
        do {
            return try QueryItems(head)
        } catch {
            throw Problem(error)
        }
    }
}
