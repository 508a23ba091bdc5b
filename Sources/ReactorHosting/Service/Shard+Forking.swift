internal import JSONCoding
internal import Sessions
internal import Sockets
internal import Storage
internal import Wire

// Forks: a new session that begins with the state that another one had at a version.
extension Shard {
    func fork(
        _ origin: Origin, _ registration: Registration, _ connection: ConnectionID
    ) throws(Problem) {
        guard let source = SessionID(origin.session) else {
            throw Problem(
                422, "not_a_session", "from/session is no session id: 1 to 128 of A-Z a-z 0-9 _ -")
        }
        let home = index
        let peers = peers
        let name = registration.name
        peers.enqueue(on: source.owner(of: peers.count)) { shard in
            shard.export(source, origin.version, reactor: name) { exported in
                peers.enqueue(on: home) { $0.begin(exported, registration, connection) }
            }
        }
    }

    /// The state of a session of this loop, as `reduce` made it.
    private func export(
        _ id: SessionID, _ version: UInt64?, reactor: String,
        then act: @escaping @Sendable (Result<Snapshot, Problem>) -> Void
    ) {
        withSession(id) { session in
            switch session {
            case .failure(let problem): act(.failure(problem))
            case .success(let session):
                guard session.registration.name == reactor else {
                    return act(.failure(.otherReactor(id.text, session.registration.name)))
                }
                session.export(version) { act($0.mapError(Problem.init)) }
            }
        }
    }

    private func withSession(
        _ id: SessionID, _ act: @escaping (Result<Session, Problem>) -> Void
    ) {
        let found = sessions.find(id)
        guard case .notInMemory = found else {
            return act(Result { () throws(Problem) in try session(id, found) })
        }
        sessions.wake(id) { [unowned self] found in
            act(Result { () throws(Problem) in try session(id, found) })
        }
    }

    private func begin(
        _ exported: Result<Snapshot, Problem>, _ registration: Registration,
        _ connection: ConnectionID
    ) {
        guard isCurrent(connection) else { return }
        serveLate(connection) { () throws(Problem) in
            let snapshot = try exported.get()
            guard self.sessions.hasRoomForSession else { throw .noRoomForSession }
            let id = self.newID()
            var saved = SavedSession(
                key: SessionKey(session: id.text, generation: ""), reactor: registration.name)
            saved.snapshot = snapshot.asOrigin
            try self.create(id, registration, from: saved, connection)
        }
    }
}

extension Snapshot {
    /// The same state as the version 0 of another session.
    fileprivate var asOrigin: Snapshot {
        var origin = self
        origin.number = 0
        origin.version = 0
        origin.lastAction = 0
        return origin
    }
}

extension Problem {
    static func otherReactor(_ id: String, _ reactor: String) -> Problem {
        Problem(409, "other_reactor", "the session \(id) has the reactor \(reactor)")
    }

    init(_ fault: ExportFault) {
        switch fault {
        case .versionUnknown(let kept): self = .unknownVersion(kept)
        case .unreadable(let failure): self = .unreadable(failure)
        case .gone(let id): self = .endedSession(id.text)
        case .unencodable(let reason):
            self.init(500, "not_encodable", "the state can't be written as JSON: \(reason)")
        }
    }

    static func unknownVersion(_ kept: ClosedRange<UInt64>) -> Problem {
        Problem(
            404, "unknown_version",
            "version is not among those kept, \(kept.lowerBound) to \(kept.upperBound)")
    }
}
