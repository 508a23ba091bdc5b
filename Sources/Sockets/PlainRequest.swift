#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// One blocking GET, for a program with no other work, such as a health check.
package enum PlainRequest {
    /// The maximum number of response bytes that are read.
    private static let answerLimitBytes = 65_536

    /// Returns the whole response as text, at most 64 KiB.
    ///
    /// - Parameter timeout: The limit for one system call; whole seconds, at least 1.
    /// - Throws: If no response arrives in time.
    package static func get(
        _ path: String, at address: ListenAddress, timeout: Duration
    ) throws(SystemFailure) -> String {
        let descriptor = try connect(to: address, timeout: timeout)
        defer { SocketCalls.close(descriptor) }
        let fields = "Host: localhost\r\nConnection: close\r\n"
        try send("GET \(path) HTTP/1.1\r\n\(fields)\r\n", descriptor)
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while answer.count < answerLimitBytes {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe recv(descriptor, bytes.baseAddress, bytes.count, 0)
            }
            guard count >= 0 else { throw SystemFailure(operation: "recv", code: errno) }
            if count == 0 { break }
            answer.append(contentsOf: buffer[..<count])
        }
        return String(decoding: answer, as: UTF8.self)
    }

    private static func connect(
        to address: ListenAddress, timeout: Duration
    ) throws(SystemFailure) -> Int32 {
        let target = try SocketAddress.first(of: address, for: "connect")
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
            throw SystemFailure(operation: "connect", code: code, detail: "\(address)")
        }
        return descriptor
    }

    private static func send(_ text: String, _ descriptor: Int32) throws(SystemFailure) {
        let bytes = Array(text.utf8)
        // A hundred bytes fit into an empty socket buffer: they are sent completely or not at all.
        guard case .moved(bytes.count) = unsafe SocketCalls.transmit(descriptor, bytes.span.bytes)
        else {
            throw SystemFailure(operation: "send", code: errno)
        }
    }
}
