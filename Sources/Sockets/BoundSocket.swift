/// An address that is taken, at which nobody can connect yet.
///
/// Why: a server binds before it opens its journal, so that one whose address is in use leaves
/// nothing behind, and listens after that, so that nobody waits for a server that cannot start.
/// The address is given back when the value ends, unless a `Listener` has taken it over.
package struct BoundSocket: ~Copyable {
    /// Nil once a listener has it.
    private var socket: ListeningSocket?

    /// - Throws: when the name cannot be resolved, or the address not be bound.
    package init(_ address: ListenAddress) throws(SystemFailure) {
        socket = try ListeningSocket(binding: address)
    }

    deinit { socket?.close() }

    consuming func release() -> ListeningSocket {
        // `discard` is for types without strings.
        guard let taken = socket else { preconditionFailure("a bound socket is used once") }
        socket = nil
        return taken
    }
}
