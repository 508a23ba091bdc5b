extension ClientMachine {
    mutating func send(
        _ actions: [[UInt8]], _ options: SendOptions, _ session: SessionName, at now: ClientInstant
    ) {
        makeLink(session)
        if let refusal = refusal(of: actions, session) {
            return deliver(.notAccepted(refusal), to: session)
        }
        let entry = OutboxEntry(
            ticket: outbox.nextTicket, session: session, actions: actions, options: options,
            makes: links[session]?.following?.makes)
        writer.record(.queued(entry), then: .report(entry.ticket, session, .queued))
        links[session]?.join(entry)
        deliver(.accepted(entry.ticket), to: session)
        continuePosting(session, at: now)
    }

    private func refusal(of actions: [[UInt8]], _ session: SessionName) -> SendRefusal? {
        if actions.isEmpty { return .empty }
        if let reason = writer.failure { return .outboxUnavailable(reason) }
        if links[session]?.end == .deleted { return .ended }
        if let failure = links[session]?.failure, links[session]?.creation == .due {
            return .unusable(failure)
        }
        return outbox.hasRoom(for: actions, within: limits) ? nil : .outboxFull
    }

    mutating func discard(_ ticket: Ticket, _ session: SessionName) {
        guard let index = outbox[session].queued.firstIndex(where: { $0.ticket == ticket }) else {
            return
        }
        let sentCount = outbox[session].sent?.entries.count ?? 0
        writer.record(.discarded(ticket, session))
        links[session]?.narrowing.discard(at: sentCount + index)
        links[session]?.leave([ticket])
        touched.insert(session)
        deliver(.outcome(ticket, .discarded), to: session)
    }

    /// Sends the session's next request, unless one is under way (O1).
    mutating func continuePosting(_ session: SessionName, at now: ClientInstant) {
        guard writer.failure == nil, let link = links[session], link.creation == .settled,
            link.pause == nil
        else { return }
        if let sent = outbox[session].sent {
            if link.overlay[sent.key] == nil {
                links[session]?.overlay.add(sent, at: now.uptime)
            }
            if link.isSaved, attempts.phase(of: .post(session)) == .idle { post(session, at: now) }
            return
        }
        let count = outbox.nextBatch(session, most: link.narrowing.most, within: limits)
        guard count > 0 else { return }
        let entries = outbox[session].queued.prefix(count)
        let key = RequestKey(using: &generator)
        links[session]?.isSaved = false
        writer.record(
            .sent(
                session, key, body: OutboxEntry.body(of: entries), count: count, date: now.date),
            then: .post(session, key))
        if let sent = outbox[session].sent { links[session]?.overlay.add(sent, at: now.uptime) }
    }

    mutating func persisted(_ number: UInt64, at now: ClientInstant) {
        for consequence in writer.persisted(number) {
            switch consequence {
            case .report(let ticket, let session, let outcome):
                deliver(.outcome(ticket, outcome), to: session)
            case .post(let session, let key):
                guard let sent = outbox[session].sent, sent.key == key else { continue }
                links[session]?.isSaved = true
                for entry in sent.entries { deliver(.outcome(entry.ticket, .sent), to: session) }
                post(session, at: now)
            }
        }
    }

    /// The outbox cannot be written: what is not durable is not sent, now or later.
    mutating func persistFailed(_ reason: String) {
        for consequence in writer.fail(reason) {
            guard case .report(let ticket, let session, _) = consequence else { continue }
            links[session]?.leave([ticket])
            touched.insert(session)
            deliver(.outcome(ticket, .outboxUnavailable(reason)), to: session)
        }
    }

    /// Attempts the session's sent request, which is durable.
    mutating func post(_ session: SessionName, at now: ClientInstant) {
        guard let sent = outbox[session].sent, let link = links[session],
            link.creation == .settled, link.pause == nil
        else {
            // Continued when that is over.
            _ = attempts.remove(.post(session))
            return
        }
        if isForgotten(sent, session, at: now) { return giveUp(sent, session, at: now) }
        begin(.post(session), at: now)
    }

    /// O4: whether the server may have forgotten that it has carried out the request.
    private func isForgotten(
        _ sent: SentRequest, _ session: SessionName, at now: ClientInstant
    ) -> Bool {
        let memory = limits.memoryOfServer
        let first = links[session]?.overlay[sent.key]?.firstAttempt ?? now.uptime
        let (age, overflow) = now.date.subtractingReportingOverflow(sent.firstSent)
        // A clock that was set back hides the age. Up to an hour is within the server's margin.
        return now.uptime - first >= memory || overflow || age < -3600
            || age >= memory.components.seconds
    }

    private mutating func giveUp(
        _ sent: SentRequest, _ session: SessionName, at now: ClientInstant
    ) {
        if let position = links[session]?.overlay[sent.key]?.cause {
            // An event has shown that it is applied.
            return applied(Receipt(position: position), session, at: now)
        }
        settleSent(session, at: now) { _ in .inDoubt }
    }

    /// The sent request was applied.
    mutating func applied(_ receipt: Receipt, _ session: SessionName, at now: ClientInstant) {
        guard let sent = outbox[session].sent else { return }
        writer.record(.done(session, sent.key))
        links[session]?.narrowing.finish(sent.entries.count)
        links[session]?.overlay.answer(sent.key, with: receipt)
        attempts.succeed(.post(session))
        touched.insert(session)
        continuePosting(session, at: now)
    }

    /// The sends of the sent request come to another end than `applied`.
    mutating func settleSent(
        _ session: SessionName, at now: ClientInstant, position: StreamPosition? = nil,
        _ outcome: (Ticket) -> Settlement.Outcome
    ) {
        guard let sent = outbox[session].sent else { return }
        links[session]?.narrowing.finish(sent.entries.count)
        for entry in sent.entries {
            end(entry.ticket, session, outcome(entry.ticket), position)
        }
        attempts.succeed(.post(session))
        continuePosting(session, at: now)
    }

    /// Ends a send, and rolls its prediction back (O6).
    mutating func end(
        _ ticket: Ticket, _ session: SessionName, _ outcome: Settlement.Outcome,
        _ position: StreamPosition? = nil
    ) {
        writer.record(
            .settled(Settlement(ticket: ticket, session: session, outcome: outcome)))
        links[session]?.overlay.remove(ticket)
        links[session]?.leave([ticket])
        touched.insert(session)
        switch outcome {
        case .refused(let problem):
            deliver(.outcome(ticket, .refused(problem, position: position)), to: session)
        case .inDoubt: deliver(.outcome(ticket, .inDoubt), to: session)
        }
    }

    /// Refuses everything that the session's lane has.
    mutating func refuseAll(_ session: SessionName, _ problem: ProblemDetails) {
        if let id = attempts.remove(.post(session)) { outputs.append(.cancelRequest(id)) }
        links[session]?.narrowing = Narrowing()
        for entry in outbox[session].entries { end(entry.ticket, session, .refused(problem)) }
    }
}
