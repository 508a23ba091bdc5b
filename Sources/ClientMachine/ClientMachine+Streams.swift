internal import Wire

extension ClientMachine {
    /// The streams change a little later, together with other changes (C1).
    mutating func changePlan(at now: ClientInstant) {
        streams.planTime = streams.planTime ?? now.uptime + limits.gathering
    }

    mutating func makePlan(at now: ClientInstant) {
        streams.planTime = nil
        let wishes = streams.followed.compactMap { session -> StreamPlan.Wish? in
            guard let link = links[session], link.wantsStream, let following = link.following
            else { return nil }
            let isBegun = link.reader.seen != nil
            return StreamPlan.Wish(
                session: session, demand: link.demand, start: isBegun ? .present : following.start)
        }
        let plan = StreamPlan(
            wishes, existing: streams.wanted,
            most: min(limits.sessionsOnStream, streams.mostSessions),
            targetBytes: limits.targetBytes)
        let kept = Set(plan.groups.compactMap(\.same))
        for stream in streams.wanted where !kept.contains(stream.id) {
            streams[stream.id]?.isWanted = false
        }
        for group in plan.groups where group.same == nil {
            begin(.stream(streams.add(group.shape, within: limits)), at: now)
        }
        retireStreams()
        touched.formUnion(streams.followed)
    }

    mutating func openRequest(_ id: StreamID) -> ClientRequest? {
        guard var stream = streams[id] else { return nil }
        if stream.shape.start != .present {
            for session in stream.live { links[session]?.reader.beginAgain() }
        }
        var entries: [SessionName: VectorEntry] = [:]
        for session in stream.live {
            entries[session] = links[session]?.reader.seen.map(VectorEntry.position) ?? .nothing
        }
        let asksForPatches = asksForPatches(stream)
        let target =
            stream.takeRedirect()
            ?? stream.target(presence, asksForPatches: asksForPatches) { entries[$0] ?? .nothing }
        stream.begin(target, entries, within: limits)
        streams[id] = stream
        return .stream(target)
    }

    /// C8: only if every previous state is known, or comes as a snapshot.
    private func asksForPatches(_ stream: StreamConnection) -> Bool {
        guard streams.acceptsPatches, stream.demand.states else { return false }
        return stream.live.allSatisfy { session in
            guard let reader = links[session]?.reader, reader.seen != nil else {
                return stream.shape.start == .present
            }
            return reader.patchBase != nil
        }
    }

    private mutating func retireStreams() {
        for id in streams.retired({ links[$0]?.wantsStream ?? false }) { drop(id) }
    }

    mutating func dropEmptyStreams() {
        for stream in streams.all where stream.live.isEmpty { drop(stream.id) }
    }

    mutating func drop(_ id: StreamID) {
        touched.formUnion(streams[id]?.sessions ?? [])
        if let attempt = attempts.remove(.stream(id)) { outputs.append(.closeStream(attempt)) }
        streams[id] = nil
    }

    // MARK: The life of a connection

    mutating func streamOpened(_ id: AttemptID, _ response: ClientResponse, at now: ClientInstant) {
        guard case .stream(let stream)? = attempts.purpose(of: id) else { return }
        if response.status == 401, attempts.refuseCredential(of: id) {
            return reopen(id, at: now)
        }
        streams[stream]?.open(response, at: now.uptime)
        touched.formUnion(streams[stream]?.sessions ?? [])
        guard streams[stream]?.isOpen == true else { return }
        attempts.extend(id, to: now.uptime + limits.silence)
        hurry(at: now)
        retireStreams()
    }

    /// Closes a connection, and opens the stream again at once.
    private mutating func reopen(_ id: AttemptID, at now: ClientInstant) {
        guard let purpose = attempts.end(id) else { return }
        outputs.append(.closeStream(id))
        guard case .stream(let stream) = purpose else { return }
        streams[stream]?.close()
        if streams[stream]?.isWanted == true { begin(purpose, at: now) } else { retireStreams() }
    }

