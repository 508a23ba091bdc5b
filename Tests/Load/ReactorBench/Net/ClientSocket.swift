#if os(Linux)
    import CEpoll
    import Glibc

    /// System calls on client sockets. Nothing is owned here: pools hold the descriptors and close
    /// them.
    enum ClientSocket {
        /// The outcome of a call on a non-blocking socket.
        enum Outcome: Equatable {
            case bytes(Int)
            case wouldBlock
            /// The peer closed the connection in order.
            case closed
            case failed(Int32)
        }

        /// Opens a non-blocking socket and starts to connect it.
        ///
        /// `ordinal` counts the pool's connections and picks the local address on loopback.
        /// `receiveBufferBytes` is set before the connect, because it decides the window.
        static func connect(
            to address: Address, ordinal: Int, receiveBufferBytes: Int? = nil
        ) throws(BenchError) -> Int32 {
            // Close-on-exec: a server that `torture` starts must not inherit its clients' sockets.
            let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue) | flags, 0)
            guard descriptor >= 0 else { throw .system(operation: "socket", code: errno) }
            var on: Int32 = 1
            unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
            if let receiveBufferBytes {
                var size = Int32(clamping: receiveBufferBytes)
                unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
            }
            let source = ordinal / Address.connectionsPerSource
            if address.isLoopback, source > 0 {
                try Address.bindLoopback(descriptor, index: source - 1)
            }
            let code = address.connect(descriptor)
            guard code == 0 || code == EINPROGRESS else {
                Glibc.close(descriptor)
                throw .system(operation: "connect", code: code)
            }
            return descriptor
        }

        /// The error of the connection attempt; 0 if there was none.
        static func connectError(_ descriptor: Int32) -> Int32 {
            var code: Int32 = 0
            var size = socklen_t(4)
            unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
            return code
        }

        /// Reads once into `buffer`.
        @inline(__always)
        static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) -> Outcome {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress, $0.count, 0)
            }
            if count > 0 { return .bytes(count) }
            if count == 0 { return .closed }
            return errno == EAGAIN || errno == EINTR ? .wouldBlock : .failed(errno)
        }

        /// Writes `bytes` from `start`, as many as the socket accepts.
        @inline(__always)
        static func send(_ descriptor: Int32, _ bytes: Span<UInt8>, from start: Int) -> Outcome {
            let count = unsafe bytes.withUnsafeBytes { raw -> Int in
                guard let base = raw.baseAddress else { return 0 }
                return unsafe Glibc.send(
                    descriptor, base + start, raw.count - start, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { return .bytes(count) }
            return errno == EAGAIN || errno == EINTR ? .wouldBlock : .failed(errno)
        }

        /// Closes without TIME_WAIT: 20 000 ports in TIME_WAIT would disturb the next run.
        static func closeHard(_ descriptor: Int32) {
            var option = linger(l_onoff: 1, l_linger: 0)
            let size = socklen_t(MemoryLayout<linger>.size)
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, size)
            Glibc.close(descriptor)
        }

        /// Closes in order, as a well-behaved client does.
        static func close(_ descriptor: Int32) {
            Glibc.close(descriptor)
        }
    }
#endif
