// Makes a listening descriptor from a `ListenAddress`.
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A bound, non-blocking descriptor and its address, without clients. The owner closes it.
struct ListeningSocket {
    let descriptor: Int32
    /// The address with the actual port if 0 was requested.
    let address: ListenAddress
    /// Whether only this machine can reach the address.
    let isLoopback: Bool
    let file: UnixSocketFile?

    init(binding address: ListenAddress) throws(SystemFailure) {
        switch address {
        case .tcp(let host, let port):
            self = try SocketAddress.first(host, port, for: "bind") {
                candidate throws(SystemFailure) in
                let descriptor = try Self.bind(candidate, address)
                let bound = Self.boundAddress(descriptor)
                return ListeningSocket(
                    descriptor: descriptor, address: .tcp(host: bound.host, port: bound.port),
                    isLoopback: bound.isLoopback, file: nil)
            }
        case .unix(let path, let mode):
            let file = try UnixSocketFile(path: path, mode: mode)
            self.init(
                descriptor: file.descriptor, address: address, isLoopback: true, file: file)
        }
    }

    /// The time after which the kernel ends an accepted connection whose peer acknowledges nothing.
    /// On Linux an accepted socket inherits it.
    func giveUp(after time: Duration) {
        if case .tcp = address { SocketCalls.giveUp(after: time, on: descriptor) }
    }

    /// Makes the kernel complete connections. On failure the socket is closed and its file removed.
    func listen(backlog: Int32) throws(SystemFailure) {
        guard systemListen(descriptor, backlog) != 0 else { return }
        let code = errno
        close()
        throw SystemFailure(operation: "listen", code: code, detail: "\(address)")
    }

    /// Releases the address.
    func close() {
        file?.remove()
        SocketCalls.close(descriptor)
    }

    private init(
        descriptor: Int32, address: ListenAddress, isLoopback: Bool, file: UnixSocketFile?
    ) {
        self.descriptor = descriptor
        self.address = address
        self.isLoopback = isLoopback
        self.file = file
    }

    private static func bind(
        _ candidate: SocketAddress, _ asked: ListenAddress
    ) throws(SystemFailure) -> Int32 {
        let descriptor = try open(candidate.family)
        // A restart must not wait for the previous run's connections to leave TIME_WAIT.
        var code = SocketCalls.set(SO_REUSEADDR, of: SOL_SOCKET, to: 1, on: descriptor)
        if code == 0, candidate.family == AF_INET6 {
            // `::` means every address of this machine, whatever the system's default.
            code = SocketCalls.set(IPV6_V6ONLY, of: Int32(IPPROTO_IPV6), to: 0, on: descriptor)
        }
        // On Linux an accepted socket inherits both, which saves two system calls per connection.
        SocketCalls.sendWithoutDelay(descriptor)
        SocketCalls.boundUnsent(descriptor)
        if code == 0 { code = candidate.bind(descriptor) }
        guard code == 0 else {
            SocketCalls.close(descriptor)
            throw SystemFailure(operation: "bind", code: code, detail: "\(asked)")
        }
        return descriptor
    }

    /// A new stream socket, non-blocking, closed on exec.
    static func open(_ family: Int32) throws(SystemFailure) -> Int32 {
        let descriptor = try SocketCalls.open(family)
        do throws(SystemFailure) {
            try SocketCalls.prepare(descriptor)
        } catch {
            SocketCalls.close(descriptor)
            throw error
        }
        return descriptor
    }

    private static func boundAddress(_ descriptor: Int32) -> PeerAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        _ = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return PeerAddress(storage)
    }
}

// Inside the type the call's name would refer to the type's own method.
private func systemListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 {
    listen(descriptor, backlog)
}
