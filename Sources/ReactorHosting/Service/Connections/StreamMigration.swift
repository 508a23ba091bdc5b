internal import Feeds
internal import Sessions
internal import Sockets

/// An event stream on its way to another loop, with its connection.
struct MigratingStream: Sendable {
    /// The stream's part on that loop.
    enum Reader: Sendable {
        /// One of many readers, which continues with the next event.
        case branch(BranchOpening)
        /// Back to the loop of the session, where it continues after its position.
        case returning(ReturningReader)
    }

    let reader: Reader
    let stream: EventStream.Traits
    let identity: RequestIdentity
    let peerIsFinished: Bool
    let lastProgress: LoopInstant
}

/// Moves the connection of an event stream between the loop of its session and one that shares the
/// session's readers (ADR-0059). The client sees nothing of it.
enum StreamMigration {
    /// Moves the connection, between two events, if it has no unsent bytes.
    ///
    /// Invariant: the stream's subscriber leaves its session afterwards; it gets nothing more here.
    static func begin(
        _ connection: HTTPConnection, _ reader: MigratingStream.Reader, to target: Int
    ) -> ReaderMove {
        let loop = connection.loop
        // Connections of the operations address stay apart from the others.
        guard let stream = connection.stream, !connection.hasUnsent, connection.listener == .main,
            !loop.service.isDraining
        else { return .refused }
        let migrating = MigratingStream(
            reader: reader, stream: stream.traits, identity: connection.identity,
            peerIsFinished: connection.peerIsFinished, lastProgress: connection.lastProgress)
        guard let socket = loop.table.detach(connection.id) else { return .refused }
        loop.service.drain.departed()
        connection.release()
        guard !loop.peers.adopt(socket, on: target, migrating) else { return .moved }
        loop.service.gate(of: migrating.identity.listener).ended(migrating.identity.peer)
        loop.service.drain.wasLost()
        return .lost
    }

    /// Continues the stream on the loop that it was moved to.
    static func finish(_ migrating: MigratingStream, as connection: HTTPConnection) {
        let loop = connection.loop
        let id = connection.id
        loop.service.drain.arrived(loop.index)
        connection.identity = migrating.identity
        connection.peerIsFinished = migrating.peerIsFinished
        let stream = EventStream(migrating.stream, since: migrating.lastProgress, on: connection)
        connection.state = .streaming(stream)
        switch migrating.reader {
        case .branch(let opening):
            stream.proceed(
                with: loop.sessions.feeds.branches.adopt(
                    opening, as: id.token, in: loop.sessions.feeds))
        case .returning(let reader):
            let feeds = loop.sessions.feeds
            feeds.branches.continueStream(reader, as: id.token, in: feeds) { subscriber in
                guard let subscriber else { return stream.finish() }
                stream.proceed(with: subscriber)
            }
        }
        guard connection.id == id, case .streaming = connection.state else { return }
        connection.rearm()
        if loop.service.isDraining { connection.beginDraining() }
    }
}
