internal import Feeds
internal import Sessions
internal import Sockets
internal import Storage

/// `POST /v1/sessions`: a new session, from its reactor's initial state or, as a fork, from the
/// state that another session had at a version.
enum CreateSession: ServiceEndpoint {
    static func respond(
        to request: Request, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let loop = connection.loop
        let wanted = try request.sessionToCreate()
        let origin = wanted.from?.value
        guard let registration = loop.service.registration(named: wanted.reactor) else {
            throw loop.sessions.isHostedElsewhere(wanted.reactor)
                ? .hostedElsewhere(wanted.reactor, mayBeNamed: true)
                : .unknownReactor(wanted.reactor)
        }
        // A fork shows the whole state of its origin.
        if origin != nil, let grants = request.access?.grants,
            !grants.verbs.contains(.read) || grants.pulses != nil
        {
            throw .forbidden
        }
        guard loop.sessions.hasRoomForSession else { throw .noRoomForSession }
        if let origin {
            guard wanted.input == nil else { throw .inputOfFork }
            let client = loop.service.workClient(of: connection.identity)
            try fork(origin, registration, by: request.access, client, on: connection)
        } else {
            let input = try registration.accepted(wanted)
            try loop.create(
                loop.newSessionID(), registration, input: input, by: request.access,
                on: connection)
        }
        return nil
    }

    private static func fork(
        _ origin: Origin, _ registration: Registration, by access: Access?,
        _ client: WorkClient?, on connection: HTTPConnection
    ) throws(Problem) {
        guard let source = SessionID(origin.session) else {
            throw Problem(
                422, "not_a_session",
                "from/session is not a session id: 1 to 128 characters of A-Z a-z 0-9 _ -")
        }
        let (id, home, peers) = (connection.id, connection.loop.index, connection.loop.peers)
        let name = registration.name
        let wait = RequestOptions.Wait()
        connection.setOptions { $0.wait = wait }
        let isWanted: @Sendable () -> Bool = { [weak wait] in wait != nil }
        peers.enqueue(on: source.owner(of: peers.count)) { other in
            other.sessions.export(
                source, origin.version, reactor: name, by: access, for: client, while: isWanted
            ) { exported in
                peers.enqueue(on: home) { loop in
                    guard let connection = loop.connection(id) else { return }
                    connection.respondLater { () throws(Problem) in
                        try loop.resources.create(
                            registration, from: exported, by: access, on: connection)
                        return nil
                    }
                }
            }
        }
    }
}

extension SessionTable {
    /// The state of a session of this loop, as returned by `reduce`.
    fileprivate func export(
        _ id: SessionID, _ version: UInt64?, reactor: String, by access: Access?,
        for client: WorkClient?, while isWanted: @escaping () -> Bool,
        then act: @escaping @Sendable (Result<SessionExport, Problem>) -> Void
    ) {
        let export = { (found: SessionLookup) in
            do throws(Problem) {
                let session = try SessionTarget(id: id, found: found, access: access).readable()
                guard session.registration.name == reactor else {
                    throw .otherReactor(id.text, session.registration.name)
                }
                session.export(version, for: client, while: isWanted) {
                    act($0.mapError(Problem.init))
                }
            } catch {
                act(.failure(error))
            }
        }
        // Copying a session does not wake it.
        guard !sharesJournal else {
            return read(id, .confirmed, for: client, while: isWanted) { found, _ in
                export(found)
            }
        }
        let found = find(id)
        guard case .notInMemory = found else { return export(found) }
        wake(id, while: isWanted, then: export)
    }
}

extension LoopResources {
    /// Called with a session that was created, before the commit. It replies to the request.
    typealias AfterCreation = @Sendable (Session, HTTPConnection) throws(Problem) -> Void

