extension ClientMachine {
    mutating func send(
        _ actions: [[UInt8]], _ options: SendOptions, _ session: SessionName, at now: ClientInstant
    ) {
        makeLink(session)
        guard !actions.isEmpty else { return deliver(.notAccepted(.empty), to: session) }
        if let refusal = refusal(in: session) {
            return deliver(.notAccepted(refusal), to: session)
        }
        guard outbox.hasRoom(for: actions, within: limits) else {
            return deliver(.notAccepted(.outboxFull), to: session)
        }
        let entry = OutboxEntry(
            ticket: outbox.nextTicket, session: session, actions: actions, options: options,
            makes: links[session]?.makes())
        queue(entry, at: now)
    }

    /// Both changes become durable together, so the actions are in one place at any time. The
    /// position that the send expected has passed.
    mutating func resend(_ ticket: Ticket, _ session: SessionName, at now: ClientInstant) {
        guard let earlier = outbox.settlements[ticket]?.entry, earlier.session == session else {
            return deliver(.notAccepted(.unknown), to: session)
        }
        makeLink(session)
        if let refusal = refusal(in: session) {
            return deliver(.notAccepted(refusal), to: session)
        }
        let options = SendOptions(settledMilliseconds: earlier.options.settledMilliseconds)
        let entry = OutboxEntry(
            ticket: outbox.nextTicket, session: session, actions: earlier.actions,
            options: options, makes: links[session]?.makes() ?? earlier.makes)
        writer.record(.seen(ticket))
        queue(entry, at: now)
    }

    private mutating func refusal(in session: SessionName) -> SendRefusal? {
        if let reason = writer.failure { return .outboxUnavailable(reason) }
        let limits = limits
        return links[session]?.sendRefusal(within: limits)
    }

    private mutating func queue(_ entry: OutboxEntry, at now: ClientInstant) {
        let session = entry.session
        writer.record(.queued(entry), then: .report(entry.ticket, session, .queued))
        links[session]?.join(entry)
        deliver(.accepted(entry.ticket), to: session)
        continuePosting(session, at: now)
    }

    mutating func discard(_ ticket: Ticket, _ session: SessionName) {
        // A change that is not durable would be undone by the end of the process.
        guard writer.failure == nil,
            let index = outbox[session].queued.firstIndex(where: { $0.ticket == ticket })
        else { return }
        let sentCount = outbox[session].sent?.entries.count ?? 0
        writer.record(.discarded(ticket, session), then: .report(ticket, session, .discarded))
        links[session]?.narrowing.discard(at: sentCount + index)
        links[session]?.rollBack(ticket)
        touched.insert(session)
    }

    /// Sends the session's next request, unless one is under way (O1).
    mutating func continuePosting(_ session: SessionName, at now: ClientInstant) {
        let limits = limits
        guard writer.failure == nil, let limit = links[session]?.nextRequest(within: limits) else {
            return
        }
        let lane = outbox[session]
        if let sent = lane.sent {
            if links[session]?.overlay.firstAttempt(of: sent.key) == nil {
                // Of an earlier life of the program.
                links[session]?.overlay.add(sent, at: now.uptime)
                links[session]?.isUnclear = true
                links[session]?.isOfEarlierLife = true
            }
            if links[session]?.isSaved == true, attempts.phase(of: .post(session)) == .idle {
                post(session, at: now)
            }
            return
        }
        let count = lane.nextBatch(most: limit.most, bytes: limit.bytes, within: limits)
        guard count > 0 else { return }
        let entries = lane.queued.prefix(count)
        let key = RequestKey(using: &generator)
        writer.record(
            .sent(
                session, key, body: OutboxEntry.body(of: entries), count: count, date: now.date),
            then: .post(session, key))
        if let sent = outbox[session].sent { links[session]?.begin(sent, at: now.uptime) }
    }

