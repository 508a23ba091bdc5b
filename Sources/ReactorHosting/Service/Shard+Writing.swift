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
                operation: nil, isHead: false, closes: true, minorVersion: 1,
                since: connections.now), nil)
        if problem.status < 500 { counters.malformed += 1 }
        answer(connection, problem)
        flushOut(connection)
    }

    /// Appends the whole answer to `out`; the caller flushes.
    func answer(
        _ connection: ConnectionID, _ status: Int, _ fields: [(String, String)], _ body: [UInt8],
        code: String? = nil
    ) {
        answer(connection, status, fields, AnswerBody(body), code: code)
    }

    /// The same for a body that may be made of parts. A large one is handed to the kernel from its
    /// own array, with what `out` holds before it.
    func answer(
        _ connection: ConnectionID, _ status: Int, _ fields: [(String, String)],
        _ body: AnswerBody, code: String? = nil
    ) {
        let slot = Int(connection.slot)
        guard isCurrent(connection), case .answering(let asked, let wishes) = exchanges[slot].phase
        else {
            return
        }
        let closes = asked.closes || service.isDraining
        answered += body.count
        let hasBody = ResponseEncoder.appendHead(
            status: status, fields: fields + templates.commonFields, bodyBytes: body.count,
            date: date, close: closes, minorVersion: asked.minorVersion, to: &out)
        if hasBody, !asked.isHead { append(body, for: connection) }
        finishAnswer(
            exchanges[slot], asked, wishes, status: status, closes: closes, code: code)
    }

    private func append(_ body: AnswerBody, for connection: ConnectionID) {
        out.append(contentsOf: body.beginning)
        if body.shared.count > Self.copyLimitBytes {
            send(connection, out, body.shared[...])
            emptyOut()
        } else {
            out.append(contentsOf: body.shared)
        }
        out.append(contentsOf: body.end)
    }

    /// Bodies up to this size are copied behind what `out` holds, which costs less than another
    /// system call.
    private static let copyLimitBytes = 16 << 10

    /// Scratch memory beyond this is given back after use; a rush's memory is not kept for ever.
    static let scratchLimitBytes = 128 << 10

    private func emptyOut() {
        out.removeAll(keepingCapacity: out.capacity <= Self.scratchLimitBytes)
    }

    /// The hot path: posted actions are committed, and their answer goes out by itself, made of
    /// parts that were made beforehand.
    func sendActionAnswer(_ connection: ConnectionID, _ content: Reply.Content) {
        let exchange = exchanges[Int(connection.slot)]
        guard case .answering(let asked, let wishes) = exchange.phase else { return }
        guard wishes?.traceparent == nil else {
            return answerDue(connection) { self.answerAction(connection, content, status: 200) }
        }
        let closes = asked.closes || service.isDraining
        // Taken out and put back, as in `nextRequest`.
        var (bytes, body) = (actionAnswer, actionBody)
        (actionAnswer, actionBody) = ([], [])
        bytes.removeAll(keepingCapacity: true)
        body.removeAll(keepingCapacity: true)
        content.appendReceipt(to: &body)
        ResponseEncoder.append(
            head: actionHead, body: body.span, close: closes, minorVersion: asked.minorVersion,
            to: &bytes)
        finishAnswer(exchange, asked, wishes, status: 200, closes: closes, code: nil)
        send(connection, bytes)
        if bytes.capacity <= Self.scratchLimitBytes { (actionAnswer, actionBody) = (bytes, body) }
        answerIsSent(connection)
    }

    /// The answer to posted actions among others in `out`, or of another status.
    func answerAction(_ connection: ConnectionID, _ content: Reply.Content, status: Int) {
        let slot = Int(connection.slot)
        guard isCurrent(connection), case .answering(let asked, let wishes) = exchanges[slot].phase
        else {
            return
        }
        let closes = asked.closes || service.isDraining
        var body: [UInt8] = []
        content.appendReceipt(to: &body)
        var lines = templates.action
        if let traceparent = wishes?.traceparent { lines.append("traceparent", traceparent) }
        ResponseEncoder.append(
            status: status, lines: lines, body: body.span, date: date,
            close: closes, minorVersion: asked.minorVersion, headOnly: false, to: &out)
        finishAnswer(exchanges[slot], asked, wishes, status: status, closes: closes, code: nil)
    }

    func finishAnswer(
        _ exchange: Exchange, _ asked: Exchange.Asked, _ wishes: Exchange.Wishes?, status: Int,
        closes: Bool, code: String?
    ) {
        exchange.phase = closes ? .closing : .reading
        // The time until the next request counts from the answer, however late that was. (While
        // answers are unsent the peer is waited for, not the request.)
        if exchange.work == nil { exchange.lastProgress = connections.now }
        counters.note(status: status)
        logRequest(asked, wishes, status: status, code: code)
    }

    /// Sends what `out` holds for the connection, and closes if that was the last.
    func flushOut(_ connection: ConnectionID) {
        let slot = Int(connection.slot)
        guard isCurrent(connection) else {
            emptyOut()
            return
        }
        if !out.isEmpty {
            send(connection, out)
            emptyOut()
        }
        closeIfDone(connection, exchanges[slot])
    }

    private func closeIfDone(_ connection: ConnectionID, _ exchange: Exchange) {
        if case .closing = exchange.phase, !exchange.hasUnsent {
            close(connection, .lingering)
        }
    }

    /// Sends the last bytes of a connection in phase `closing`, and closes behind them.
    func sendLast(_ connection: ConnectionID, _ bytes: [UInt8]) {
        send(connection, bytes)
        closeIfDone(connection, exchanges[Int(connection.slot)])
        rearm(connection)
    }

    /// An answer went out that came later than its request: whatever the client has sent meanwhile
    /// is read next.
    func answerIsSent(_ connection: ConnectionID) {
        let exchange = exchanges[Int(connection.slot)]
        closeIfDone(connection, exchange)
        guard exchange.connection == connection else { return }
        if exchange.work != nil || exchange.peerIsFinished { resumable.append(connection) }
    }

    /// Sends, and keeps what the kernel does not take. What is kept is bounded: no further request
    /// is carried out for a connection that has not taken its answers.
    func send(_ connection: ConnectionID, _ bytes: [UInt8]) {
        let slot = Int(connection.slot)
        if let work = exchanges[slot].work, !work.unsent.isEmpty {
            work.unsent.append(bytes[...])
            return
        }
        let taken = connections.send(connection, bytes.span)
        guard taken < bytes.count else { return }
        work(slot).unsent.append(bytes[taken...])
        waitForRoom(connection)
    }

    /// The same for bytes and a large body behind them, whose storage is kept and not copied.
    func send(_ connection: ConnectionID, _ bytes: [UInt8], _ body: ArraySlice<UInt8>) {
        let slot = Int(connection.slot)
        var taken = 0
        if !exchanges[slot].hasUnsent {
            taken = connections.send(connection, bytes.span, body.span)
            guard taken < bytes.count + body.count else { return }
        }
        let work = work(slot)
        let wasEmpty = work.unsent.isEmpty
        work.unsent.append(bytes.dropFirst(taken))
        work.unsent.append(body.dropFirst(max(0, taken - bytes.count)))
        if wasEmpty { waitForRoom(connection) }
    }

    /// From here on the peer is waited for, which may have been long since it sent its request.
    private func waitForRoom(_ connection: ConnectionID) {
        exchanges[Int(connection.slot)].lastProgress = connections.now
        connections.pauseReading(connection)
        rearm(connection)
    }

    /// There is room again. Answers whether everything is out.
    func sendUnsent(_ connection: ConnectionID) -> Bool {
        guard let work = exchanges[Int(connection.slot)].work else { return true }
        while !work.unsent.isEmpty {
            let taken = connections.send(connection, gathering: work.unsent.pieces)
            // Once the kernel has taken less than it was offered, it takes nothing.
            if taken == 0 { return false }
            work.unsent.removeFirst(taken)
            free(taken)
            exchanges[Int(connection.slot)].lastProgress = connections.now
        }
        return true
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
        guard level >= service.logLevel else { return }
        var metadata: Logger.Metadata = [
            "operation": "\(asked.operation?.rawValue ?? "none")", "status": "\(status)",
            "duration": "\(connections.now - asked.since)",
        ]
        if let code { metadata["code"] = "\(code)" }
        if let traceparent = wishes?.traceparent { metadata["traceparent"] = "\(traceparent)" }
        service.logger.log(level: level, "request", metadata: metadata)
    }

    func logStreamEnd(_ streaming: Exchange.Streaming) {
        guard .debug >= service.logLevel else { return }
        service.logger.debug(
            "stream ended", metadata: ["duration": "\(connections.now - streaming.since)"])
    }
}
