internal import Sockets
internal import Wire

/// A connection on its way to the loop that owns the session of its request.
struct MigratingConnection: Sendable {
    var context: RequestContext
    var reader: RequestReader
    var request: Request
    /// Bytes that came behind the request.
    var rest: ArraySlice<UInt8>
    var peerIsFinished: Bool
}

// A connection lives on the loop of the session it talks to.
extension HTTPConnection {
    /// Moves the connection, with the request it has just sent and the bytes behind it, as soon as
    /// the responses before it are sent.
    func migrate(_ request: inout Request, to owner: Int, with rest: RawSpan) {
        var bytes: [UInt8] = []
        bytes.append(copying: rest)
        guard hasUnsent else { return move(request, to: owner, with: bytes[...]) }
        let isKept = makeBuffers().keep(
            &request, forMigrationTo: owner, charging: loop.service.bodies)
        if !isKept {
            let route = request.route
            respondLater { () throws(Problem) in
                if case .session(let endpoint)? = route?.endpoint {
                    try self.refuseForMemory(request, endpoint)
                }
                return nil
            }
        }
        if !bytes.isEmpty { keepPending(bytes[...]) }
    }

    /// All responses are sent: a connection that waited for that moves.
    func migrateIfKept() {
        guard let buffers, let (request, owner) = buffers.removeMigrating(loop) else { return }
        move(request, to: owner, with: buffers.pending)
    }

    /// Hands the connection over. One that cannot be handed over, for want of a descriptor or memory,
    /// is closed: nothing of the request has happened.
    private func move(_ request: Request, to owner: Int, with rest: ArraySlice<UInt8>) {
        guard case .waiting(let context, _) = state else { return }
        let migrating = MigratingConnection(
            context: context, reader: reader, request: request, rest: rest,
            peerIsFinished: peerIsFinished)
        guard let socket = loop.table.detach(id) else { return close(.lingering) }
        loop.service.drain.departed()
        release()
        if !loop.peers.adopt(socket, on: owner, migrating) { loop.service.drain.wasLost() }
    }

    /// The connection has arrived on the loop of its session.
    func adopt(_ migrating: MigratingConnection) {
        loop.service.drain.arrived(loop.index)
        reader = migrating.reader
        state = .waiting(migrating.context, nil)
        peerIsFinished = migrating.peerIsFinished
        if !migrating.rest.isEmpty { keepPending(migrating.rest) }
        var request = migrating.request
        guard case .session(let endpoint)? = request.route?.endpoint,
            let session = request.sessionID
        else { return close(.lingering) }
        respondLater { () throws(Problem) in
            try self.dispatch(&request, endpoint, session)
            return nil
        }
    }
}
