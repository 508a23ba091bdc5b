#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
import Dispatch

/// Begins outgoing TCP connections, each for a loop.
///
/// Design: a connection is passed to its loop while the peer has not answered. It is one like any
/// other there: until it is established, sends accept nothing, and then `writable` is called. So no
/// thread waits for a peer. A refusal is reported by `closed` with ``CloseReason/refused``, silence
/// by the deadline that the handler sets: the system's takes minutes.
package final class Dialler: Sendable {
    /// The system's resolver may block for many seconds. Names wait for each other here.
    private let resolver = DispatchQueue(label: "reactor-server.dialler")

    package init() {}

    /// Begins a connection. From any thread.
    ///
    /// - Parameters:
    ///   - host: An IPv4 or IPv6 address without brackets, or a name. Of a name, the first address
    ///     is used for which the system can begin a connection, IPv4 before IPv6.
    ///   - then: Called on the loop in place of `opened`, before any event of the connection; with
    ///     the failure if it could not even begin. Not called if the loop has stopped.
    package func dial<Handler: LoopHandler>(
        host: String, port: UInt16, on loop: EventLoop<Handler>,
        then: @escaping @Sendable (Handler, Result<ConnectionID, SystemFailure>) -> Void
    ) {
        guard PeerAddress(host) == nil else { return Self.begin(host, port, loop, then) }
        resolver.async { Self.begin(host, port, loop, then) }
    }

    private static func begin<Handler: LoopHandler>(
        _ host: String, _ port: UInt16, _ loop: EventLoop<Handler>,
        _ then: @escaping @Sendable (Handler, Result<ConnectionID, SystemFailure>) -> Void
    ) {
        do throws(SystemFailure) {
            loop.adopt(try connect(host, port)) { then($0, .success($1)) }
        } catch {
            loop.enqueue { then($0, .failure(error)) }
        }
    }

    private static func connect(
        _ host: String, _ port: UInt16
    ) throws(SystemFailure) -> DetachedSocket {
        try SocketAddress.first(host, port, for: "connect") { candidate throws(SystemFailure) in
            try connect(candidate, ListenAddress.tcp(host: host, port: port))
        }
    }

    private static func connect(
        _ candidate: SocketAddress, _ address: ListenAddress
    ) throws(SystemFailure) -> DetachedSocket {
        let descriptor = try ListeningSocket.open(candidate.family)
        SocketCalls.sendWithoutDelay(descriptor)
        SocketCalls.boundUnsent(descriptor)
        let code = candidate.connect(descriptor)
        // After EINTR the kernel continues, too (POSIX, connect).
        guard code == 0 || code == EINPROGRESS || code == EINTR else {
            SocketCalls.close(descriptor)
            throw SystemFailure(operation: "connect", code: code, detail: "\(address)")
        }
        return DetachedSocket(descriptor: descriptor, peerHasFinished: false, unread: [])
    }
}

extension SystemFailure {
    /// Whether the peer's machine has said that nothing listens at the address.
    package var isRefusal: Bool { operation == "connect" && code == ECONNREFUSED }
}
