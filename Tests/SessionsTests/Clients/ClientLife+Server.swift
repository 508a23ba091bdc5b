import ClientMachine
import Storage

@testable import Sessions

// The server of a life, and the network to it.
extension ClientLife {
    /// One step of the server's loop.
    func serve() {
        switch pick(12) {
        case 0..<4: server.endRound()
        case 4..<8: server.settle()
        case 8: failCommits()
        case 9: server.drainInbox()
        case 10: if server.journal.askedCount > 0 { server.journal.answer(at: 0) }
        default: server.settleAll()
        }
    }

    /// A batch fails together with all that were submitted before the failure was known; or it is
    /// written and reported as failed.
    private func failCommits() {
        let count = server.journal.pendingCount
        guard count > 0 else { return server.endRound() }
        let isWritten = chance(1, in: 2)
        let isUnknown = isWritten || (hasOthers && chance(1, in: 2))
        // The session is read from the journal again, also for streams that stay open.
        if isWritten { hasAllCauses = false }
        for index in 0..<(isWritten ? count : 1) {
            server.settle(
                isUnknown ? .outcomeUnknown : .full, isWritten: isWritten && index == 0)
        }
    }

    /// Another process continues a session, which the server may have in memory, with
    /// commits under way.
    private func write(_ session: SessionName, as other: ForeignWriter) throws {
        guard chance(3, in: 4) else {
            return other.annotate(session.text, time: clock.milliseconds)
        }
        let entry = 4 * nextMark()
        var events = [HistoryEntry.Event(name: "last", data: Array("\(entry)".utf8))]
        if entry.isMultiple(of: 3) {
            events.append(HistoryEntry.Event(name: "third", data: Array("\(entry)".utf8)))
        }
        try other.mutate(
            session.text, by: Tally.Mutation.append(entry: entry), events,
            time: clock.milliseconds)
    }

    func writeAsOther() {
        guard let session = any(sessions) else { return }
        record("another process continues \(session)")
        do {
            for _ in 0..<(1 + pick(3)) {
                try write(session, as: ForeignWriter(journal: server.journal))
            }
        } catch {
            blame("no mutation: \(error)")
        }
    }

    /// Sessions that others have continued find that out with their next commit.
    func findOutAboutOthers() {
        guard hasOthers else { return }
        // One that is being loaded may have been read before others have continued it.
        server.settleAll()
        for session in server.table.sessions.all where session.isRunning {
            session.takeSnapshot()
        }
        server.settleAll()
    }

    /// The process ends: in order, or after commits whose answers never left.
    func restartServer() {
        if chance(1, in: 3) {
            server.drain(retry: 3_000 + pick(12_000))
            if chance(1, in: 2) { for _ in 0..<20 { network() } }
        }
        server.die(writing: pick(4))
        begin(server.journal)
    }

    /// A session is deleted, and sometimes even its end is forgotten, so that its id is free again.
    func delete() {
        guard chance(1, in: 3), let session = any(sessions) else { return }
        record("delete \(session)")
        _ = server.serve(ClientRequest("DELETE", "/v1/sessions/\(session)", fields: accessFields))
        server.settleAll()
        guard chance(2, in: 3) else { return }
        read()
        for (generation, log) in logs.lives(of: session.text) where log.isDeleted {
            server.journal.forget(SessionKey(session: session.text, generation: generation))
        }
        dropFlights()
        server.die(writing: 4)
        begin(server.journal)
    }

    /// The journal is lost with everything in it.
    func loseJournal() {
        record("the journal is lost")
        dropFlights()
        server.die(writing: 0)
        read()
        begin(ScriptedJournal(isImmediate: chance(1, in: 2), answers: true))
    }

    func trim() {
        guard !keepsEverything else { return }
        if let snapshot = any(server.journal.keptBatch.snapshots) {
            server.journal.trim(to: snapshot)
        }
    }

    /// A client of another kind, whose requests have no key.
    func postAsStranger() {
        guard let session = any(sessions) else { return }
        let body = #"{"type":"pair","mark":\#(nextMark())}"#
        _ = server.serve(
            ClientRequest(
                "POST", "/v1/sessions/\(session)/actions",
                fields: [.init("Content-Type", "application/json")] + accessFields,
                body: Array(body.utf8)))
    }

    /// After a commit whose outcome was unknown a session is in memory again when it is next used.
    func readSessions() {
        for session in sessions {
            _ = server.serve(
                ClientRequest("GET", "/v1/sessions/\(session)", fields: accessFields))
        }
        server.settleAll()
    }

    private var accessFields: [ClientRequest.Field] {
        guard server.tokens.areNeeded else { return [] }
        server.tokens.ends["Bearer stranger"] = .max
        return [.init("Authorization", "Bearer stranger")]
    }

