extension ClientMachine {
    mutating func begin(_ purpose: Purpose, at now: ClientInstant) {
        let step = attempts.begin(purpose, cost(of: purpose), at: now.uptime)
        guard let step else { return }
        perform(step, purpose, at: now)
    }

    private func cost(of purpose: Purpose) -> AttemptTable.Cost {
        switch purpose {
        case .post(let session):
            let sent = outbox[session].sent
            let settled = sent?.options.settledMilliseconds
            return .init(
                wait: timeLimit(bytes: sent?.body.count ?? 0, links[session]?.timeouts ?? 0)
                    + .milliseconds(settled ?? 0),
                // A request that waits for effects may take minutes.
                takesTurn: settled == nil)
        case .create, .readBack, .lookUp: return .init(wait: limits.answer, takesTurn: true)
        case .revive: return .init(wait: .zero)
        case .stream: return .init(wait: limits.opening)
        }
    }

    /// The time for an answer to a body. It doubles after each attempt that timed out: the request
    /// must stay the same, so a slow connection needs the time.
    private func timeLimit(bytes: Int, _ timeouts: Int) -> Duration {
        let wait = limits.answer + .seconds(Int64(bytes / limits.bodyBytesPerSecond))
        return min(wait * (1 << min(timeouts, 6)), limits.longestWait)
    }

    private mutating func perform(
        _ step: AttemptTable.Step, _ purpose: Purpose, at now: ClientInstant
    ) {
        touch(purpose)
        switch step {
        case .ask(let id, let refused): outputs.append(.askForCredential(id, refused: refused))
        case .launch(let id, let credential): launch(purpose, id, credential, at: now)
        }
    }

    private mutating func launch(
        _ purpose: Purpose, _ id: AttemptID, _ credential: Credential?, at now: ClientInstant
    ) {
        let request: ClientRequest?
        switch purpose {
        case .post(let session):
            let link = links[session]
            request = outbox[session].sent.map {
                link?.question == nil
                    ? .post($0, of: session, done: link?.doneKey) : .question($0, of: session)
            }
        case .create(let session):
            request = making(of: session).map { .create(session, of: $0) }
        case .readBack(let session): request = .read(session)
        case .lookUp(let session, let ofLog): request = .lookUp(session, ofLog: ofLog)
        case .revive: request = nil
        case .stream(let stream):
            request = openRequest(stream)
        }
        guard let request = request?.authorized(credential?.authorization) else {
            _ = attempts.remove(purpose)
            if case .create(let session) = purpose {
                // Nobody wants it to be made any more. The sends find out whether it exists.
                links[session]?.creation = .settled
                changePlan(at: now)
                continuePosting(session, at: now)
            }
            return
        }
        if case .stream = purpose {
            outputs.append(.openStream(id, request))
        } else {
            outputs.append(.request(id, request))
        }
    }

    func making(of session: SessionName) -> SessionMaking? {
        links[session]?.following?.makes ?? outbox[session].entries.first?.makes
    }

    mutating func receive(
        _ credential: Credential?, for id: AttemptID, at now: ClientInstant
    ) {
        guard let purpose = attempts.asking(id) else { return }
        guard let credential else {
            _ = attempts.end(id)
            return retry(purpose, why: "there is no credential", at: now)
        }
        if attempts.isRefused(credential, for: id) {
            // C6: the same one again is no new one.
            _ = attempts.end(id)
            return refuseCredential(
                purpose, why: "the server has refused this credential", at: now)
        }
        let step = attempts.receive(
            credential, for: id, within: cost(of: purpose).wait, at: now.uptime)
        guard let step else { return }
        perform(step, purpose, at: now)
    }

    mutating func answered(_ id: AttemptID, _ response: ClientResponse, at now: ClientInstant) {
        let mayHelp = response.status == 401 && attempts.refuseCredential(of: id)
        guard let purpose = attempts.end(id) else { return }
        touch(purpose)
        if response.showsWorkingServer { hurry(at: now) }
        if mayHelp { return begin(purpose, at: now) }
        if response.status == 401 {
            return refuseCredential(purpose, why: response.reasonToWait, at: now)
        }
        switch purpose {
        case .post(let session): posted(PostAnswer(response), session, at: now)
        case .create(let session): created(response, session, at: now)
        case .readBack(let session): readBack(response, session, at: now)
        case .lookUp(let session, _):
            attempts.forget(purpose)
            lookedUp(response, session, at: now)
        // The head of a stream is an input of its own, and `revive` has no request.
        case .stream, .revive: retry(purpose, why: "a stream was answered as a request", at: now)
        }
    }

