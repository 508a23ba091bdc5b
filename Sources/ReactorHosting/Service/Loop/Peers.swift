internal import Sockets
internal import Synchronization

/// The loops of one server, so that each can reach the others.
///
/// The loops are created one after the other, and reach each other when all exist; no request is
/// served before.
final class Peers: Sendable {
    let count: Int
    private let loops = Mutex<[EventLoop<ServerLoop>]>([])

    init(count: Int) {
        self.count = count
    }

    /// Once, before the first connection.
    func introduce(_ all: [EventLoop<ServerLoop>]) {
        loops.withLock { $0 = all }
    }

    /// - Returns: false when that loop has stopped; the job will not run.
    @discardableResult
    func enqueue(on index: Int, _ job: @escaping @Sendable (ServerLoop) -> Void) -> Bool {
        loop(index).enqueue(job)
    }

    /// Hands a connection to another loop; it is closed when that loop has stopped.
    ///
    /// - Returns: false when that loop has stopped.
    func adopt(
        _ socket: consuming DetachedSocket, on index: Int, _ migrating: MigratingConnection
    ) -> Bool {
        loop(index).adopt(socket) { loop, id in
            ConnectionMigration.finish(migrating, as: loop.occupy(id))
        }
    }

    private func loop(_ index: Int) -> EventLoop<ServerLoop> {
        loops.withLock { $0[index] }
    }
}