    mutating func streamBytes(_ id: AttemptID, _ bytes: [UInt8], at now: ClientInstant) {
        guard case .stream(let stream)? = attempts.purpose(of: id) else { return }
        let limits = limits
        let incoming: StreamConnection.Incoming?
        do throws(EventStreamFailure) {
            incoming = try streams[stream]?.receive(bytes, at: now.uptime, within: limits)
        } catch {
            return breakOff(id, "the stream cannot be read: \(error)", at: now)
        }
        guard let incoming else { return }
        attempts.extend(id, to: now.uptime + limits.silence)
        for (session, block) in incoming.blocks {
            if block.name == "reset", isOvertaken(session, on: stream) {
                return breakOff(id, "the stream is overtaken", at: now)
            }
            let fault =
                incoming.isOfLog
                ? feedLog(block, stream, id) : feed(block, to: session, from: stream, at: now)
            if let fault {
                breakOff(id, fault, at: now)
                break
            }
        }
        // Nothing, if a block has ended the connection.
        if let data = incoming.problem {
            problem(ProblemDetails(status: 0, body: data), id, stream, at: now)
        }
        if incoming.isProven, streams[stream]?.isProven(at: now.uptime, within: limits) == true {
            attempts.succeed(.stream(stream))
        }
    }

    /// Whether another stream has brought events of the session meanwhile (C1). If this one begins
    /// with a `reset`, the gap is before them, and the next attempt resumes after them.
    private func isOvertaken(_ session: SessionName, on stream: StreamID) -> Bool {
        guard let entry = streams[stream]?.awaitedEntry(of: session),
            let seen = links[session]?.reader.seen
        else { return false }
        return entry != .position(seen)
    }

    /// The server ends the stream for a reason.
    private mutating func problem(
        _ problem: ProblemDetails, _ id: AttemptID, _ stream: StreamID, at now: ClientInstant
    ) {
        if problem.code == "token_invalid", attempts.refuseCredential(of: id) {
            return reopen(id, at: now)
        }
        breakOff(id, problem.detail, atLeast: streams[stream]?.retryWait ?? .zero, at: now)
    }

    /// Closes a connection that is of no use, as after a failure.
    private mutating func breakOff(
        _ id: AttemptID, _ why: String, atLeast minimum: Duration = .zero, at now: ClientInstant
    ) {
        guard let purpose = attempts.end(id) else { return }
        outputs.append(.closeStream(id))
        retry(purpose, why: why, atLeast: minimum, at: now)
        retireStreams()
    }

    mutating func streamEnded(_ id: AttemptID, _ failure: String?, at now: ClientInstant) {
        guard case .stream(let key)? = attempts.end(id), let stream = streams[key] else { return }
        touched.formUnion(stream.sessions)
        if case .refused(let response) = stream.phase {
            streams[key]?.close()
            return refused(stream, response, at: now)
        }
        let isProven = stream.isProven(at: now.uptime, within: limits)
        streams[key]?.close()
        guard stream.isWanted else { return drop(key) }
        if isProven { attempts.succeed(.stream(key)) }
        // C3: a stream that worked and ended cleanly is opened again at once, unless the server
        // spreads its clients.
        let minimum = stream.isDraining ? stream.retryWait : .zero
        if failure != nil || !isProven {
            retry(
                .stream(key), why: failure ?? "the stream has ended", atLeast: minimum, at: now)
        } else if stream.isDraining {
            attempts.schedule(
                .stream(key), after: minimum, why: "the server is shutting down", at: now.uptime)
        } else {
            begin(.stream(key), at: now)
        }
    }

