internal import JSONCoding
internal import Logging
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

// What sessions have to say: answers that are due, events, notes.
extension Shard: SessionOutput {
    func reply(_ content: Reply.Content, to token: UInt64) {
        let connection = ConnectionID(token)
        guard isCurrent(connection) else {
            // Whoever asked is gone; what they asked for has happened.
            if case .subscribed(let subscriber, _) = content.kind { subscriber.cancel() }
            return
        }
        if case .subscribed(let subscriber, let opening) = content.kind {
            return begin(subscriber, opening, on: connection)
        }
        if case .received = content.kind, readingConnection == nil {
            return sendActionAnswer(connection, content)
        }
        answerDue(connection) {
            switch content.kind {
            case .received: self.answerAction(connection, content, status: 200)
            case .unsettled: self.answerAction(connection, content, status: 202)
            default: self.answer(connection, content)
            }
        }
    }

    /// An answer that is due while its request is being read joins the batch in `out`; one that
    /// comes later is sent at once.
    func answerDue(_ connection: ConnectionID, _ act: () -> Void) {
        guard readingConnection != connection else { return act() }
        var outer: [UInt8] = []
        if readingConnection != nil { swap(&outer, &out) }
        out.removeAll(keepingCapacity: true)
        act()
        flushOut(connection)
        if readingConnection != nil { swap(&outer, &out) }
        answerIsSent(connection)
    }

    private func answer(_ connection: ConnectionID, _ content: Reply.Content) {
        let id = content.session.id.text
        switch content.kind {
        case .created(let isNew):
            var fields = [("Content-Type", "application/json"), durability]
            if isNew { fields.append(("Location", "/v1/sessions/\(id)")) }
            answer(connection, isNew ? 201 : 200, fields, describe(content))
        case .state(let state, let version):
            answerState(connection, content, state, version)
        case .stub(let body):
            answer(connection, 200, [("Content-Type", "application/json"), durability], body)
        case .logPage(let body):
            answer(
                connection, 200,
                [
                    ("Content-Type", "application/json"), ("Cache-Control", "no-cache"), durability,
                ], body)
        case .ended:
            answer(connection, 204, [durability], [])
        case .conditionFailed:
            answer(
                connection,
                Problem(
                    412, "position_changed",
                    "If-Match does not name the present position, \(content.position.text)",
                    fields: [("ETag", "\"\(content.position.text)\"")]))
        case .versionUnknown(let kept):
            answer(connection, .unknownVersion(kept))
        case .tooManySelections(let limit):
            answerStream(connection, with: .tooManySelections(limit))
        case .failed(let failure):
            answerFailure(connection, Problem(failure))
        case .unreadable(let failure):
            answerFailure(connection, .unreadable(failure))
        case .unencodable(let failure):
            answer(
                connection,
                Problem(500, "not_encodable", "the state can't be written as JSON: \(failure)"))
        case .refused(let refusal):
            answer(connection, Problem(refusal, by: content.session.registration))
        case .keyRunning:
            answer(connection, .keyRunning)
        case .keyReused:
            answer(connection, .keyReused)
        case .replayed(let stored):
            answer(
                connection, stored.status,
                [
                    ("Content-Type", "application/json"), durability,
                    ("Idempotency-Replayed", "true"),
                ], stored.body)
        case .gone:
            answerGone(connection, id)
        case .received, .unsettled, .subscribed:
            preconditionFailure("answered elsewhere")
        }
    }

    /// The journal's failure: a stream gets it in its body, as any other temporary problem.
    private func answerFailure(_ connection: ConnectionID, _ problem: Problem) {
        guard case .answering(_, let wishes) = exchanges[Int(connection.slot)].phase else { return }
        guard wishes?.isStream ?? false else { return answer(connection, problem) }
        answerStream(connection, with: problem)
    }

    /// The session ended while the answer was on its way.
    private func answerGone(_ connection: ConnectionID, _ id: String) {
        guard case .answering(_, let wishes) = exchanges[Int(connection.slot)].phase else { return }
        guard wishes?.isStream ?? false else { return answer(connection, .endedSession(id)) }
        answer(connection, 204, [], [])
    }

    /// `{"id","reactor","version","position"}`.
    func describe(_ content: Reply.Content) -> [UInt8] {
        var body: [UInt8] = []
        appendDescription(
            content.session, version: content.version, position: content.position, to: &body)
        body.append(contentsOf: "}\n".utf8)
        return body
    }

    /// The description without its closing brace.
    func appendDescription(
        _ session: Session, version: UInt64, position: Position, to out: inout [UInt8]
    ) {
        out.append(contentsOf: "{\"id\":\"\(session.id.text)\",\"reactor\":".utf8)
        JSON.appendString(session.registration.name, to: &out)
        out.append(contentsOf: ",\"version\":\(version),\"position\":\"".utf8)
        position.append(to: &out)
        out.append(UInt8(ascii: "\""))
    }

    private func answerState(
        _ connection: ConnectionID, _ content: Reply.Content, _ state: [UInt8], _ version: UInt64
    ) {
        guard case .answering(_, let wishes) = exchanges[Int(connection.slot)].phase else { return }
        let position = content.position.text
        let tag = [("ETag", "\"\(position)\"")]
        if let known = wishes?.known, known.includes(position) {
            // It was encoded all the same.
            answered += state.count
            return answer(connection, 304, tag, [])
        }
        var beginning: [UInt8] = []
        appendDescription(
            content.session, version: version, position: content.position, to: &beginning)
        beginning.append(contentsOf: ",\"state\":".utf8)
        let fields = [
            ("Content-Type", "application/json"), ("Cache-Control", "no-cache"), durability,
        ]
        answer(
            connection, 200, fields + tag,
            AnswerBody(beginning: beginning, shared: state, end: Array("}\n".utf8)))
    }

