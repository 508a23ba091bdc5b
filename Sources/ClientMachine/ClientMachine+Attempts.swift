extension ClientMachine {
    mutating func begin(_ purpose: Purpose, at now: ClientInstant) {
        let step = attempts.begin(purpose, within: timeLimit(of: purpose), at: now.uptime)
        guard let step else { return }
        perform(step, purpose, at: now)
    }

    /// The time that an attempt has until something arrives.
    private func timeLimit(of purpose: Purpose) -> Duration {
        switch purpose {
        case .post(let session):
            let settled = outbox[session].sent?.options.settledMilliseconds ?? 0
            return limits.answer + .milliseconds(settled)
        case .create, .readBack: return limits.answer
        case .stream: return limits.opening
        }
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
            request = outbox[session].sent.map { .post($0, of: session) }
        case .create(let session):
            request = reactor(of: session).map { .create(session, of: $0) }
        case .readBack(let session): request = .read(session)
        case .stream(let stream):
            request = openRequest(stream)
        }
        guard let request = request?.authorized(credential) else {
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

    /// The reactor of which this client makes the session.
    func reactor(of session: SessionName) -> String? {
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
                purpose,
                ProblemDetails(
                    status: 401, code: "", detail: "the server has refused this credential"),
                at: now)
        }
        let step = attempts.receive(
            credential, for: id, within: timeLimit(of: purpose), at: now.uptime)
        guard let step else { return }
        perform(step, purpose, at: now)
    }

    mutating func answered(_ id: AttemptID, _ response: ClientResponse, at now: ClientInstant) {
        let mayHelp = response.status == 401 && attempts.refuseCredential(of: id)
        guard let purpose = attempts.end(id) else { return }
        touch(purpose)
        if response.showsWorkingServer { hurry(at: now) }
        if mayHelp { return begin(purpose, at: now) }
        if response.status == 401 { return refuseCredential(purpose, response.problem, at: now) }
        switch purpose {
        case .post(let session): posted(PostAnswer(response), session, at: now)
        case .create(let session): created(response, session, at: now)
        case .readBack(let session): readBack(response, session, at: now)
        // The head of a stream is an input of its own.
        case .stream: retry(purpose, why: "a stream was answered as a request", at: now)
        }
    }

    mutating func failed(_ id: AttemptID, _ cause: String, at now: ClientInstant) {
        guard let purpose = attempts.end(id) else { return }
        if case .post(let session) = purpose { links[session]?.isUnclear = true }
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

    /// The server has refused two credentials in a row (C5, C6), or one of a program that has no
    /// others.
    mutating func refuseCredential(
        _ purpose: Purpose, _ problem: ProblemDetails, at now: ClientInstant
    ) {
        touch(purpose)
        attempts.succeed(purpose)
        switch purpose {
        case .post(let session):
            links[session]?.pause = problem
            refuseSent(session, problem, at: now)
        case .create(let session): links[session]?.pause = problem
        case .readBack: retry(purpose, why: problem.detail, at: now)
        case .stream(let stream): fail(stream, problem)
        }
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
        for purpose in attempts.due(at: now.uptime) {
            switch purpose {
            case .post(let session): post(session, at: now)
            case .create, .readBack, .stream: begin(purpose, at: now)
            }
        }
    }

    /// Nothing has arrived in time (C4).
    private mutating func expire(_ id: AttemptID, at now: ClientInstant) {
        guard let purpose = attempts.purpose(of: id) else { return }
        if case .stream = purpose, attempts.asking(id) == nil {
            outputs.append(.closeStream(id))
            streamEnded(id, "nothing has arrived for too long", at: now)
        } else {
            if attempts.asking(id) == nil { outputs.append(.cancelRequest(id)) }
            failed(id, "nothing has arrived for too long", at: now)
        }
    }

    /// The sessions of a purpose may have another status.
    private mutating func touch(_ purpose: Purpose) {
        switch purpose {
        case .post(let session), .create(let session), .readBack(let session):
            touched.insert(session)
        case .stream(let stream): touched.formUnion(streams[stream]?.sessions ?? [])
        }
    }
}
