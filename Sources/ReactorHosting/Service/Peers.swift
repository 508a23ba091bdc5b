internal import Sockets
internal import Synchronization

/// The loops of one server, for each other.
///
/// They are made one after the other and know each other only when all exist; nothing is served
/// before that.
final class Peers: Sendable {
    let count: Int
    private let loops = Mutex<[EventLoop<Shard>]>([])

    init(count: Int) {
        self.count = count
    }

    /// Once, before the first connection.
    func introduce(_ all: [EventLoop<Shard>]) {
        loops.withLock { $0 = all }
    }

    /// - Returns: false when that loop has stopped; the job will not run.
    @discardableResult
    func enqueue(on index: Int, _ job: @escaping @Sendable (Shard) -> Void) -> Bool {
        loop(index).enqueue(job)
    }

    /// - Parameter drain: which counts the connection as on its way.
    func adopt(
        _ socket: consuming DetachedSocket, on index: Int, _ luggage: Luggage, _ drain: Drain
    ) {
        let isAdopted = loop(index).adopt(socket) { shard, connection in
            shard.arrive(connection, luggage)
        }
        if !isAdopted { drain.wasLost() }
    }

    private func loop(_ index: Int) -> EventLoop<Shard> {
        loops.withLock { $0[index] }
    }
}