    // MARK: Streams

    private func begin(
        _ subscriber: Subscriber, _ opening: StreamOpening, on connection: ConnectionID
    ) {
        let slot = Int(connection.slot)
        guard case .answering(let asked, let wishes) = exchanges[slot].phase else {
            return subscriber.cancel()
        }
        guard !service.isDraining else {
            // It waited for a commit when all other streams were ended.
            subscriber.cancel()
            return answerDue(connection) { self.answerStream(connection, with: .draining) }
        }
        let configuration = service.configuration
        let age = configuration.connectionAge * Double.random(in: 0.8...1.2, using: &randomness)
        let streaming = Exchange.Streaming(
            heartbeatIsEvent: wishes?.heartbeatIsEvent ?? false, endsAt: connections.now + age,
            since: asked.since)
        streaming.subscriber = subscriber
        exchanges[slot].phase = .streaming(streaming)
        counters.streamsOpened += 1
        counters.note(status: 200)
        // The head goes out behind answers that are still in `out`, or unsent.
        if readingConnection != connection { out.removeAll(keepingCapacity: true) }
        ResponseEncoder.appendStreamHead(
            status: 200, lines: templates.stream, date: date, isChunked: subscriber.isChunked,
            to: &out)
        opening.append(retryMilliseconds: jitteredRetry(), to: &out)
        answered += opening.snapshot.count
        if opening.snapshot.count <= 4_096 {
            out.append(contentsOf: opening.snapshot)
            send(connection, out)
        } else {
            send(connection, out, opening.snapshot[...])
        }
        out.removeAll(keepingCapacity: true)
        if exchanges[slot].hasUnsent {
            exchanges[slot].work?.pending = []
            subscriber.waitForRoom()
        } else {
            exchanges[slot].work = nil
        }
        rearm(connection)
    }

    /// ± 25 %: clients that were cut off together should not come back together.
    func jitteredRetry() -> Int {
        let milliseconds = service.configuration.retry.milliseconds
        return Int(Double(milliseconds) * Double.random(in: 0.75...1.25, using: &randomness))
    }

    func write(_ bytes: Span<UInt8>, to subscriber: UInt64) -> Int {
        let connection = ConnectionID(subscriber)
        let taken = connections.send(connection, bytes)
        if taken > 0 {
            exchanges[Int(connection.slot)].lastProgress = connections.now
            counters.streamBytes += UInt64(taken)
        }
        counters.streamWrites += 1
        return taken
    }

    func finish(_ subscriber: Subscriber) {
        let connection = ConnectionID(subscriber.id)
        guard isCurrent(connection) else { return }
        guard case .streaming(let streaming) = exchanges[Int(connection.slot)].phase else { return }
        // The session has forgotten it.
        streaming.subscriber = nil
        endStream(connection, streaming, subscriber, [])
    }

    /// Ends a stream behind these bytes and the last chunk, or cuts it off in the event that the
    /// client is in the middle of: then it sees a broken body, and resumes.
    func endStream(
        _ connection: ConnectionID, _ streaming: Exchange.Streaming, _ subscriber: Subscriber,
        _ bytes: [UInt8]
    ) {
        let exchange = exchanges[Int(connection.slot)]
        // What is unsent here are answers of before and the opening, which are whole.
        guard exchange.hasUnsent || !subscriber.isBlocked else {
            return close(connection, .lingering)
        }
        logStreamEnd(streaming)
        streaming.subscriber?.cancel()
        exchange.phase = .closing
        var last = bytes
        if subscriber.isChunked {
            ChunkEncoder.wrap(from: 0, in: &last)
            last.append(contentsOf: ChunkEncoder.last)
        }
        sendLast(connection, last)
    }

    // MARK: Notes

    func note(_ note: SessionNote, of session: Session) {
        let metadata: Logger.Metadata = [
            "session": "\(session.id.text)", "reactor": "\(session.registration.name)",
        ]
        let logger = service.logger
        switch note {
        case .failed(let place, let error):
            counters.failures += 1
            logger.warning("\(place) failed: \(error)", metadata: metadata)
        case .unencodable(let what, let error):
            logger.error("\(what) can't be written as JSON: \(error)", metadata: metadata)
        case .unnamedActivity(let activity):
            logger.error(
                "an activity has no name that an event can bear: \(activity)", metadata: metadata)
        case .dropped(let what):
            counters.dropped += 1
            logger.debug("\(what) of an ended effect was dropped", metadata: metadata)
        case .unreadable(let what):
            logger.error("what the journal keeps can't be read: \(what)", metadata: metadata)
        case .commitFailed(let detail):
            logger.error("a commit failed, nothing of it happened: \(detail)", metadata: metadata)
        }
    }
}

extension ConnectionID {
    /// What sessions call a connection.
    var token: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    init(_ token: UInt64) {
        self.init(
            slot: UInt32(truncatingIfNeeded: token),
            generation: UInt32(truncatingIfNeeded: token >> 32))
    }
}

extension Duration {
    /// Whole milliseconds, rounded down.
    var milliseconds: Int64 {
        components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }
}
