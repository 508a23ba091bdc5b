internal import ClientMachine
internal import Reactors
internal import Synchronization

extension ClientDriver {
    /// Puts a send into the outbox.
    func submit(
        _ actions: [[UInt8]], _ options: SendOptions, to session: SessionName
    ) throws(SendFailure) -> Ticket {
        try submit(.send(session, actions, options), to: session)
    }

    /// Puts the actions of a send that did not succeed into the outbox again.
    func resend(
        _ number: TicketNumber, of session: SessionName
    ) throws(SendFailure) -> Ticket {
        try submit(.resend(number, session), to: session)
    }

    private func submit(
        _ input: Input, to session: SessionName
    ) throws(SendFailure) -> Ticket {
        defer { carryOut() }
        return try core.withLock { core throws(SendFailure) in
            guard !core.isClosing else { throw .closed }
            let outputs = core.decide(input, at: clock.now)
            for case .deliver(session, let delivery) in outputs {
                switch delivery {
                case .accepted(let number):
                    let ticket = Ticket(number, session, self)
                    core.tickets[number] = ticket
                    return ticket
                case .notAccepted(let refusal): throw SendFailure(refusal, limits)
                default: continue
                }
            }
            // Invariant: the outputs of a send begin with one of both.
            throw .outboxUnavailable("the send was neither accepted nor refused")
        }
    }

    /// Takes a send back. Returns whether it had not left.
    func discard(_ number: TicketNumber, of session: SessionName) -> Bool {
        defer { carryOut() }
        return core.withLock { core in
            guard !core.isClosing else { return false }
            return core.decide(.discard(number, session), at: clock.now)
                .contains { output in
                    switch output {
                    case .persist(_, let changes): changes.contains(.discarded(number, session))
                    // Nothing has to be saved.
                    case .deliver(session, .outcome(number, .discarded)): true
                    default: false
                    }
                }
        }
    }

    /// The program has seen the end of a send.
    func see(_ number: TicketNumber) {
        core.withLock { core in
            if !core.isClosing { _ = core.decide(.seen(number), at: clock.now) }
        }
        carryOut()
    }

    func report(_ outcome: TicketOutcome, of number: TicketNumber, in session: SessionName) {
        let progress = SendProgress(outcome)
        let ticket = core.withLock { core in
            progress.isLast ? core.tickets.removeValue(forKey: number) : core.tickets[number]
        }
        let isSeen = ticket?.report(progress) ?? false
        guard case .failed(let failure) = progress, outcome.isSettlement else { return }
        if isSeen { return see(number) }
        core.withLock { core in
            let entry = core.machine.outbox.settlements[number]?.entry
            let refusal = RefusedSend(
                session: session, failure: failure, actions: entry?.actions, ticket: number)
            core.refusalReaders.removeAll { !$0.push(refusal) }
        }
    }

    /// The sends that are not done, in their order.
    func pendingSends() -> [PendingSend] {
        core.withLock { core in
            let lanes = core.machine.outbox.lanes
            let sent = Set(lanes.values.flatMap { $0.sent?.entries ?? [] }.map(\.ticket))
            let entries = lanes.values.flatMap(\.entries).sorted { $0.ticket < $1.ticket }
            return entries.map { entry in
                let ticket =
                    core.tickets[entry.ticket] ?? Ticket(entry.ticket, entry.session, self)
                if !core.isClosing { core.tickets[entry.ticket] = ticket }
                return PendingSend(
                    session: entry.session.text, actions: Self.texts(of: entry.actions),
                    isSent: sent.contains(entry.ticket), ticket: ticket)
            }
        }
    }

    static func texts(of actions: [[UInt8]]) -> [String] {
        actions.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The refusals that the program has not seen, and all later ones that no sender sees.
    func refusals() -> ReactorStream<RefusedSend> {
        // Room for all that an outbox can have, and for later ones.
        let (stream, feed) = ReactorStream<RefusedSend>.make(buffer: limits.actionsInOutbox + 256)
        core.withLock { core in
            let settlements = core.machine.outbox.settlements.values
            for settlement in settlements.sorted(by: { $0.ticket < $1.ticket }) {
                _ = feed.push(RefusedSend(settlement))
            }
            if core.isClosing { feed.finish() } else { core.refusalReaders.append(feed) }
        }
        return stream
    }
}

extension RefusedSend {
    init(_ settlement: Settlement) {
        self.init(
            session: settlement.session, failure: SendFailure(settlement.outcome),
            actions: settlement.entry?.actions, ticket: settlement.ticket)
    }

    init(
        session: SessionName, failure: SendFailure, actions: [[UInt8]]?, ticket: TicketNumber
    ) {
        self.init(
            session: session.text, failure: failure,
            actions: ClientDriver.texts(of: actions ?? []), ticket: ticket.number)
    }
}

extension SendFailure {
    init(_ outcome: Settlement.Outcome) {
        switch outcome {
        case .refused(let problem): self = .refused(ProblemDetails(problem))
        case .inDoubt: self = .inDoubt
        }
    }

    init(_ refusal: SendRefusal, _ limits: ClientLimits) {
        switch refusal {
        case .outboxFull: self = .outboxFull(limit: limits.actionsInOutbox)
        case .outboxUnavailable(let reason): self = .outboxUnavailable(reason)
        case .ended: self = .ended(.deleted)
        case .unusable(let problem): self = .refused(ProblemDetails(problem))
        case .empty: self = .empty
        case .unknown: self = .dismissed
        }
    }
}

extension TicketOutcome {
    /// Whether the outbox keeps it until the program has seen it.
    fileprivate var isSettlement: Bool {
        switch self {
        case .refused, .inDoubt: true
        case .queued, .sent, .applied, .discarded, .outboxUnavailable, .stored: false
        }
    }
}