    mutating func persisted(_ number: UInt64, at now: ClientInstant) {
        if writer.delay != nil { for session in outbox.lanes.keys { touched.insert(session) } }
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

    /// The outbox is written later. Outputs that depend on it wait.
    mutating func persistDelayed(_ until: Duration, _ reason: String) {
        writer.wait(until: until, reason)
        for session in outbox.lanes.keys { touched.insert(session) }
    }

    /// The outbox cannot be written any more. Actions that are not durable are never sent. The next
    /// program with the outbox sends those that are durable and have not left: their keys would not
    /// be durable here.
    mutating func persistFailed(_ reason: String) {
        var reported: Set<Ticket> = []
        let consequences = writer.fail(reason)
        defer { reportStored(reason) }
        for session in links.keys { touched.insert(session) }
        for session in links.keys where links[session]?.isSaved == false {
            guard let sent = outbox[session].sent else { continue }
            writer.record(.withdrawn(session, sent.key))
            links[session]?.overlay.withdraw(sent.key)
        }
        for consequence in consequences {
            guard case .report(let ticket, let session, let outcome) = consequence else { continue }
            touched.insert(session)
            guard reported.insert(ticket).inserted else { continue }
            switch outcome {
            case .queued, .discarded:
                writer.record(.discarded(ticket, session))
                links[session]?.rollBack(ticket)
                deliver(.outcome(ticket, .outboxUnavailable(reason)), to: session)
            default: deliver(.outcome(ticket, outcome), to: session)
            }
        }
    }

    /// Ends the waits of senders whose actions stay in the outbox.
    private mutating func reportStored(_ reason: String) {
        let lanes = outbox.lanes.sorted { $0.key.text < $1.key.text }
        for (session, lane) in lanes {
            for entry in lane.queued {
                deliver(.outcome(entry.ticket, .stored(reason)), to: session)
            }
        }
    }

    /// Attempts the session's sent request, which is durable.
    mutating func post(_ session: SessionName, at now: ClientInstant) {
        guard let sent = outbox[session].sent,
            let first = links[session]?.firstAttempt(of: sent.key, at: now.uptime)
        else {
            // Continued when that is over.
            _ = attempts.remove(.post(session))
            return
        }
        if isForgotten(sent, of: session, since: first, at: now) {
            return giveUp(sent, session, at: now)
        }
        begin(.post(session), at: now)
    }

    /// O4: whether the server may have forgotten that it has carried out the request.
    ///
    /// - Parameter first: the uptime of its first attempt.
    private func isForgotten(
        _ sent: SentRequest, of session: SessionName, since first: Duration, at now: ClientInstant
    ) -> Bool {
        let memory = limits.memoryOfServer
        let (age, overflow) = now.date.subtractingReportingOverflow(sent.firstSent)
        if now.uptime - first >= memory { return true }
        // The program's own uptime is more reliable than the date.
        if links[session]?.isOfEarlierLife == false { return false }
        // A clock that was set back hides the age. Up to an hour is within the server's margin.
        return overflow || age < -3600 || age >= memory.components.seconds
    }

    private mutating func giveUp(
        _ sent: SentRequest, _ session: SessionName, at now: ClientInstant
    ) {
        if let request = links[session]?.overlay[sent.key], let position = request.cause {
            // An event has shown that it is applied. The last one is awaited as long as the shown
            // state is held.
            guard !request.isAwaited(at: now.uptime) else {
                return attempts.schedule(
                    .post(session), after: limits.hold, why: "waiting for its last event",
                    at: now.uptime)
            }
            return applied(Receipt(position: position), session, at: now)
        }
        settleSent(session, .inDoubt, at: now)
    }

    mutating func applied(_ receipt: Receipt, _ session: SessionName, at now: ClientInstant) {
        guard let sent = outbox[session].sent else { return }
        let limits = limits
        writer.record(.done(session, sent.key))
        links[session]?.answer(sent, with: receipt, within: limits)
        attempts.succeed(.post(session))
        touched.insert(session)
        continuePosting(session, at: now)
    }

    /// The sends of the sent request come to another end than `applied`.
    mutating func settleSent(
        _ session: SessionName, _ outcome: Settlement.Outcome, position: StreamPosition? = nil,
        at now: ClientInstant
    ) {
        guard let sent = outbox[session].sent else { return }
        links[session]?.narrowing.finish(sent.entries.count)
        for entry in sent.entries { end(entry.ticket, session, outcome, position) }
        attempts.succeed(.post(session))
        continuePosting(session, at: now)
    }

    /// Ends a send, and rolls its prediction back (O6). The program gets the outcome when it is
    /// durable: another process must not report another one.
    mutating func end(
        _ ticket: Ticket, _ session: SessionName, _ outcome: Settlement.Outcome,
        _ position: StreamPosition? = nil
    ) {
        let report: TicketOutcome
        switch outcome {
        case .refused(let problem): report = .refused(problem, position: position)
        case .inDoubt: report = .inDoubt
        }
        let change = OutboxChange.settled(
            Settlement(ticket: ticket, session: session, outcome: outcome))
        if writer.failure == nil {
            writer.record(change, then: .report(ticket, session, report))
        } else {
            writer.record(change)
            deliver(.outcome(ticket, report), to: session)
        }
        links[session]?.overlay.remove(ticket)
        links[session]?.rollBack(ticket)
        touched.insert(session)
    }

    /// It is refused for a reason that says nothing of earlier attempts, which may have succeeded.
    mutating func refuseSent(
        _ session: SessionName, _ problem: ProblemDetails, at now: ClientInstant
    ) {
        let isUnclear = links[session]?.isUnclear ?? false
        settleSent(session, isUnclear ? .inDoubt : .refused(problem), at: now)
    }

    mutating func refuseAll(_ session: SessionName, _ problem: ProblemDetails) {
        var isUnclear = links[session]?.isUnclear ?? false
        if let id = attempts.remove(.post(session)) {
            outputs.append(.cancelRequest(id))
            isUnclear = true
        }
        links[session]?.narrowing = Narrowing()
        for entry in outbox[session].sent?.entries ?? [] {
            end(entry.ticket, session, isUnclear ? .inDoubt : .refused(problem))
        }
        for entry in outbox[session].queued { end(entry.ticket, session, .refused(problem)) }
    }
}
