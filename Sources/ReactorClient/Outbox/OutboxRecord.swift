internal import ClientMachine

struct OutboxRecord: Codable, Equatable, Sendable {
    enum Kind: String, Codable, Sendable {
        /// The first record of the file: its form, and the account that it belongs to.
        case head
        /// A confirmed state; without a position it is forgotten.
        case state
        case queued, sent, withdrawn, done, refused, inDoubt, seen, discarded, next
    }

    var kind: Kind
    var form: Int?
    var account: String?
    var session: SessionName?
    var ticket: UInt64?
    var key: RequestKey?
    /// As text, like actions and states: a request that is sent again has the same bytes.
    var body: String?
    var count: Int?
    var date: Int64?
    var expects: StreamPosition?
    var settledMilliseconds: Int?
    var makes: String?
    var input: String?
    var actions: [String]?
    var problem: MachineProblem?
    var position: StreamPosition?
    var state: String?
}

extension OutboxRecord {
    init(_ change: OutboxChange) {
        switch change {
        case .queued(let entry): self.init(.queued, entry)
        case .sent(let session, let key, let body, let count, let date):
            self.init(
                kind: .sent, session: session, key: key,
                body: String(decoding: body, as: UTF8.self),
                count: count, date: date)
        case .withdrawn(let session, let key):
            self.init(kind: .withdrawn, session: session, key: key)
        case .done(let session, let key): self.init(kind: .done, session: session, key: key)
        case .settled(let settlement): self.init(settlement)
        case .seen(let ticket): self.init(kind: .seen, ticket: ticket.number)
        case .discarded(let ticket, let session):
            self.init(kind: .discarded, session: session, ticket: ticket.number)
        case .next(let ticket): self.init(kind: .next, ticket: ticket.number)
        }
    }

    init(_ state: SavedState?, of session: SessionName) {
        self.init(
            kind: .state, session: session, position: state?.position,
            state: state?.state.map { String(decoding: $0, as: UTF8.self) })
    }

    private init(_ kind: Kind, _ entry: OutboxEntry) {
        self.init(
            kind: kind, session: entry.session, ticket: entry.ticket.number,
            expects: entry.options.expects,
            settledMilliseconds: entry.options.settledMilliseconds, makes: entry.makes?.reactor,
            input: entry.makes?.input.map { String(decoding: $0, as: UTF8.self) },
            actions: entry.actions.map { String(decoding: $0, as: UTF8.self) })
    }

    private init(_ settlement: Settlement) {
        let kind: Kind =
            switch settlement.outcome {
            case .refused: .refused
            case .inDoubt: .inDoubt
            }
        if let entry = settlement.entry {
            self.init(kind, entry)
        } else {
            self.init(kind: kind, session: settlement.session, ticket: settlement.ticket.number)
        }
        if case .refused(let problem) = settlement.outcome { self.problem = problem }
    }

    /// The change; nil if it is none, or lacks a member.
    var change: OutboxChange? {
        switch kind {
        case .head, .state: nil
        case .queued: entry.map(OutboxChange.queued)
        case .sent: sent
        case .withdrawn: request.map { OutboxChange.withdrawn($0, $1) }
        case .done: request.map { OutboxChange.done($0, $1) }
        case .refused: problem.flatMap { settled(.refused($0)) }
        case .inDoubt: settled(.inDoubt)
        case .seen: number.map(OutboxChange.seen)
        case .discarded: send.map { OutboxChange.discarded($1, $0) }
        case .next: number.map(OutboxChange.next)
        }
    }

    /// The state, or nil if it is forgotten, and its session; nil if it is no such record.
    var saved: (session: SessionName, state: SavedState?)? {
        guard kind == .state, let session else { return nil }
        let bytes = state.map { Array($0.utf8) }
        return (session, position.map { SavedState(position: $0, state: bytes) })
    }

    private var number: TicketNumber? { ticket.map { TicketNumber($0) } }

    private var send: (SessionName, TicketNumber)? {
        guard let session, let number else { return nil }
        return (session, number)
    }

    private var request: (SessionName, RequestKey)? {
        guard let session, let key else { return nil }
        return (session, key)
    }

    private var entry: OutboxEntry? {
        guard let (session, ticket) = send, let actions, !actions.isEmpty else { return nil }
        return OutboxEntry(
            ticket: ticket, session: session, actions: actions.map { Array($0.utf8) },
            options: SendOptions(expects: expects, settledMilliseconds: settledMilliseconds),
            makes: makes.map { SessionMaking($0, input: input.map { Array($0.utf8) }) })
    }

    private var sent: OutboxChange? {
        guard let (session, key) = request, let body, let count, let date else { return nil }
        return .sent(session, key, body: Array(body.utf8), count: count, date: date)
    }

    private func settled(_ outcome: Settlement.Outcome) -> OutboxChange? {
        guard let (session, ticket) = send else { return nil }
        return .settled(
            Settlement(ticket: ticket, session: session, outcome: outcome, entry: entry))
    }
}
