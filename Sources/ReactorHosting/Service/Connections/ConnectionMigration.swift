internal import Sockets
internal import Wire

/// A connection on its way to the loop that owns the session of its request.
struct MigratingConnection: Sendable {
    var context: RequestContext
    var span: (any RequestSpan)?
    var reader: RequestReader
    var request: Request
    /// Bytes that were received after the request.
    var rest: ArraySlice<UInt8>
    var peerIsFinished: Bool
    var peer: PeerAddress
    var listener: ListenerRole
}

/// Moves a connection to the loop that owns the session of its request, to be served there.
enum ConnectionMigration {
    /// Moves the connection, its last request and later bytes once the earlier responses are sent.
    static func begin(
        _ connection: HTTPConnection, with request: inout Request, to owner: Int, rest: RawSpan
    ) {
        var bytes: [UInt8] = []
        bytes.append(copying: rest)
        let turn = connection.id
        begin(connection, with: &request, to: owner, rest: bytes[...])
        // It has moved, unless earlier responses are unsent.
        if connection.id == turn, !bytes.isEmpty { connection.keepPending(bytes[...]) }
    }

    /// The same for a request that waited on this loop.
    ///
    /// - Parameter rest: A copy of the bytes that wait already, if there are any.
    static func begin(
        _ connection: HTTPConnection, with request: inout Request, to owner: Int,
        rest: ArraySlice<UInt8>
    ) {
        guard connection.hasUnsent else {
            return move(connection, with: request, to: owner, rest: rest)
        }
        let isKept = connection.makeBuffers().keep(
            &request, forMigrationTo: owner, charging: connection.loop.service.bodies,
            for: connection.client(of: request))
        if !isKept {
            let refused = request
            connection.respondLater { () throws(Problem) in
                RequestDispatcher.refusal(.tooManyBodies, of: refused)
            }
        }
    }

    /// Moves a connection that waited for its responses to be sent.
    static func resume(_ connection: HTTPConnection) {
        guard let buffers = connection.buffers,
            let (request, owner) = buffers.removeMigrating(connection.loop)
        else { return }
        move(connection, with: request, to: owner, rest: buffers.pending)
    }

    /// Moves the connection, or closes it without a descriptor or memory: nothing was carried out.
    private static func move(
        _ connection: HTTPConnection, with request: Request, to owner: Int,
        rest: ArraySlice<UInt8>
    ) {
        guard case .waiting(let context, let options) = connection.state else { return }
        let loop = connection.loop
        let migrating = MigratingConnection(
            context: context, span: options?.takeSpan(), reader: connection.reader,
            request: request, rest: rest,
            peerIsFinished: connection.peerIsFinished, peer: connection.identity.peer,
            listener: connection.listener)
        guard let socket = loop.table.detach(connection.id) else {
            migrating.span?.end(status: nil, problem: nil)
            return connection.close(.lingering)
        }
        loop.service.drain.departed()
        connection.release()
        if !loop.peers.adopt(socket, on: owner, migrating) {
            migrating.span?.end(status: nil, problem: nil)
            loop.service.gate(of: migrating.listener).ended(migrating.peer)
            loop.service.drain.wasLost()
        }
    }

    /// Continues a connection that has arrived on the loop of its session.
    static func finish(_ migrating: MigratingConnection, as connection: HTTPConnection) {
        connection.loop.service.drain.arrived(connection.loop.index)
        connection.reader = migrating.reader
        // They may have changed meanwhile, and so may the index of the origin.
        connection.reader.limits = connection.loop.settings.requestLimits
        var context = migrating.context
        context.origin = connection.loop.settings.origins.index(of: migrating.request.head)
        connection.state = .waiting(context, nil)
        connection.peerIsFinished = migrating.peerIsFinished
        connection.identity.record(
            migrating.request.head, withLine: connection.loop.settings.hasAccessLog,
            behind: connection.loop.service.clientAddress)
        connection.identity.access = migrating.request.access
        if let span = migrating.span {
            connection.identity.recordTrace(span.traceparent)
            connection.setOptions { $0.trace(span) }
        }
        if !migrating.rest.isEmpty { connection.keepPending(migrating.rest) }
        var request = migrating.request
        guard case .session(let endpoint)? = request.route?.endpoint,
            let session = request.sessionID
        else { return connection.close(.lingering) }
        connection.respondLater { () throws(Problem) in
            try RequestDispatcher.serve(&request, endpoint, for: session, on: connection)
            return nil
        }
    }
}
