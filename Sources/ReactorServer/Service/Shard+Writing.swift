internal import JSONCoding
internal import Logging
internal import Sessions
internal import Sockets
internal import Wire

// Bytes out: answers, at once or when they are due.
extension Shard {
    /// Carries something out that answers, refuses, or leaves the answer for later.
    func answer(_ connection: ConnectionID, _ act: () throws(Problem) -> Void) {
        do {
            try act()
        } catch {
            answer(connection, error)
        }
    }

    /// Refuses the request; the connection goes on (RFC 9110 §15.5).
    func answer(_ connection: ConnectionID, _ problem: Problem) {
        var fields = problem.fields.map { ($0.name, $0.value) }
        fields.append(("Content-Type", "application/problem+json"))
        answer(connection, problem.status, fields, problem.body, code: problem.code)
    }

    /// Refuses what is no request, and closes: nobody knows where a next one would begin.
    func refuse(_ connection: ConnectionID, _ problem: Problem) {
        let slot = Int(connection.slot)
        guard isCurrent(connection) else { return }
        exchanges[slot].phase = .answering(
            Exchange.Asked(
                operation: .livez, isHead: false, closes: true, minorVersion: 1,
                since: connections.now), nil)
        counters.malformed += 1
        answer(connection, problem)
        flushOut(connection)
    }

    /// Appends the whole answer to `out`; the caller flushes.
    func answer(
        _ connection: ConnectionID, _ status: Int, _ fields: [(String, String)], _ body: [UInt8],
        code: String? = nil
    ) {
        let slot = Int(connection.slot)
        guard isCurrent(connection), case .answering(let asked, let wishes) = exchanges[slot].phase
        else {
            return
        }
        let closes = asked.closes || service.isDraining
        ResponseEncoder.append(
            status: status, fields: fields + templates.commonFields, body: body, date: date,
            close: closes, minorVersion: asked.minorVersion, headOnly: asked.isHead, to: &out)
        finishAnswer(slot, asked, wishes, status: status, closes: closes, code: code)
    }

    /// The hot path: the answer to posted actions, from parts made beforehand.
    func answerAction(_ connection: ConnectionID, _ content: Reply.Content, status: Int) {
        let slot = Int(connection.slot)
        guard isCurrent(connection), case .answering(let asked, let wishes) = exchanges[slot].phase
        else {
            return
        }
        let closes = asked.closes || service.isDraining
        actionBody.removeAll(keepingCapacity: true)
        content.appendReceipt(to: &actionBody)
        var lines = templates.action
        if let traceparent = wishes?.traceparent { lines.append("traceparent", traceparent) }
        ResponseEncoder.append(
            status: status, lines: lines, body: actionBody.span, date: date,
            close: closes, minorVersion: asked.minorVersion, headOnly: false, to: &out)
        finishAnswer(slot, asked, wishes, status: status, closes: closes, code: nil)
    }

    private func finishAnswer(
        _ slot: Int, _ asked: Exchange.Asked, _ wishes: Exchange.Wishes?, status: Int, closes: Bool,
        code: String?
    ) {
        exchanges[slot].phase = closes ? .closing : .reading
        counters.note(status: status)
        logRequest(asked, wishes, status: status, code: code)
    }

    /// Sends what `out` holds for the connection, and closes if that was the last.
    func flushOut(_ connection: ConnectionID) {
        let slot = Int(connection.slot)
        guard isCurrent(connection) else {
            out.removeAll(keepingCapacity: true)
            return
        }
        if !out.isEmpty {
            send(connection, out)
            out.removeAll(keepingCapacity: true)
        }
        if case .closing = exchanges[slot].phase, exchanges[slot].work?.unsent.isEmpty ?? true {
            close(connection, .lingering)
        }
    }

    /// Sends, and keeps what the kernel does not take. What is kept is bounded: nothing more is
    /// read from a connection that has not taken its answers.
    private func send(_ connection: ConnectionID, _ bytes: [UInt8]) {
        let slot = Int(connection.slot)
        if let work = exchanges[slot].work, !work.unsent.isEmpty {
            work.unsent.append(contentsOf: bytes)
            return
        }
        let taken = connections.send(connection, bytes.span)
        guard taken < bytes.count else { return }
        work(slot).unsent = ArraySlice(bytes[taken...])
        connections.pauseReading(connection)
        rearm(connection)
    }

    /// There is room again. Answers whether everything is out.
    func sendUnsent(_ connection: ConnectionID) -> Bool {
        let slot = Int(connection.slot)
        guard let work = exchanges[slot].work, !work.unsent.isEmpty else { return true }
        let taken = connections.send(connection, work.unsent.span)
        work.unsent = work.unsent.dropFirst(taken)
        if work.unsent.isEmpty { work.unsent = [] }
        return work.unsent.isEmpty
    }

    /// `OPTIONS`, or a method that the path does not have (RFC 9110 §9.3.7, §15.5.6).
    func answerMethods(_ methods: [String], _ connection: ConnectionID) {
        let allow = methods.joined(separator: ", ")
        guard head.method == .options else {
            return answer(
                connection,
                Problem(
                    405, "method_not_allowed", "this path has the methods \(allow)",
                    fields: [("Allow", allow)]))
        }
        var fields = [("Allow", allow)]
        if service.configuration.allowedOrigin != nil {
            fields.append(("Access-Control-Allow-Methods", allow))
            fields.append(("Access-Control-Allow-Headers", ReplyTemplates.allowedHeaders))
            fields.append(("Access-Control-Max-Age", "600"))
        }
        answer(connection, 204, fields, [])
    }

    // MARK: Log lines

    private func logRequest(
        _ asked: Exchange.Asked, _ wishes: Exchange.Wishes?, status: Int, code: String?
    ) {
        let level: Logger.Level = status >= 500 ? .error : status >= 400 ? .info : .debug
        guard level >= service.logger.logLevel else { return }
        var metadata: Logger.Metadata = [
            "operation": "\(asked.operation.rawValue)", "status": "\(status)",
            "duration": "\(connections.now - asked.since)",
        ]
        if let code { metadata["code"] = "\(code)" }
        if let traceparent = wishes?.traceparent { metadata["traceparent"] = "\(traceparent)" }
        service.logger.log(level: level, "request", metadata: metadata)
    }

    func logStreamEnd(_ streaming: Exchange.Streaming) {
        guard .debug >= service.logger.logLevel else { return }
        service.logger.debug(
            "stream ended", metadata: ["duration": "\(connections.now - streaming.since)"])
    }
}