    mutating func failed(_ id: AttemptID, _ cause: String, at now: ClientInstant) {
        guard let purpose = attempts.end(id) else { return }
        switch purpose {
        case .post(let session): links[session]?.isUnclear = true
        // The stream asks again.
        case .lookUp: return attempts.forget(purpose)
        case .create, .readBack, .revive, .stream: break
        }
        retry(purpose, why: cause, at: now)
    }

    mutating func retry(
        _ purpose: Purpose, why: String, atLeast minimum: Duration = .zero, at now: ClientInstant
    ) {
        touch(purpose)
        if case .stream(let stream) = purpose { streams[stream]?.close() }
        attempts.retry(purpose, why: why, atLeast: minimum, at: now.uptime, using: &generator)
    }

    /// C3: the server works, so what waits after a failure of it waits no longer.
    mutating func hurry(at now: ClientInstant) {
        for purpose in attempts.hurry(at: now.uptime) { touch(purpose) }
    }

    /// C6: the server has refused two credentials in a row, or the only one of the program. The
    /// attempt waits: the program may have another credential later.
    mutating func refuseCredential(
        _ purpose: Purpose, why: String, at now: ClientInstant
    ) {
        if case .lookUp = purpose { return attempts.forget(purpose) }
        retry(purpose, why: why, at: now)
    }

    /// Does what time alone has made due.
    mutating func performDue(at now: ClientInstant) {
        if let earliest = attempts.findEarliest(), earliest <= now.uptime {
            performDueAttempts(at: now)
        }
        if let time = streams.planTime, time <= now.uptime { makePlan(at: now) }
        for session in holding.sorted {
            if let end = links[session]?.overlay.heldUntil, end <= now.uptime {
                touched.insert(session)
            }
        }
    }

    private mutating func performDueAttempts(at now: ClientInstant) {
        for id in attempts.expired(at: now.uptime) { expire(id, at: now) }
        for purpose in attempts.due(at: now.uptime) { continueAttempts(purpose, at: now) }
    }

    private mutating func continueAttempts(_ purpose: Purpose, at now: ClientInstant) {
        switch purpose {
        case .post(let session): post(session, at: now)
        case .revive(let session): revive(session, at: now)
        case .create, .readBack, .lookUp, .stream: begin(purpose, at: now)
        }
    }

    /// Begins the attempts that have waited for their turn, if there is room. Returns whether
    /// anything has begun.
    mutating func performQueued(at now: ClientInstant) -> Bool {
        guard let first = attempts.takeQueued() else { return false }
        continueAttempts(first, at: now)
        while let next = attempts.takeQueued() { continueAttempts(next, at: now) }
        return true
    }

    /// Nothing has arrived in time (C4).
    private mutating func expire(_ id: AttemptID, at now: ClientInstant) {
        guard let purpose = attempts.purpose(of: id) else { return }
        if case .stream = purpose, attempts.asking(id) == nil {
            outputs.append(.closeStream(id))
            streamEnded(id, "nothing has arrived for too long", at: now)
        } else {
            if attempts.asking(id) == nil {
                outputs.append(.cancelRequest(id))
                let limits = limits
                if case .post(let session) = purpose { links[session]?.noteTimeout(within: limits) }
            }
            failed(id, "nothing has arrived for too long", at: now)
        }
    }

    /// The sessions of a purpose may have another status.
    private mutating func touch(_ purpose: Purpose) {
        switch purpose {
        case .post(let session), .create(let session), .readBack(let session),
            .lookUp(let session, _), .revive(let session):
            touched.insert(session)
        case .stream(let stream): touched.formUnion(streams[stream]?.sessions ?? [])
        }
    }
}
