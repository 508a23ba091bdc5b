/// Accepts connections at one address and spreads them over loops, each in its turn.
///
/// Accepting happens on the first loop's queue. Connections beyond the limit are accepted and reset
/// at once: a client learns in a moment that it is refused, instead of waiting in a backlog that
/// hides the overload; old connections are never evicted. When the process has no descriptor left,
/// what waits is reset likewise (by means of one kept in reserve), and accepting rests for a tenth
/// of a second.
package final class Listener<Handler: LoopHandler>: Sendable {
    /// Where it listens, with the real port where 0 was asked for.
    package let boundAddress: ListenAddress

    private let acceptor: Acceptor<Handler>

    /// Listens at once.
    ///
    /// - Parameters:
    ///   - address: where to; see `ListenAddress`.
    ///   - loops: who serves; at least one. They are kept alive, not stopped.
    ///   - backlog: connections the kernel completes ahead of us; the system may cap it
    ///     (`net.core.somaxconn`).
    ///   - maximumConnections: of all these loops together, from any listener.
    /// - Throws: when the name cannot be resolved, or the address not be bound.
    package convenience init(
        _ address: ListenAddress, loops: [EventLoop<Handler>], backlog: Int = 4_096,
        maximumConnections: Int
    ) throws(SystemFailure) {
        try self.init(
            try BoundSocket(address), loops: loops, backlog: backlog,
            maximumConnections: maximumConnections)
    }

    /// Listens at once, at an address that is bound already.
    ///
    /// - Parameters:
    ///   - socket: belongs to the listener from now on.
    ///   - loops: as above.
    ///   - backlog: as above.
    ///   - maximumConnections: as above.
    /// - Throws: when the system refuses to listen; the address is given back then.
    package init(
        _ socket: consuming BoundSocket, loops: [EventLoop<Handler>], backlog: Int = 4_096,
        maximumConnections: Int
    ) throws(SystemFailure) {
        precondition(!loops.isEmpty, "a listener needs somebody to serve")
        let socket = socket.release()
        try socket.listen(backlog: Int32(clamping: backlog))
        self.boundAddress = socket.address
        self.acceptor = Acceptor(socket, loops: loops, maximumConnections: maximumConnections)
    }

    /// Stops listening: takes what the kernel has completed already, then refuses. A Unix socket's
    /// file is removed. Calling it again does nothing.
    package func close() {
        acceptor.beginClosing()
    }

    /// Returns when the listener is closed and has given its descriptors back; `close` must have
    /// been called.
    package func untilClosed() async {
        await acceptor.untilClosed()
    }
}
