internal import Feeds
internal import Sessions
internal import Storage

/// `GET /v1/sessions/{id}/runtime`: the session's activity at this moment. It wakes no session. Who
/// may not read the log gets no actions of timers.
enum ReadRuntime: SessionEndpoint {
    static let loadsSession = false

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let (id, session, access) = (connection.id, target.id, target.access)
        let reading = RebuildQueue.Request(
            client: connection.loop.service.workClient(of: connection.identity)
        ) { connection.id == id }
        connection.loop.sessions.inspect(session, for: reading) { inspection in
            guard connection.id == id else { return }
            connection.respondLater { () throws(Problem) in
                try respond(to: inspection, of: session, access, on: connection)
            }
        }
        return nil
    }

    private static func respond(
        to inspection: SessionTable.Inspection, of id: SessionID, _ access: Access?,
        on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        let hasActions = access?.grants.verbs.contains(.log) ?? true
        switch inspection {
        case .absent(let found):
            _ = try SessionTarget(id: id, found: found, access: access).session()
            throw .unknownSession(id.text, to: access)
        case .awake(let found, let head):
            let target = SessionTarget(id: id, found: .session(found), access: access)
            try target.session().readRuntime(
                head, hasActions: hasActions, for: connection.token)
            return nil
        case .asleep(let head, let runtime):
            let target = SessionTarget(id: id, found: .notInMemory, access: access)
            guard !target.isHidden(reactor: head.reactor, owner: head.owner) else {
                throw .unknownSession(id.text, to: access)
            }
            return .runtime(
                runtime.line(hasActions: hasActions), connection.loop.heads.durability)
        }
    }
}

extension Response {
    static func runtime(_ body: [UInt8], _ durability: (String, String)) -> Response {
        .json(200, body, fields: [isValidated, durability])
    }
}
