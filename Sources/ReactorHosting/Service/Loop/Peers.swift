internal import Sockets
internal import Synchronization

/// The loops of one server, so that each can reach the others.
///
/// Loops can reach each other once all exist; no request is served before that.
final class Peers: Sendable {
    /// Loops with sessions. That of the operations address, if there is one, has this index.
    let count: Int
    private let loops = Mutex<[EventLoop<ServerLoop>]>([])

    init(count: Int) {
        self.count = count
    }

    /// Sets the loops. Called once, before the first connection.
    func introduce(_ all: [EventLoop<ServerLoop>]) {
        loops.withLock { $0 = all }
    }

    /// - Returns: False if that loop has stopped; the job will not run.
    @discardableResult
    func enqueue(on index: Int, _ job: @escaping @Sendable (ServerLoop) -> Void) -> Bool {
        loop(index).enqueue(job)
    }

    /// Passes a connection to another loop; the connection is closed if that loop has stopped.
    /// Returns false if that loop has stopped.
    func adopt(
        _ socket: consuming DetachedSocket, on index: Int,
        then: @escaping @Sendable (ServerLoop, ConnectionID) -> Void
    ) -> Bool {
        loop(index).adopt(socket, then: then)
    }

    func waitingJobs(on index: Int) -> Int { loop(index).waitingJobs }

    private func loop(_ index: Int) -> EventLoop<ServerLoop> {
        loops.withLock { $0[index] }
    }
}
