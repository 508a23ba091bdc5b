// The connection of an action log follows the rules of every stream (C3 to C6); its entries have a
// position, an order and a bound of their own.

extension ClientMachine {
    mutating func readLog(_ id: LogID, _ reading: LogReading, at now: ClientInstant) {
        let shape = StreamShape(sessions: [reading.session], demand: .nothing, start: .present)
        let reader = LogReader(id, reading, bytesLimit: limits.bytesInLog)
        begin(.stream(streams.add(shape, log: reader, within: limits)), at: now)
    }

    mutating func logRead(_ id: LogID, _ amount: LogAmount, at now: ClientInstant) {
        guard let stream = streams.stream(of: id) else { return }
        if streams[stream]?.log?.read(amount) == true { begin(.stream(stream), at: now) }
    }

    mutating func closeLog(_ id: LogID) {
        if let stream = streams.stream(of: id) { drop(stream) }
    }

    /// Reads a block of a log. Returns the fault of a block that no server writes.
    mutating func feedLog(_ block: StreamBlock, _ stream: StreamID, _ id: AttemptID) -> String? {
        // It may have been closed by a block before this one.
        guard streams[stream]?.isOpen == true, let log = streams[stream]?.log else { return nil }
        switch streams[stream]?.log?.receive(block) {
        case .nothing, nil: break
        case .malformed(let fault): return fault
        case .full:
            _ = attempts.end(id)
            outputs.append(.closeStream(id))
            streams[stream]?.close()
            streams[stream]?.log?.isPaused = true
        case .deliver(let delivery):
            outputs.append(.deliverLog(log.id, delivery))
            if case .ended = delivery { drop(stream) }
        }
        return nil
    }

    /// The server has nothing more for a log.
    mutating func endLog(
        _ stream: StreamConnection, _ reason: EndReason, _ problem: ProblemDetails,
        at now: ClientInstant
    ) {
        guard let log = stream.log else { return }
        if reason == .unknown, making(of: log.reading.session) != nil {
            // This client is about to make the session.
            return retry(.stream(stream.id), why: problem.detail, at: now)
        }
        outputs.append(.deliverLog(log.id, .ended(reason)))
        drop(stream.id)
    }

    /// The service refuses to serve a log.
    mutating func failLog(_ id: StreamID, _ problem: ProblemDetails) {
        guard let log = streams[id]?.log else { return }
        outputs.append(.deliverLog(log.id, .failed(problem)))
        drop(id)
    }
}
