// The system calls of a connection, including platform differences and EINTR. Independent of loops.
// A pointer is never used after the call that it is passed to.
#if canImport(Glibc)
    import Glibc
    #if os(Linux)
        import CEpoll
    #endif
#else
    import Darwin
#endif

/// Thin, typed wrappers of system calls.
enum SocketCalls {
    enum Outcome: Equatable {
        /// The number of bytes; 0 from a read is the end of the peer's stream.
        case moved(Int)
        /// Not ready now (`EAGAIN`).
        case wouldBlock
        /// Broken, with `errno`.
        case failed(Int32)
    }

    // A vanished peer is an error (EPIPE), not a signal that ends the process.
    #if canImport(Glibc)
        private static let sendFlags = Int32(MSG_NOSIGNAL)
    #else
        private static let sendFlags: Int32 = 0  // SO_NOSIGPIPE is set on each socket instead.
    #endif

    #if canImport(Glibc)
        static let stream = Int32(SOCK_STREAM.rawValue)
    #else
        static let stream = SOCK_STREAM
    #endif

    /// A new stream socket, which blocks.
    static func open(_ family: Int32) throws(SystemFailure) -> Int32 {
        let descriptor = socket(family, stream, 0)
        guard descriptor >= 0 else { throw SystemFailure(operation: "socket", code: errno) }
        return descriptor
    }

    /// recv(2).
    static func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Outcome
    {
        while true {
            let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if let outcome = outcome(of: count) { return outcome }
        }
    }

    /// send(2).
    static func transmit(_ descriptor: Int32, _ bytes: RawSpan) -> Outcome {
        unsafe bytes.withUnsafeBytes { bytes in
            while true {
                let count = unsafe send(descriptor, bytes.baseAddress, bytes.count, sendFlags)
                if let outcome = outcome(of: count) { return outcome }
            }
        }
    }

    /// sendmsg(2): writev(2) has no flag against SIGPIPE.
    static func transmit(_ descriptor: Int32, _ pieces: UnsafeMutableBufferPointer<iovec>)
        -> Outcome
    {
        var message = unsafe msghdr()
        unsafe message.msg_iov = pieces.baseAddress
        unsafe message.msg_iovlen = .init(pieces.count)
        while true {
            let count = unsafe sendmsg(descriptor, &message, sendFlags)
            if let outcome = outcome(of: count) { return outcome }
        }
    }

    /// Returns nil after EINTR: try again.
    private static func outcome(of count: Int) -> Outcome? {
        guard count < 0 else { return .moved(count) }
        let code = errno
        return switch code {
        case EINTR: nil
        case EAGAIN, EWOULDBLOCK: .wouldBlock
        default: .failed(code)
        }
    }

    /// The pending error of the socket, or 0; reading it clears it.
    static func pendingError(_ descriptor: Int32) -> Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        return result == 0 ? code : errno
    }

    /// close(2); its error allows no reaction, and the descriptor is released in any case.
    static func close(_ descriptor: Int32) {
        #if canImport(Glibc)
            _ = Glibc.close(descriptor)
        #else
            _ = Darwin.close(descriptor)
        #endif
    }

    /// Closes the sending side; the peer then reads the end of the stream.
    static func finishWriting(_ descriptor: Int32) {
        #if canImport(Glibc)
            _ = shutdown(descriptor, Int32(SHUT_WR))
        #else
            _ = shutdown(descriptor, SHUT_WR)
        #endif
    }

    /// Makes the next `close` reset the connection and drop unsent bytes.
    static func armReset(_ descriptor: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        let length = socklen_t(MemoryLayout<linger>.size)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, length)
    }

    static func set(_ option: Int32, of level: Int32, to value: Int32, on descriptor: Int32)
        -> Int32
    {
        var value = value
        let length = socklen_t(MemoryLayout<Int32>.size)
        return unsafe setsockopt(descriptor, level, option, &value, length) == 0 ? 0 : errno
    }

    /// Small responses do not wait for the peer's acknowledgement (Nagle, RFC 896).
    static func sendWithoutDelay(_ descriptor: Int32) {
        _ = set(TCP_NODELAY, of: Int32(IPPROTO_TCP), to: 1, on: descriptor)
    }

    /// The kernel accepts 128 KiB beyond what the peer's window permits. Otherwise it buffers up to
    /// `tcp_wmem` (4 MB) for each peer that does not read, and many of them slow down every send of
    /// the machine. The throughput stays. Source: Linux `ip-sysctl`, `tcp_notsent_lowat`.
    static func boundUnsent(_ descriptor: Int32) {
        _ = set(TCP_NOTSENT_LOWAT, of: Int32(IPPROTO_TCP), to: 131_072, on: descriptor)
    }

    /// The kernel closes the connection if the peer acknowledges nothing, or keeps its window
    /// closed, for this time, and not after 15 minutes (Linux `tcp(7)`, TCP_USER_TIMEOUT). Without
    /// effect on other systems.
    static func giveUp(after time: Duration, on descriptor: Int32) {
        #if os(Linux)
            let milliseconds = Int32(clamping: Int64(time / .milliseconds(1)))
            _ = set(TCP_USER_TIMEOUT, of: Int32(IPPROTO_TCP), to: milliseconds, on: descriptor)
        #endif
    }

    /// Makes it non-blocking, closed on exec, and silent if the peer has vanished.
    static func prepare(_ descriptor: Int32) throws(SystemFailure) {
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0,
            fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
        else { throw SystemFailure(operation: "fcntl", code: errno) }
        #if canImport(Darwin)
            _ = set(SO_NOSIGPIPE, of: SOL_SOCKET, to: 1, on: descriptor)
        #endif
    }

    /// A second descriptor for the same connection, closed on exec.
    static func duplicate(_ descriptor: Int32) throws(SystemFailure) -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            throw SystemFailure(operation: "fcntl(F_DUPFD_CLOEXEC)", code: errno)
        }
        return copy
    }

    /// The next connection, non-blocking and closed on exec, with its peer; else `errno`.
    static func accept(_ listener: Int32) -> Result<(descriptor: Int32, peer: PeerAddress), Errno> {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let descriptor = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                #if os(Linux)
                    unsafe accept4(
                        listener, address, &length,
                        Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
                #else
                    unsafe Darwin.accept(listener, address, &length)
                #endif
            }
        }
        guard descriptor >= 0 else { return .failure(Errno(code: errno)) }
        #if !os(Linux)
            do throws(SystemFailure) {
                try prepare(descriptor)
            } catch {
                close(descriptor)
                return .failure(Errno(code: error.code))
            }
        #endif
        return .success((descriptor, PeerAddress(storage)))
    }

    /// A bare `errno`, where a whole `SystemFailure` would be made only to be discarded.
    struct Errno: Error {
        let code: Int32
    }
}