    /// C5: the meaning of a response that is no stream.
    private mutating func refused(
        _ stream: StreamConnection, _ response: ClientResponse, at now: ClientInstant
    ) {
        let refusal = response.refusal(of: .stream)
        let isShared = stream.sessions.count > 1
        switch response.status {
        // A 204 has no body, so it does not prove that the service sent it.
        case 204:
            retry(.stream(stream.id), why: response.reasonToWait, at: now)
            for session in stream.live {
                begin(.lookUp(session, ofLog: stream.isOfLog), at: now)
            }
        case 307, 308:
            if let target = response.value("location").flatMap(server.target),
                streams[stream.id]?.redirect(to: target) == true
            {
                begin(.stream(stream.id), at: now)
            } else {
                retry(.stream(stream.id), why: response.reasonToWait, at: now)
            }
        // C8: for instance an older server.
        case 400
        where ["unknown_parameter", "bad_form"].contains(refusal?.code) && stream.isPatched:
            streams.acceptsPatches = false
            begin(.stream(stream.id), at: now)
        case 404 where refusal?.code == "unknown_path" && isShared:
            divide(stream, most: 1, at: now)
        // C2: the limit of the server, or of a proxy, is below this client's.
        case 400 where refusal?.code == "too_many_sessions" && isShared, 414 where isShared,
            431 where isShared:
            divide(stream, most: stream.sessions.count / 2, at: now)
        case 404 where refusal?.code == "unknown_session" && !isShared:
            end(stream, .unknown, response.problem, at: now)
        case 403 where refusal?.code == "forbidden", 404 where refusal?.code == "unknown_pulse":
            fail(stream.id, response.problem, at: now)
        default:
            retry(
                .stream(stream.id), why: response.reasonToWait, atLeast: response.retryAfter,
                at: now)
        }
    }

    /// Receives the service's answer about a session of which a stream got 204.
    mutating func lookedUp(
        _ response: ClientResponse, _ session: SessionName, at now: ClientInstant
    ) {
        let reason: EndReason
        switch (response.status, response.refusal(of: .read)?.code) {
        case (404, "unknown_session"?): reason = .unknown
        case (410, "session_ended"?): reason = .deleted
        // The session exists, or that is unknown. Opening the stream again shows which.
        default: return
        }
        for stream in streams.all where stream.isOfLog && !stream.isOpen {
            guard stream.sessions == [session] else { continue }
            endLog(stream, reason, response.problem, at: now)
        }
        if links[session]?.following != nil { endSession(session, reason, at: now) }
    }

    /// The server accepts fewer sessions on one stream: others take the place of this one.
    private mutating func divide(
        _ stream: StreamConnection, most count: Int, at now: ClientInstant
    ) {
        streams.mostSessions = min(streams.mostSessions, count)
        // Not the same stream again, though sessions of it may be over.
        streams[stream.id]?.isWanted = false
        makePlan(at: now)
    }

    /// The server has nothing more for a stream.
    private mutating func end(
        _ stream: StreamConnection, _ reason: EndReason, _ problem: ProblemDetails,
        at now: ClientInstant
    ) {
        guard !stream.isOfLog else { return endLog(stream, reason, problem, at: now) }
        for session in stream.live { endSession(session, reason, at: now) }
    }

    /// The service refuses to serve the sessions of a stream.
    private mutating func fail(_ id: StreamID, _ problem: ProblemDetails, at now: ClientInstant) {
        if streams[id]?.isOfLog == true { return failLog(id, problem) }
        for session in streams[id]?.live ?? [] { fail(session, problem, at: now) }
        drop(id)
        retireStreams()
    }

    /// The service refuses a session. The cause may be removed there, so it is tried again.
    mutating func fail(_ session: SessionName, _ problem: ProblemDetails, at now: ClientInstant) {
        links[session]?.failure = problem
        touched.insert(session)
        guard links[session]?.following != nil else { return }
        // Random, so that sessions do not all return at once.
        let fraction = Double.random(in: 0.5...1, using: &generator)
        attempts.schedule(
            .revive(session), after: limits.revival * fraction, why: problem.detail, at: now.uptime)
    }

    /// Tries a session again that the service has refused to serve.
    mutating func revive(_ session: SessionName, at now: ClientInstant) {
        attempts.forget(.revive(session))
        guard links[session]?.failure != nil else { return }
        links[session]?.failure = nil
        touched.insert(session)
        if links[session]?.creation == .due { begin(.create(session), at: now) }
        changePlan(at: now)
    }

    mutating func replaceSilentStreams(at now: ClientInstant) {
        for stream in streams.all where stream.isWanted && stream.isOpen {
            guard now.uptime - stream.lastByteAt > limits.silenceOnWake,
                case .underWay(let id, _, _) = attempts.phase(of: .stream(stream.id))
            else { continue }
            reopen(id, at: now)
        }
    }
}
