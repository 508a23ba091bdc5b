internal import Feeds
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
        if !connection.keep(&request, as: .migrating(to: owner)) {
            let refused = request
            connection.respondLater { () throws(Problem) in
                RequestDispatcher.refusal(.tooManyBodies, of: refused)
            }
        }
    }

    /// Moves a connection that waited for its responses to be sent.
    static func resume(_ connection: HTTPConnection) {
        guard let buffers = connection.buffers, let owner = buffers.destination,
            let request = buffers.remove(.migrating(to: owner), connection.loop)
        else { return }
        move(connection, with: request, to: owner, rest: buffers.pending)
    }

    /// Moves the connection, or closes it without a descriptor or memory: nothing was carried out.
    private static func move(
        _ connection: HTTPConnection, with request: Request, to owner: Int,
        rest: ArraySlice<UInt8>
    ) {
        guard case .waiting(let context, let options) = connection.state else { return }
        let migrating = MigratingConnection(
            context: context, span: options?.takeSpan(), reader: connection.reader,
            request: request, rest: rest, peerIsFinished: connection.peerIsFinished)
        let move = connection.move(to: owner) { finish(migrating, as: $0) }
        if move != .moved { migrating.span?.end(status: nil, problem: nil) }
        if move == .refused { connection.close(.lingering) }
    }

    /// Continues a connection that has arrived on the loop of its session.
    static func finish(_ migrating: MigratingConnection, as connection: HTTPConnection) {
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

extension HTTPConnection {
    /// Moves the socket to another loop, where another connection continues. This one is vacant
    /// afterwards, unless the move is refused for want of a descriptor.
    func move(
        to index: Int, then arrive: @escaping @Sendable (HTTPConnection) -> Void
    ) -> ReaderMove {
        guard let socket = loop.table.detach(id) else { return .refused }
        let (peer, listener) = (identity.peer, identity.listener)
        loop.service.drain.departed()
        release()
        let isAdopted = loop.peers.adopt(socket, on: index) { loop, id in
            loop.resources.service.drain.arrived(loop.resources.index)
            arrive(loop.occupy(id, peer: peer, from: listener))
        }
        guard !isAdopted else { return .moved }
        loop.service.gate(of: listener).ended(peer)
        loop.service.drain.wasLost()
        return .lost
    }
}
