#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A connection whose calls block: for a program with no other work, such as a health check.
package struct PlainConnection: ~Copyable {
    private let descriptor: Int32

    /// Connects; of a name, to the first address that accepts.
    ///
    /// - Parameter timeout: The limit for one system call, whole seconds, at least 1. A call that
    ///   exceeds it fails with `ETIMEDOUT`.
    package init(to address: ListenAddress, timeout: Duration) throws(SystemFailure) {
        descriptor =
            switch address {
            case .unix(let path, _):
                try Self.connect(try .unix(path, for: "connect"), address, timeout)
            case .tcp(let host, let port):
                try SocketAddress.first(host, port, for: "connect") {
                    candidate throws(SystemFailure) in
                    try Self.connect(candidate, address, timeout)
                }
            }
    }

    deinit {
        SocketCalls.close(descriptor)
    }

    /// Sends all of the bytes.
    package func send(_ bytes: [UInt8]) throws(SystemFailure) {
        var sent = 0
        while sent < bytes.count {
            let rest = bytes.span.extracting(sent..<bytes.count)
            sent += try unsafe Self.count(SocketCalls.transmit(descriptor, rest.bytes), of: "send")
        }
    }

    /// Waits for bytes of the peer; none once it has ended the connection.
    package func receive() throws(SystemFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let outcome = unsafe bytes.withUnsafeMutableBytes {
            unsafe SocketCalls.receive(descriptor, into: $0)
        }
        bytes.removeLast(bytes.count - (try Self.count(outcome, of: "recv")))
        return bytes
    }

    private static func count(
        _ outcome: SocketCalls.Outcome, of operation: String
    ) throws(SystemFailure) -> Int {
        switch outcome {
        case .moved(let count): return count
        case .wouldBlock: throw SystemFailure(operation: operation, code: ETIMEDOUT)
        case .failed(let code): throw SystemFailure(operation: operation, code: code)
        }
    }

    private static func connect(
        _ target: SocketAddress, _ address: ListenAddress, _ timeout: Duration
    ) throws(SystemFailure) -> Int32 {
        let descriptor = try SocketCalls.open(target.family)
        var limit = timeval()
        limit.tv_sec = max(1, Int(timeout.components.seconds))
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = unsafe setsockopt(
                descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        let code = target.connect(descriptor)
        guard code == 0 else {
            SocketCalls.close(descriptor)
            // socket(7), SO_SNDTIMEO: what connect(2) reports after the time.
            throw SystemFailure(
                operation: "connect", code: code == EINPROGRESS ? ETIMEDOUT : code,
                detail: "\(address)")
        }
        return descriptor
    }
}
