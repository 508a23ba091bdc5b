internal import Feeds
internal import Sessions

/// `DELETE /v1/sessions/{id}`. Also deletes a session that cannot be rebuilt.
enum DeleteSession: SessionEndpoint {
    static let isForwarded = true

    static func respond(
        to request: Request, for target: SessionTarget, on connection: HTTPConnection
    ) throws(Problem) -> Response? {
        guard !target.isHidden else { throw target.hidden }
        switch target.found {
        // It cannot be read whose it is.
        case .unreadable(let failure) where target.needsOwner: throw .unreadable(failure)
        case .quarantined, .unreadable, .noNode: deleteUnread(target, on: connection)
        case .session, .copy, .ended, .nothing, .noRoom, .overBudget, .notInMemory, .elsewhere:
            try target.session().end(for: connection.token)
        }
        return nil
    }

    private static func deleteUnread(_ target: SessionTarget, on connection: HTTPConnection) {
        let (id, session, access) = (connection.id, target.id, target.access)
        connection.loop.sessions.delete(session) { deletion in
            guard connection.id == id else { return }
            connection.respondLater { () throws(Problem) in
                switch deletion {
                case .deleted: return .noContent(fields: [connection.loop.heads.durability])
                case .overtaken(let found):
                    try SessionTarget(id: session, found: found, access: access).session().end(
                        for: connection.token)
                    return nil
                case .unreadable(let failure): throw .unreadable(failure)
                case .failed(let failure): throw Problem(failure)
                }
            }
        }
    }
}