    // MARK: The network

    /// One request or stream, on its way.
    final class Flight {
        let request: ClientRequest
        let id: AttemptID
        /// Nil if nobody waits for the answer any more.
        var client: SimulatedClient?
        let isStream: Bool
        /// Nil until the request has arrived.
        var call: ServerCall?
        var isOpen = false
        /// No byte arrives any more, and nobody says so.
        var isSilent = false

        init(
            _ request: ClientRequest, _ id: AttemptID, of client: SimulatedClient?, isStream: Bool
        ) {
            self.request = request
            self.id = id
            self.client = client
            self.isStream = isStream
        }
    }

    /// Something happens to one of the flights.
    func network() {
        if let flight = any(flights) { network(flight) }
    }

    func network(_ flight: Flight) {
        guard !flight.isSilent else { return }
        read()
        guard let call = flight.call else { return send(flight) }
        if !isHealed, chance(1, in: 30) { return cut(flight) }
        if flight.isStream { stream(flight, call) } else { answer(flight, call) }
    }

    private func send(_ flight: Flight) {
        if !isHealed {
            switch pick(24) {
            case 0: return cut(flight)
            case 2 where !flight.isStream:
                hasDoubled = true
                flights.append(Flight(flight.request, flight.id, of: nil, isStream: false))
            case 3: return answerFromBetween(flight)
            default: break
            }
        }
        let capacities = [nil, nil, 40, 400]
        let capacity = flight.isStream ? any(capacities) ?? nil : nil
        guard let (request, patched) = patched(flight.request) else { return refusePatches(flight) }
        flight.call = server.serve(request, capacity: capacity, patched: patched)
        if flight.client == nil { remove(flight) }
    }

    private func answer(_ flight: Flight, _ call: ServerCall) {
        guard let head = call.head else {
            if call.end == .cut { cut(flight) }
            return
        }
        // A network that doubles a request does so before it is answered.
        for copy in flights where copy.client == nil && copy.request == flight.request {
            send(copy)
        }
        remove(flight)
        server.forget(call)
        // A proxy has lost the answer, and sends its own.
        let isReplaced = !isHealed && chance(1, in: 24)
        flight.client?.receive(.answered(flight.id, isReplaced ? foreignAnswer() : head))
    }

    /// A proxy answers instead of the server.
    private func answerFromBetween(_ flight: Flight) {
        remove(flight)
        let answer = foreignAnswer()
        guard flight.isStream else {
            flight.client?.receive(.answered(flight.id, answer))
            return
        }
        let head = ClientResponse(answer.status, fields: answer.fields)
        flight.client?.receive(.streamOpened(flight.id, head))
        flight.client?.receive(.streamBytes(flight.id, answer.body))
        flight.client?.receive(.streamEnded(flight.id, failure: nil))
    }

    /// A page, or the refusal of another service, with any status.
    private func foreignAnswer() -> ClientResponse {
        let status = any([
            200, 201, 202, 204, 302, 307, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 422,
            429, 500, 502, 503, 504,
        ])
        let (type, body) =
            any([
                ("text/html", "<html>not the service</html>"),
                ("application/json", #"{"code":"session_ended","detail":"d"}"#),
                ("application/problem+json", #"{"code":"from_a_gateway","detail":"d"}"#),
            ]) ?? ("", "")
        return ClientResponse(
            status ?? 404, fields: [.init("Content-Type", type)], body: Array(body.utf8))
    }

    private func stream(_ flight: Flight, _ call: ServerCall) {
        guard let head = call.head else {
            if call.end == .cut { cut(flight) }
            return
        }
        if !flight.isOpen {
            flight.isOpen = true
            let bare = ClientResponse(head.status, fields: head.fields)
            flight.client?.receive(.streamOpened(flight.id, bare))
            if !head.body.isEmpty { flight.client?.receive(.streamBytes(flight.id, head.body)) }
        } else if !call.unread.isEmpty {
            let count = isHealed || chance(1, in: 2) ? call.unread.count : 1 + pick(80)
            flight.client?.receive(.streamBytes(flight.id, call.read(count)))
        } else if let end = call.end {
            remove(flight)
            server.forget(call)
            flight.client?.receive(
                .streamEnded(flight.id, failure: end == .cut ? "cut off" : nil))
        }
    }

    /// The connection breaks, and the client sees it or not.
    private func cut(_ flight: Flight) {
        if let call = flight.call { server.forget(call) }
        guard flight.client != nil else { return remove(flight) }
        if chance(1, in: 4) {
            flight.isSilent = true
            return
        }
        remove(flight)
        if flight.isStream {
            flight.client?.receive(.streamEnded(flight.id, failure: "reset"))
        } else {
            flight.client?.receive(.requestFailed(flight.id, "reset"))
        }
    }
}
