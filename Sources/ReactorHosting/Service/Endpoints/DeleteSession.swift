internal import Sessions

/// `DELETE /v1/sessions/{id}`. Also deletes a session that cannot be rebuilt.
enum DeleteSession: SessionEndpoint {
    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        switch target.found {
        case .quarantined, .unreadable: deleteUnread(target.id, on: connection)
        case .session, .ended, .nothing, .noRoom, .notInMemory:
            try target.session().end(for: connection.id.token)
        }
        return nil
    }

    private static func deleteUnread(_ session: SessionID, on connection: HTTPConnection) {
        let id = connection.id
        connection.loop.sessions.delete(session) { deletion in
            guard connection.id == id else { return }
            connection.respondLater { () throws(Problem) in
                switch deletion {
                case .deleted: return .noContent(fields: [connection.loop.heads.durability])
                case .overtaken(let found):
                    try SessionTarget(id: session, found: found).session().end(for: id.token)
                    return nil
                case .unreadable(let failure): throw .unreadable(failure)
                case .failed(let failure): throw Problem(failure)
                }
            }
        }
    }
}
