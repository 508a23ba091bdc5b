internal import Feeds
internal import Sessions
internal import Storage
internal import Wire

/// `GET /v1/events?session=a&session=b`: several sessions on one stream (ADR-0037).
enum StreamSessions: ServiceEndpoint {
    static func wantsStream(_ request: Request) -> Bool { true }

    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let loop = connection.loop
        let query = try JointQuery(request, limit: loop.configuration.streamSessions)
        if let access = request.access { try check(query, access.grants) }
        if query.vector?.isOver ?? false { return .noContent() }
        try request.requireAccepted(.eventStream)
        guard request.head.method != .head else { return .streamHead }
        guard !loop.service.isDraining else { return .endedStream(.draining) }
        // Each of them may have to encode its state.
        loop.schedule.count(query.sessions.count * WorkSchedule.pipelinedBytes)
        let joint = JointConnection(
            connection,
            query.request(
                for: request.access, loop.service.workClient(of: connection.identity)),
            isChunked: request.head.minorVersion > 0)
        connection.setOptions {
            $0.wantsStream = true
            $0.joint = joint
            $0.heartbeatIsEvent = query.heartbeatIsEvent
            guard let access = request.access else { return }
            $0.accessEnd = access.end(on: loop)
        }
        joint.open()
        return nil
    }

    /// A client that may see some pulses only gets nothing else: a state would contain the others.
    private static func check(_ query: JointQuery, _ grants: Grants) throws(Problem) {
        guard grants.pulses != nil else { return }
        guard !query.kinds.states, !query.kinds.activities else { throw .forbidden }
        for pulse in query.pulses where !grants.permits(pulse: pulse) { throw .forbidden }
    }
}

extension JointQuery {
    fileprivate func request(for access: Access?, _ client: WorkClient?) -> JointStream.Request {
        var forbidden: Set<SessionID> = []
        if let grants = access?.grants, !grants.ownSessions {
            forbidden = Set(sessions.filter { !grants.permits(session: $0.text) })
        }
        let chooser = JointChooser(
            kinds: kinds, asPatches: form == .patches, pulses: pulses, access: access,
            presence: presence)
        return JointStream.Request(
            sessions: sessions, vector: vector, start: start, idsAreOwn: idsAreOwn,
            pulses: pulses, forbidden: forbidden, client: client,
            choose: { chooser.choose($0, $1) })
    }
}

/// Chooses what a stream of several sessions, or a reader of the program, shows of a session, on
/// that session's loop.
struct JointChooser: Sendable {
    let kinds: EventKinds
    var asPatches = false
    /// The pulses that the request names; empty for all pulses.
    let pulses: [String]
    let access: Access?
    var presence: ReaderPresence?

    func choose(_ id: SessionID, _ found: SessionLookup) -> RelayChoice {
        let target = SessionTarget(id: id, found: found, access: access)
        guard !target.isHidden else { return .end(.unknown) }
        switch found {
        case .session(let session): return events(of: session)
        case .copy(let copy): return events(of: copy)
        case .ended: return .end(.deleted)
        case .nothing, .notInMemory: return .end(.unknown)
        case .quarantined, .unreadable, .noRoom, .overBudget, .elsewhere, .noNode:
            return .problem(RelayProblem(target.problem))
        }
    }

    private func events(of session: any ReadableSession) -> RelayChoice {
        let chosen = session.registration.pulses(named: pulses, for: access?.grants)
        var selection = Selection(
            pulses: kinds.pulses ? chosen.bits : 0, wantsPulses: kinds.pulses,
            activities: kinds.activities, states: kinds.states ? .whole : .none)
        selection.asPatches = asPatches
        return .events(
            session, selection, knownPulses: chosen.known,
            presence: presence(in: session.registration))
    }

    /// A reactor with its own event `presence` sends only that one.
    private func presence(in reactor: Registration) -> ReaderPresence? {
        guard let presence, reactor.events.hasOwnPresence else { return presence }
        return presence.name.map { ReaderPresence(name: $0, getsEvents: false) }
    }
}

extension RelayProblem {
    init(_ problem: Problem) {
        // The document ends with a line break.
        self.init(code: problem.code, body: Array(problem.body.dropLast()))
    }

    init(for reply: Reply.Kind) {
        switch reply {
        case .tooManySelections(let limit): self.init(.tooManySelections(limit))
        case .tooManySubscribers(let limit): self.init(.tooManySubscribers(limit))
        case .failed(let failure): self.init(Problem(failure))
        case .unreadable(let failure): self.init(.unreadable(failure))
        case .overBudget: self.init(.tooMuchMemory)
        // No other reply follows a subscription.
        default: self.init(.draining)
        }
    }
}
