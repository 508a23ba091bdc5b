internal import Sockets
internal import Synchronization

/// A query to all loops: each loop returns a part, and the last part completes the response.
///
/// Why a lock: loops add their parts on their own threads, in any order.
final class LoopQuery<Part: Sendable>: Sendable {
    private let count: Int
    private let parts = Mutex<[Part]>([])

    private init(count: Int) {
        self.count = count
    }

    /// Queries all loops, and responds on the connection's own loop when all parts are there.
    ///
    /// - Parameters:
    ///   - left: Loops that are not asked.
    ///   - part: Called once on each other loop.
    ///   - respond: Called on the connection's loop with all parts, in any order.
    static func ask(
        for connection: HTTPConnection, without left: Set<Int> = [],
        _ part: @escaping @Sendable (LoopResources) -> Part,
        then respond: @escaping @Sendable ([Part], LoopResources) -> Response
    ) {
        let (id, home, peers) = (connection.id, connection.loop.index, connection.loop.peers)
        let asked = (0..<peers.count).filter { $0 != home && !left.contains($0) }
        let query = LoopQuery(count: asked.count + 1)
        for index in asked {
            peers.enqueue(on: index) { other in
                guard let parts = query.add(part(other.resources)) else { return }
                peers.enqueue(on: home) { loop in
                    loop.connection(id)?.respond(respond(parts, loop.resources))
                }
            }
        }
        guard let parts = query.add(part(connection.loop)) else { return }
        connection.respond(respond(parts, connection.loop))
    }

    /// Adds a part; returns all parts if this is the last one.
    private func add(_ part: Part) -> [Part]? {
        parts.withLock { parts in
            parts.append(part)
            return parts.count == count ? parts : nil
        }
    }
}
