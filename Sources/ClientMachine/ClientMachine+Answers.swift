internal import JSONCoding

extension ClientMachine {
    mutating func posted(_ answer: PostAnswer, _ session: SessionName, at now: ClientInstant) {
        let purpose = Purpose.post(session)
        switch answer {
        case .applied(let receipt): applied(receipt, session, at: now)
        case .refused(let problem, let position):
            // The server looks for the key before it refuses with these.
            guard [409, 412].contains(problem.status) else {
                return refuseSent(session, problem, at: now)
            }
            settleSent(session, .refused(problem), position: position, at: now)
        // A question is never unfit, so this says nothing about the request.
        case .unfit where links[session]?.question != nil,
            .unread where links[session]?.question != nil:
            settleSent(session, .inDoubt, at: now)
        case .unfit(let problem): narrow(problem, session, at: now)
        case .unread(let problem):
            // An earlier attempt may have been executed, while the server still read such a body.
            // Only the service's answer for the key shows whether it was.
            guard links[session]?.isUnclear == true else {
                return narrow(problem, session, at: now)
            }
            links[session]?.question = problem
            post(session, at: now)
        case .unknownKey(let problem):
            guard let refusal = links[session]?.question else {
                return retry(purpose, why: problem.detail, at: now)
            }
            narrow(refusal, session, at: now)
        case .keyReused: settleSent(session, .inDoubt, at: now)
        case .unknownSession(let problem):
            guard making(of: session) != nil else {
                return refuseSent(session, problem, at: now)
            }
            retry(purpose, why: problem.detail, at: now)
            create(session, at: now)
        case .ended(let problem):
            endSession(session, .deleted)
            refuseAll(session, problem)
        case .running(let minimum):
            // O3, for an attempt that is not lost but early: 100 ms … 2 s.
            links[session]?.isUnclear = true
            let jitter = Duration.milliseconds(Int64.random(in: 100...2_000, using: &generator))
            attempts.schedule(
                purpose, after: max(jitter, minimum), why: "the request is running",
                at: now.uptime)
        case .tooSlow(let problem):
            let limits = limits
            links[session]?.noteTimeout(within: limits)
            // An earlier attempt may have been carried out: then only the same bytes may follow.
            if links[session]?.isUnclear == false, let sent = outbox[session].sent,
                sent.entries.count > 1
            {
                narrow(problem, session, at: now)
            } else {
                retry(purpose, why: problem.detail, at: now)
            }
        case .again(let why, let minimum):
            links[session]?.isUnclear = true
            retry(purpose, why: why, atLeast: minimum, at: now)
        }
    }

    /// O5: halves a refused batch, or refuses the send that stands alone.
    private mutating func narrow(
        _ problem: ProblemDetails, _ session: SessionName, at now: ClientInstant
    ) {
        guard let sent = outbox[session].sent, sent.entries.count > 1 else {
            return settleSent(session, .refused(problem), at: now)
        }
        writer.record(.withdrawn(session, sent.key))
        links[session]?.overlay.withdraw(sent.key)
        links[session]?.narrowing.halve(sent.entries.count)
        attempts.succeed(.post(session))
        continuePosting(session, at: now)
    }

    mutating func created(
        _ response: ClientResponse, _ session: SessionName, at now: ClientInstant
    ) {
        if [200, 201].contains(response.status), Self.describesSession(response.body) {
            attempts.succeed(.create(session))
            links[session]?.creation = .settled
            changePlan(at: now)
            return continuePosting(session, at: now)
        }
        guard (400..<500).contains(response.status), let refusal = response.refusal(of: .create)
        else {
            return retry(
                .create(session), why: response.reasonToWait, atLeast: response.retryAfter, at: now)
        }
        if refusal.code == "session_ended" {
            links[session]?.creation = .settled
            endSession(session, .deleted)
        } else {
            fail(session, refusal, at: now)
        }
        refuseAll(session, refusal)
    }

    /// Whether the body is the service's description of a session, and not a proxy's page.
    private static func describesSession(_ body: [UInt8]) -> Bool {
        struct Description: Decodable { let position: StreamPosition }
        return (try? JSON.decode(Description.self, from: body)) != nil
    }

    /// Reads the state beside the stream, if that is needed.
    mutating func schedule(
        _ need: SessionLink.ReadBack, _ session: SessionName, at now: ClientInstant
    ) {
        let purpose = Purpose.readBack(session)
        switch need {
        case .none:
            if let id = attempts.remove(purpose) { outputs.append(.cancelRequest(id)) }
        case .now:
            if attempts.phase(of: purpose) == .idle { begin(purpose, at: now) }
        case .later:
            guard attempts.phase(of: purpose) == .idle else { return }
            attempts.schedule(
                purpose, after: limits.readBack, why: "the answer is not confirmed", at: now.uptime)
        }
    }

    mutating func readBack(
        _ response: ClientResponse, _ session: SessionName, at now: ClientInstant
    ) {
        guard response.status == 200, let members = JSON.members(of: Self.trimmed(response.body)),
            let state = members["state"], let text = members["position"],
            let position = try? JSON.decode(StreamPosition.self, from: text)
        else {
            return retry(
                .readBack(session), why: "the state is not read: \(response.problem.detail)",
                atLeast: response.retryAfter, at: now)
        }
        if var link = links[session], link.reader.read(position) {
            link.advanceBase()
            for entry in link.overlay.beginLife(position.generation) { link.join(entry) }
            // R10: it may contain a request that is not answered.
            let isHeld = link.overlay.observe(
                position, cause: nil, isWhole: true, opened: now.uptime,
                holdUntil: now.uptime + limits.hold)
            links[session] = link
            if isHeld { attempts.ask(.post(session), at: now.uptime) }
            deliver(
                .snapshot(SessionSnapshot(.reading, position: position, state: state)), to: session)
        }
        retry(.readBack(session), why: "the answer is not confirmed", at: now)
    }

    /// The body without the line break that ends it.
    private static func trimmed(_ body: [UInt8]) -> [UInt8] {
        Array(body.prefix((body.lastIndex { $0 > 0x20 } ?? -1) + 1))
    }

    func linkStatus(
        _ standing: SessionLink.Standing, _ carrier: StreamTable.Carrier?, _ session: SessionName
    ) -> LinkStatus {
        if case .ended(let reason) = standing { return .ended(reason) }
        if let reason = writer.failure { return .stopped(reason) }
        switch standing {
        case .idle: return postingStatus(of: session) ?? .idle
        case .ended(let reason): return .ended(reason)
        case .failed(let problem): return .failed(problem)
        case .creating(let session): return status(of: .create(session))
        case .followed:
            guard let carrier else { return .connecting(attempt: 1) }
            guard carrier.isOpen else { return status(of: .stream(carrier.id)) }
            return postingStatus(of: session) ?? .live
        }
    }

    /// Why actions of the session do not leave; nil if nothing keeps them back.
    private func postingStatus(of session: SessionName) -> LinkStatus? {
        guard outbox.actionCount(of: session) > 0 else { return nil }
        if let wait = attempts.failedWait(of: .post(session)) ?? writer.delay {
            return .waiting(until: wait.until, why: wait.why)
        }
        return nil
    }

    private func status(of purpose: Purpose) -> LinkStatus {
        if case .waiting(let until, let why) = attempts.phase(of: purpose) {
            return .waiting(until: until, why: why)
        }
        return .connecting(attempt: attempts.failures(of: purpose) + 1)
    }
}
