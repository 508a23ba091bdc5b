internal import Sockets
internal import Wire

/// The timeouts of a connection: its next deadline, and the action that is due when it is reached.
///
/// Design: one deadline per connection, moved lazily. When it is reached, the due action is
/// computed from the connection's state; if none is due, the next deadline is set.
///
/// Invariant: no timeout for the peer's input runs while responses are unsent or bytes wait for a
/// turn. Only the stall timeout runs then, and only for unsent bytes.
struct ConnectionDeadlines {
    enum Activity {
        case reading
        case waiting(until: LoopInstant?)
        case streaming(endsAt: LoopInstant, isBlocked: Bool)
        case closing
    }

    enum Due {
        case nothing
        /// The peer has not accepted a byte for too long.
        case stall
        /// The head did not arrive in time or, without a minimum rate of bodies, the request.
        case requestTimeout
        case slowBody
        /// The body has kept the minimum rate, and gets the same time again.
        case nextPeriod
        /// No request came for too long.
        case idleness
        case waitEnd
        /// The stream has reached its maximum age, or the end of its client's token.
        case streamEnd
        case heartbeat
        /// The server did not read the peer's bytes: the peer's time starts again.
        case restart
    }

    let configuration: Configuration
    /// The silence after which this stream has a heartbeat.
    let heartbeat: Duration
    let activity: Activity
    let lastProgress: LoopInstant
    let requestBegan: LoopInstant?
    /// The bytes of the body that have arrived since `requestBegan`; nil before the
    /// head is complete.
    let newBodyBytes: Int?
    let hasUnsent: Bool
    let hasPending: Bool

    func due(at now: LoopInstant) -> Due {
        let isStalled = now >= lastProgress + configuration.stallTimeout
        if hasUnsent, isStalled { return .stall }
        switch activity {
        case .closing: return .nothing
        case .reading:
            if hasUnsent || hasPending { return .restart }
            if let requestBegan { return due(at: now, requestBegan) }
            return now >= lastProgress + configuration.idleTimeout ? .idleness : .nothing
        case .waiting(let until):
            guard let until, now >= until else { return .nothing }
            return .waitEnd
        case .streaming(let endsAt, let isBlocked):
            if now >= endsAt { return .streamEnd }
            if isBlocked { return isStalled ? .stall : .nothing }
            return now >= lastProgress + heartbeat ? .heartbeat : .nothing
        }
    }

    /// For an incomplete request.
    ///
    /// Design: an average over the whole body would let a client send much at once and then hold
    /// its memory for as long as the average permits. So each period counts by itself (ADR-0034).
    private func due(at now: LoopInstant, _ began: LoopInstant) -> Due {
        guard now >= began + configuration.stallTimeout else { return .nothing }
        guard configuration.bodyRate > 0, let newBodyBytes else { return .requestTimeout }
        let required = Double(configuration.bodyRate) * ((now - began) / .seconds(1))
        return Double(newBodyBytes) >= required ? .nextPeriod : .slowBody
    }

    func next(after now: LoopInstant) -> LoopInstant {
        let stall = lastProgress + configuration.stallTimeout
        var next: LoopInstant
        switch activity {
        case .reading:
            if hasUnsent || hasPending {
                next = now + min(configuration.stallTimeout, configuration.idleTimeout)
            } else if let requestBegan {
                // Never later than the silence after the present request may last: the deadline is
                // not moved when that is answered.
                next = min(
                    requestBegan + configuration.stallTimeout, now + configuration.idleTimeout)
            } else {
                next = lastProgress + configuration.idleTimeout
            }
        case .waiting(let until):
            // A commit has no deadline of its own; look again now and then.
            next = now + configuration.idleTimeout
            if let until { next = min(next, until) }
        case .streaming(let endsAt, let isBlocked):
            // A reader of the journal continues later in the background, without another
            // deadline: look again.
            next = min(endsAt, isBlocked ? min(stall, now + heartbeat) : lastProgress + heartbeat)
        case .closing: next = stall
        }
        return hasUnsent ? min(next, stall) : next
    }
}

extension ConnectionDeadlines {
    /// Between four fifths of the longest silence and all of it, another time for each slot. Else
    /// streams that were opened together would have their heartbeats together.
    static func heartbeat(_ longest: Duration, of slot: UInt32) -> Duration {
        // Knuth's multiplicative hash: neighbours are far from each other.
        let part = (slot &* 2_654_435_769) >> 22
        return longest - longest / 5 * part / 1_024
    }

    /// Nil for a vacant slot.
    fileprivate init?(_ connection: HTTPConnection) {
        switch connection.state {
        case .vacant: return nil
        case .reading: activity = .reading
        case .waiting(_, let options): activity = .waiting(until: options?.waitDeadline)
        case .streaming(let stream):
            activity = .streaming(endsAt: stream.endsAt, isBlocked: stream.isBlocked)
        case .closing: activity = .closing
        }
        configuration = connection.loop.configuration
        heartbeat = Self.heartbeat(configuration.heartbeat, of: connection.id.slot)
        lastProgress = connection.lastProgress
        requestBegan = connection.requestBegan
        newBodyBytes = connection.reader.isReadingHead ? nil : connection.buffers?.newBodyBytes
        hasUnsent = connection.hasUnsent
        hasPending = !(connection.buffers?.pending.isEmpty ?? true)
    }
}

extension HTTPConnection {
    func rearm() {
        guard let deadlines = ConnectionDeadlines(self) else { return }
        loop.table.setDeadline(id, deadlines.next(after: loop.now))
    }

    func deadlineReached() {
        let now = loop.now
        switch ConnectionDeadlines(self)?.due(at: now) ?? .nothing {
        case .nothing: break
        case .stall:
            loop.counters.stalled += 1
            return close(.reset)
        case .requestTimeout:
            return refuse(Problem(408, "request_timeout", "the request did not arrive in time"))
        case .slowBody: return refuse(.slowBody(loop.configuration.bodyRate))
        case .nextPeriod: beginRequestPeriod(now)
        case .idleness: return close(.now)
        case .waitEnd: expireWait()
        case .streamEnd: stream?.endInTime()
        case .heartbeat: stream?.writeHeartbeat()
        case .restart:
            if requestBegan != nil { beginRequestPeriod(now) }
            if !hasUnsent { lastProgress = now }
        }
        stream?.retrySessions()
        rearm()
    }

    private func beginRequestPeriod(_ now: LoopInstant) {
        requestBegan = now
        buffers?.beginBodyPeriod()
    }
}