    /// Creates a session, which then replies. If other nodes can create sessions of the same
    /// client, the journal counts those first.
    ///
    /// - Parameters:
    ///   - input: The input. The registration has checked it, or it is that of a fork's origin.
    ///   - saved: Nil to start with the reactor's initial state.
    ///   - act: See ``AfterCreation``. Nil: the session replies to its creation.
    func create(
        _ id: SessionID, _ registration: Registration, input: [UInt8]?,
        from saved: SavedSession? = nil, by access: Access?, on connection: HTTPConnection,
        charge: WorkCharge? = nil, then act: AfterCreation? = nil
    ) throws(Problem) {
        guard let owner = access?.subject?.text, let owners = service.owners, owners.isShared
        else {
            return try create(
                id, registration, input, from: saved, by: access, besides: 0, connection, charge,
                act)
        }
        let (peers, index, connection) = (peers, index, connection.id)
        service.journal.countSessions(of: owner, upTo: owners.limit) { count in
            peers.enqueue(on: index) { loop in
                guard let connection = loop.connection(connection) else { return }
                connection.respondLater { () throws(Problem) in
                    let resources = loop.resources
                    guard case .notInMemory = resources.sessions.find(id) else {
                        throw .createdMeanwhile(id.text)
                    }
                    guard resources.sessions.hasRoomForSession else { throw .noRoomForSession }
                    try resources.create(
                        id, registration, input, from: saved, by: access,
                        besides: count.mapError(Problem.unreadable).get(), connection, charge,
                        act)
                    return nil
                }
            }
        }
    }

    /// - Parameter committed: See ``SessionOwners/admit(_:besides:)``.
    private func create(
        _ id: SessionID, _ registration: Registration, _ input: [UInt8]?,
        from saved: SavedSession?, by access: Access?, besides committed: Int,
        _ connection: HTTPConnection, _ charge: WorkCharge?, _ act: AfterCreation?
    ) throws(Problem) {
        let owner = access?.subject
        if let owner, let owners = service.owners {
            switch owners.admit(owner, besides: committed) {
            case .admitted: break
            case .refused: throw .tooManySessions(of: owner, limit: owners.limit)
            case .unclear: throw .createsOthers
            }
        }
        do {
            try sessions.create(
                id, registration, for: act == nil ? connection.token : ReaderToken.nobody,
                with: SessionCreation(owner: owner, input: input), from: saved, charge: charge)
        } catch {
            if let owner { service.owners?.remove(owner) }
            throw .quarantined(id.text, error)
        }
        if let act, case .session(let session) = sessions.find(id) { try act(session, connection) }
    }

    fileprivate func create(
        _ registration: Registration, from exported: Result<SessionExport, Problem>,
        by access: Access?, on connection: HTTPConnection
    ) throws(Problem) {
        let export = try exported.get()
        guard sessions.hasRoomForSession else { throw .noRoomForSession }
        let id = newSessionID()
        var saved = SavedSession(
            key: SessionKey(session: id.text, generation: ""), reactor: registration.name)
        saved.snapshot = export.snapshot.asOrigin
        try create(
            id, registration, input: export.input, from: saved, by: access, on: connection,
            charge: export.charge)
    }
}

extension Snapshot {
    /// The same state as version 0 of another session.
    fileprivate var asOrigin: Snapshot {
        var origin = self
        origin.number = 0
        origin.version = 0
        origin.lastAction = 0
        return origin
    }
}

extension Problem {
    /// A refusal is final for a client, so it must not be a guess.
    fileprivate static let createsOthers = Problem(
        temporary: 503, "too_busy",
        "nothing was applied: with the sessions that it is creating now, the client may reach "
            + "--subject-session-limit")

    fileprivate static let inputOfFork: Problem = {
        var problem = Problem(
            422, "not_an_input", "a fork has the input of its origin; send either input or from")
        problem.pointer = "/input"
        return problem
    }()

    fileprivate static func createdMeanwhile(_ id: String) -> Problem {
        Problem(
            temporary: 503, "too_busy",
            "nothing was applied: another request is creating the session \(id)")
    }
}
