internal import Sockets
internal import Synchronization

/// A query to all loops: each loop returns a part, and the last part completes the response.
///
/// Why a lock: loops add their parts on their own threads, in any order.
final class LoopQuery<Part: Sendable>: Sendable {
    private struct State {
        var parts: [Part] = []
        /// The number of loops whose part is missing; 0 once the query is complete.
        var missing: Int
    }

    private let state: Mutex<State>

    private init(count: Int) {
        state = Mutex(State(missing: count))
    }

    /// Queries all session loops and the connection's own loop, and responds there when all parts
    /// are there. A loop that has stopped has no part.
    ///
    /// - Parameters:
    ///   - limit: The time after which it responds without the parts that are missing.
    ///   - late: The response then. Default: that of the parts that are there.
    ///   - part: Called once on each other loop.
    ///   - respond: Called on the connection's loop with the parts, in any order.
    static func ask(
        for connection: HTTPConnection, without left: Set<Int> = [], within limit: Duration,
        late: (@Sendable (LoopResources) -> Response)? = nil,
        _ part: @escaping @Sendable (LoopResources) -> Part,
        then respond: @escaping @Sendable ([Part], LoopResources) -> Response
    ) {
        let (id, home, peers) = (connection.id, connection.loop.index, connection.loop.peers)
        let asked = (0..<peers.count).filter { $0 != home && !left.contains($0) }
        let query = LoopQuery(count: asked.count + 1)
        for index in asked {
            let isAsked = peers.enqueue(on: index) { other in
                guard let parts = query.add(part(other.resources)) else { return }
                peers.enqueue(on: home) { loop in
                    loop.connection(id)?.respond(respond(parts, loop.resources))
                }
            }
            // The connection's own part is missing, so this one is not the last.
            if !isAsked { query.omit() }
        }
        if let parts = query.add(part(connection.loop)) {
            return connection.respond(respond(parts, connection.loop))
        }
        connection.setOptions { options in
            options.waitDeadline = connection.loop.now + limit
            options.endWait = { connection in
                guard let parts = query.end() else { return }
                connection.respond(late?(connection.loop) ?? respond(parts, connection.loop))
            }
        }
        connection.rearm()
    }

    /// Adds a part; returns all if it is the last one. A part after the end is dropped.
    private func add(_ part: Part) -> [Part]? {
        state.withLock { state in
            guard state.missing > 0 else { return nil }
            state.parts.append(part)
            state.missing -= 1
            return state.missing == 0 ? state.parts : nil
        }
    }

    private func omit() {
        state.withLock { $0.missing -= 1 }
    }

    private func end() -> [Part]? {
        state.withLock { state in
            guard state.missing > 0 else { return nil }
            state.missing = 0
            return state.parts
        }
    }
}
