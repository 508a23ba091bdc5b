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
        switch address {
        case .unix(let path, _):
            guard let unix = UnixAddress(path) else {
                throw SystemFailure(operation: "connect", code: ENAMETOOLONG, detail: path)
            }
            let descriptor = try socket(AF_UNIX, timeout)
            return try check(unix.connect(descriptor), descriptor, path)
        case .tcp(let host, let port):
            guard let first = try ResolvedAddress.all(host: host, port: port).first else {
                throw SystemFailure(operation: "connect", code: EHOSTUNREACH, detail: host)
            }
            let descriptor = try socket(first.family, timeout)
            let result = unsafe first.withPointer { unsafe systemConnect(descriptor, $0, $1) }
            return try check(result == 0 ? 0 : errno, descriptor, "\(host):\(port)")
        }
    }

    private static func check(
        _ code: Int32, _ descriptor: Int32, _ detail: String
    ) throws(SystemFailure) -> Int32 {
        guard code == 0 else {
            SocketCalls.close(descriptor)
            throw SystemFailure(operation: "connect", code: code, detail: detail)
        }
        return descriptor
    }

    private static func socket(
        _ family: Int32, _ timeout: Duration
    ) throws(SystemFailure) -> Int32 {
        let descriptor = systemSocket(family)
        guard descriptor >= 0 else { throw SystemFailure(operation: "socket", code: errno) }
        var limit = timeval()
        limit.tv_sec = max(1, Int(timeout.components.seconds))
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = unsafe setsockopt(
                descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
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

// Inside the type the calls' names would refer to the type's own methods.
private func systemConnect(
    _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 {
    unsafe connect(descriptor, address, length)
}

private func systemSocket(_ family: Int32) -> Int32 {
    #if canImport(Glibc)
        socket(family, Int32(SOCK_STREAM.rawValue), 0)
    #else
        socket(family, SOCK_STREAM, 0)
    #endif
}
