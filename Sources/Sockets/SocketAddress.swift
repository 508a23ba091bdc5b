#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An address in the form that `bind` and `connect` require.
struct SocketAddress {
    private let storage: sockaddr_storage
    private let length: socklen_t

    var family: Int32 { Int32(storage.ss_family) }

    var peer: PeerAddress { PeerAddress(storage) }

    /// A Unix socket's path.
    ///
    /// - Parameter operation: That of a failure: the path does not fit, or is none.
    static func unix(
        _ path: String, for operation: String = "bind"
    ) throws(SystemFailure) -> SocketAddress {
        var address = sockaddr_un()
        let bytes = Array(path.utf8)
        let isOdd = bytes.isEmpty || bytes.contains(0)
        guard !isOdd, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw SystemFailure(
                operation: operation, code: isOdd ? EINVAL : ENAMETOOLONG, detail: path)
        }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let storage = unsafe withUnsafeBytes(of: &address) { unsafe stored($0) }
        return SocketAddress(
            storage: storage, length: socklen_t(MemoryLayout<sockaddr_un>.size))
    }

    /// All addresses of a name or a number, IPv4 first. May block as long as the resolver does.
    static func all(host: String, port: UInt16) throws(SystemFailure) -> [SocketAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = SocketCalls.stream
        unsafe hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var first: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, String(port), &hints, &first)
        guard code == 0 else {
            let sentence = unsafe gai_strerror(code).map { unsafe String(cString: $0) }
            throw SystemFailure(
                operation: "getaddrinfo", code: code, detail: host, message: sentence ?? "")
        }
        defer { unsafe freeaddrinfo(first) }
        var found: [SocketAddress] = []
        var next = unsafe first
        while let info = unsafe next?.pointee {
            if let address = unsafe SocketAddress(info) { found.append(address) }
            unsafe next = info.ai_next
        }
        return found.filter { $0.family == AF_INET } + found.filter { $0.family == AF_INET6 }
    }

    private init(storage: sockaddr_storage, length: socklen_t) {
        self.storage = storage
        self.length = length
    }

    private init?(_ info: addrinfo) {
        let size = unsafe Int(info.ai_addrlen)
        guard let address = unsafe info.ai_addr, size <= MemoryLayout<sockaddr_storage>.size else {
            return nil
        }
        storage = unsafe Self.stored(UnsafeRawBufferPointer(start: address, count: size))
        length = socklen_t(size)
    }

    private static func stored(_ address: UnsafeRawBufferPointer) -> sockaddr_storage {
        var storage = sockaddr_storage()
        unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.copyMemory(from: address) }
        return storage
    }

    /// The address that is tried first.
    static func first(of address: ListenAddress) throws(SystemFailure) -> SocketAddress {
        switch address {
        case .unix(let path, _): return try unix(path)
        case .tcp(let host, let port):
            if let first = try all(host: host, port: port).first { return first }
            throw SystemFailure(operation: "bind", code: EADDRNOTAVAIL, detail: "\(address)")
        }
    }

    /// The result of the first TCP address for which `act` succeeds.
    static func first<Value: ~Copyable>(
        _ host: String, _ port: UInt16, for operation: String,
        _ act: (SocketAddress) throws(SystemFailure) -> Value
    ) throws(SystemFailure) -> Value {
        var failure = SystemFailure(
            operation: operation, code: EADDRNOTAVAIL,
            detail: "\(ListenAddress.tcp(host: host, port: port))")
        for candidate in try all(host: host, port: port) {
            do throws(SystemFailure) {
                return try act(candidate)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// Binds a socket to it; returns `errno`, or 0.
    func bind(_ descriptor: Int32) -> Int32 {
        unsafe withPointer { unsafe systemBind(descriptor, $0, $1) }
    }

    /// Begins to connect a socket to it; returns `errno`, or 0 if it is connected already.
    func connect(_ descriptor: Int32) -> Int32 {
        unsafe withPointer { unsafe systemConnect(descriptor, $0, $1) }
    }

    private func withPointer(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        unsafe withUnsafePointer(to: storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe call($0, length) == 0 ? 0 : errno
            }
        }
    }
}

// Inside the type the calls' names would refer to the type's own methods.
private func systemBind(
    _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 {
    unsafe bind(descriptor, address, length)
}

private func systemConnect(
    _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 {
    unsafe connect(descriptor, address, length)
}
