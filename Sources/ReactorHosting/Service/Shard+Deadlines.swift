internal import Sessions
internal import Sockets
internal import Wire

// Time: one deadline per connection, moved lazily. When it comes, what it was for is looked up
// and, if nothing is due, the next one is set.
extension Shard {
    func deadlineReached(_ connection: ConnectionID) {
        guard isCurrent(connection) else { return }
        let slot = Int(connection.slot)
        let now = connections.now
        if exchanges[slot].hasUnsent,
            now >= exchanges[slot].lastProgress + service.configuration.stallTimeout
        {
            counters.stalled += 1
            return close(connection, .reset)
        }
        switch exchanges[slot].phase {
        case .vacant: return
        case .reading: if readingIsOver(connection, now) { return }
        case .answering(_, let wishes):
            if let patience = wishes?.patience, now >= patience { losePatience(connection) }
        case .streaming(let streaming):
            if streamingIsOver(connection, streaming, now) { return }
        case .closing:
            // What is unsent has its own limit above.
            break
        }
        rearm(connection)
    }

    /// Sets the deadline that comes next for the connection.
    func rearm(_ connection: ConnectionID) {
        guard isCurrent(connection) else { return }
        let slot = Int(connection.slot)
        let configuration = service.configuration
        let last = exchanges[slot].lastProgress
        var next: LoopInstant
        switch exchanges[slot].phase {
        case .vacant: return
        case .reading:
            // Never later than the silence after the request that is under way may last: the
            // deadline is not moved when that is answered.
            next =
                exchanges[slot].requestBegan.map {
                    min(
                        $0 + configuration.requestTimeout,
                        connections.now + configuration.idleTimeout)
                } ?? (last + configuration.idleTimeout)
        case .answering(_, let wishes):
            // A commit has no deadline of its own; look again now and then.
            next = connections.now + configuration.idleTimeout
            if let patience = wishes?.patience { next = min(next, patience) }
        case .streaming(let streaming):
            let isBlocked = streaming.subscriber?.isBlocked ?? true
            let quiet = last + (isBlocked ? configuration.stallTimeout : configuration.heartbeat)
            next = min(quiet, streaming.endsAt)
        case .closing:
            next = last + configuration.stallTimeout
        }
        if exchanges[slot].hasUnsent {
            next = min(next, last + configuration.stallTimeout)
        }
        connections.setDeadline(connection, next)
    }

    private func readingIsOver(_ connection: ConnectionID, _ now: LoopInstant) -> Bool {
        let slot = Int(connection.slot)
        let configuration = service.configuration
        if let began = exchanges[slot].requestBegan {
            guard now >= began + configuration.requestTimeout else { return false }
            out.removeAll(keepingCapacity: true)
            refuse(
                connection,
                Problem(408, "request_timeout", "the request did not arrive in time"))
            return true
        }
        guard now >= exchanges[slot].lastProgress + configuration.idleTimeout else { return false }
        close(connection, .now)
        return true
    }

    /// Whoever waits for effects to end is answered now.
    func losePatience(_ connection: ConnectionID) {
        guard case .answering(_, let wishes?) = exchanges[Int(connection.slot)].phase else {
            return
        }
        wishes.patience = nil
        waitingSession(wishes)?.stopWaiting(connection.token)
    }

    private func waitingSession(_ wishes: Exchange.Wishes) -> Session? {
        guard let id = wishes.session, case .session(let session) = sessions.find(id) else {
            return nil
        }
        return session
    }

    /// Nobody waits for the answer any more.
    func forgetAnswer(_ connection: ConnectionID, _ wishes: Exchange.Wishes?) {
        guard let wishes else { return }
        waitingSession(wishes)?.forget(connection.token)
    }

    private func streamingIsOver(
        _ connection: ConnectionID, _ streaming: Exchange.Streaming, _ now: LoopInstant
    ) -> Bool {
        let slot = Int(connection.slot)
        let configuration = service.configuration
        let last = exchanges[slot].lastProgress
        if now >= streaming.endsAt {
            endStream(connection, streaming, retry: jitteredRetry())
            return true
        }
        guard let subscriber = streaming.subscriber, !subscriber.isBlocked else {
            guard now >= last + configuration.stallTimeout else { return false }
            counters.stalled += 1
            close(connection, .reset)
            return true
        }
        if now >= last + configuration.heartbeat { writeHeartbeat(connection, streaming) }
        return false
    }

    /// Between events, so it can't cut one in two: nothing is blocked. It carries no id.
    private func writeHeartbeat(_ connection: ConnectionID, _ streaming: Exchange.Streaming) {
        guard let subscriber = streaming.subscriber else { return }
        let ping = streaming.heartbeatIsEvent ? Self.pingEvent : Self.pingComment
        let bytes = subscriber.isChunked ? ping.chunk : ping.plain
        let taken = write(bytes.span, to: connection.token)
        subscriber.hold(bytes[taken...])
    }

    /// Ends a stream that may be resumed: cleanly if nothing of an event is under way.
    func endStream(_ connection: ConnectionID, _ streaming: Exchange.Streaming, retry: Int) {
        guard let subscriber = streaming.subscriber else { return close(connection, .lingering) }
        var bytes: [UInt8] = []
        EventEncoder.appendRetry(milliseconds: retry, to: &bytes)
        endStream(connection, streaming, subscriber, bytes)
    }

    // A comment is a line. A blank line behind it would end a block: clients that hand out every
    // block would hand out an empty event (httpx-sse 0.4 and sseclient 0.0 do).
    private static let pingComment = framed(": ping\n")
    private static let pingEvent = framed("event: ping\ndata: {}\n\n")

    private static func framed(_ text: String) -> (plain: [UInt8], chunk: [UInt8]) {
        let plain = Array(text.utf8)
        var chunk = plain
        ChunkEncoder.wrap(from: 0, in: &chunk)
        return (plain, chunk)
    }
}
