internal import Feeds
internal import Sessions
internal import Sockets

/// An event stream on its way to another loop, with its connection.
struct MigratingStream: Sendable {
    let opening: ReplicaOpening
    let stream: EventStream.Traits
    let identity: RequestIdentity
    let peerIsFinished: Bool
    let lastProgress: LoopInstant
}

/// Moves the connection of an event stream from the loop of its session to one that shares the
/// session's readers (ADR-0077). The client sees nothing of it.
enum StreamMigration {
    /// Moves the connection, between two events, if it has no unsent bytes.
    ///
    /// Invariant: the stream's subscriber leaves its session afterwards; it gets nothing more here.
    static func begin(
        _ connection: HTTPConnection, _ opening: ReplicaOpening, to target: Int
    ) -> ReaderMove {
        let loop = connection.loop
        // Connections of the operations address stay apart from the others.
        guard let stream = connection.stream, !connection.hasUnsent, connection.listener == .main,
            !loop.service.isDraining
        else { return .refused }
        let migrating = MigratingStream(
            opening: opening, stream: stream.traits, identity: connection.identity,
            peerIsFinished: connection.peerIsFinished, lastProgress: connection.lastProgress)
        return connection.move(to: target) { finish(migrating, as: $0) }
    }

    /// Continues the stream on the loop that it was moved to.
    static func finish(_ migrating: MigratingStream, as connection: HTTPConnection) {
        let loop = connection.loop
        let id = connection.id
        connection.identity = migrating.identity
        connection.peerIsFinished = migrating.peerIsFinished
        connection.lastProgress = migrating.lastProgress
        let feeds = loop.sessions.feeds
        let subscriber = feeds.replicas.adopt(migrating.opening, as: id.token, in: feeds)
        connection.state = .streaming(EventStream(subscriber, migrating.stream, on: connection))
        connection.rearm()
        if loop.service.isDraining { connection.beginDraining() }
    }
}
