internal import Logging
internal import Sessions
internal import Sockets
internal import Wire

// A stream's beginning, its events and its end.
extension HTTPConnection {
    /// The response is a stream: sends its head and its opening, then leaves the rest to the
    /// subscriber.
    func beginStream(_ subscriber: Subscriber, _ opening: StreamOpening) {
        guard case .waiting(let request, let options) = state else { return subscriber.cancel() }
        guard !loop.service.isDraining else {
            // It waited for a commit while all other streams were ended.
            subscriber.cancel()
            return respond(.endedStream(.draining))
        }
        let age = loop.configuration.connectionAge * loop.random(in: 0.8...1.2)
        state = .streaming(
            EventStream(
                subscriber, heartbeatIsEvent: options?.heartbeatIsEvent ?? false,
                endsAt: loop.now + age, since: request.since))
        loop.counters.streamsOpened += 1
        loop.counters.count(status: 200)
        // The head goes out behind responses of the same turn, and behind unsent ones.
        let isLate = !isInTurn
        if isLate { beginTurn() }
        ResponseEncoder.appendStreamHead(
            status: 200, lines: loop.heads.stream, date: loop.date, isChunked: subscriber.isChunked,
            to: &output)
        opening.append(retryMilliseconds: loop.jitteredRetry(), to: &output)
        loop.schedule.count(opening.snapshot.count)
        appendBody(opening.snapshot, copyLimitBytes: 4_096)
        flush()
        if hasUnsent {
            buffers?.pending = []
            subscriber.waitForRoom()
        } else {
            buffers = nil
        }
        if isLate { endTurn() }
        rearm()
    }

    /// - Returns: how many bytes the kernel accepted.
    func writeEvents(_ bytes: Span<UInt8>) -> Int {
        let taken = loop.table.send(id, bytes)
        if taken > 0 {
            lastProgress = loop.now
            loop.counters.streamBytes += UInt64(taken)
        }
        loop.counters.streamWrites += 1
        return taken
    }

    /// Between events, so that it cannot cut one in two: nothing is blocked.
    func writeHeartbeat() {
        guard case .streaming(let stream) = state, let subscriber = stream.subscriber else {
            return
        }
        let bytes = stream.heartbeat(isChunked: subscriber.isChunked)
        subscriber.hold(bytes[writeEvents(bytes.span)...])
    }

    /// The session has ended and the subscriber has everything.
    func finishStream(_ subscriber: Subscriber) {
        guard case .streaming(let stream) = state else { return }
        // The session has forgotten it.
        stream.subscriber = nil
        endStream(stream, of: subscriber, behind: [])
    }

    /// Ends a stream that may be resumed: cleanly if no part of an event is under way.
    ///
    /// - Parameter retry: milliseconds until the client connects again.
    func endStream(retry: Int) {
        guard case .streaming(let stream) = state, let subscriber = stream.subscriber else {
            return close(.lingering)
        }
        var bytes: [UInt8] = []
        EventEncoder.appendRetry(milliseconds: retry, to: &bytes)
        endStream(stream, of: subscriber, behind: bytes)
    }

    /// Ends a stream behind these bytes and the last chunk, or cuts it off in the middle of an
    /// event: then the client sees a broken body, and resumes.
    private func endStream(
        _ stream: EventStream, of subscriber: Subscriber, behind bytes: [UInt8]
    ) {
        // Unsent bytes here are responses of before and the opening, which are whole.
        guard hasUnsent || !subscriber.isBlocked else { return close(.lingering) }
        logEnd(of: stream)
        stream.subscriber?.cancel()
        state = .closing
        var last = bytes
        if subscriber.isChunked {
            ChunkEncoder.wrap(from: 0, in: &last)
            last.append(contentsOf: ChunkEncoder.last)
        }
        send(last)
        closeIfDone()
        rearm()
    }

    func logEnd(of stream: EventStream) {
        guard .debug >= loop.service.logLevel else { return }
        loop.service.logger.debug(
            "stream ended", metadata: ["duration": "\(loop.now - stream.since)"])
    }
}
