/// A bound address that does not accept connections yet.
///
/// Why: a server binds before it opens its journal, so that a server whose address is in use leaves
/// no files behind. It listens after that, so that no client waits for a server that cannot start.
/// The address is released with the value, unless a `Listener` has consumed it.
package struct BoundSocket: ~Copyable {
    /// Nil once a listener has consumed it.
    private var socket: ListeningSocket?
    /// The address, with the actual port if 0 was requested.
    package let address: ListenAddress
    /// Whether only this machine can reach it.
    package let isLoopback: Bool

    package init(_ address: ListenAddress) throws(SystemFailure) {
        let bound = try ListeningSocket(binding: address)
        socket = bound
        self.address = bound.address
        isLoopback = bound.isLoopback
    }

    /// The address that would be bound, with its name resolved, and whether only this machine could
    /// reach it. May block for as long as the system's resolver does.
    package static func resolve(
        _ address: ListenAddress
    ) throws(SystemFailure) -> (address: ListenAddress, isLoopback: Bool) {
        let first = try SocketAddress.first(of: address).peer
        guard case .tcp(_, let port) = address else { return (address, true) }
        return (.tcp(host: first.host, port: port), first.isLoopback)
    }

    /// The kernel closes accepted connections whose peers acknowledge nothing for this time.
    package func giveUp(after time: Duration) { socket?.giveUp(after: time) }

    deinit { socket?.close() }

    consuming func release() -> ListeningSocket {
        // `discard` is for types without strings.
        guard let taken = socket else { preconditionFailure("a bound socket is used once") }
        socket = nil
        return taken
    }
}
