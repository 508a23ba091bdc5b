/// Accepts connections at one address and spreads them over loops in turn.
///
/// Accepting happens on the first loop's queue. Connections beyond the limit are accepted and
/// reset: a client learns at once that it is refused, and does not wait in a backlog that hides the
/// overload; old ones are never evicted. Without a free descriptor, waiting connections are reset
/// likewise (with a reserved one), and accepting pauses for a tenth of a second.
package final class Listener<Handler: LoopHandler>: Sendable {
    /// The bound address, with the actual port if 0 was requested.
    package let boundAddress: ListenAddress

    private let acceptor: Acceptor<Handler>

    /// Starts to listen at once.
    ///
    /// - Parameters:
    ///   - loops: serve the connections; at least one. They are retained, not stopped.
    ///   - backlog: connections completed in advance; the system may cap it (`net.core.somaxconn`).
    ///   - maximumConnections: the limit for all these loops together, from any listener.
    ///   - gate: the limit for each peer. The handler calls ``ConnectionGate/ended(_:)`` for each
    ///     connection that it was given and that has ended.
    /// - Throws: if the system refuses to listen; the address is released then.
    package init(
        _ socket: consuming BoundSocket, loops: [EventLoop<Handler>], backlog: Int = 4_096,
        maximumConnections: Int, gate: ConnectionGate = ConnectionGate()
    ) throws(SystemFailure) {
        precondition(!loops.isEmpty, "a listener needs somebody to serve")
        let socket = socket.release()
        try socket.listen(backlog: Int32(clamping: backlog))
        self.boundAddress = socket.address
        self.acceptor = Acceptor(
            socket, loops: loops, maximumConnections: maximumConnections, gate: gate)
    }

    /// Changes the maximum number of connections. Open ones are kept, even if there are more.
    package func limitConnections(to count: Int) {
        acceptor.limitConnections(to: count)
    }

    /// As ``BoundSocket/giveUp(after:)``, for connections that are accepted later.
    package func giveUp(after time: Duration) async {
        await acceptor.giveUp(after: time)
    }

    /// Stops listening: accepts connections that the kernel has completed, then refuses. A Unix
    /// socket's file is removed. A second call does nothing.
    package func close() {
        acceptor.beginClosing()
    }

    /// Returns when the listener is closed and has released its descriptors; call `close` before.
    package func untilClosed() async {
        await acceptor.untilClosed()
    }
}
