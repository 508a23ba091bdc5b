#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// One of the addresses of a host name, ready for `bind`.
struct ResolvedAddress {
    private let storage: sockaddr_storage
    private let length: socklen_t

    var family: Int32 { Int32(storage.ss_family) }

    var peer: PeerAddress { PeerAddress(storage) }

    /// All addresses of a name or a number, IPv4 first. May block as long as the resolver does.
    static func all(host: String, port: UInt16) throws(SystemFailure) -> [ResolvedAddress] {
        var hints = unsafe addrinfo()
        #if canImport(Glibc)
            unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            unsafe hints.ai_socktype = SOCK_STREAM
        #endif
        unsafe hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var first: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, String(port), &hints, &first)
        guard code == 0 else {
            let sentence = unsafe gai_strerror(code).map { unsafe String(cString: $0) }
            throw SystemFailure(
                operation: "getaddrinfo", code: code, detail: host, message: sentence ?? "")
        }
        defer { unsafe freeaddrinfo(first) }
        var found: [ResolvedAddress] = []
        var next = unsafe first
        while let info = unsafe next?.pointee {
            if let address = unsafe ResolvedAddress(info) { found.append(address) }
            unsafe next = info.ai_next
        }
        return found.filter { $0.family == AF_INET } + found.filter { $0.family == AF_INET6 }
    }

    private init?(_ info: addrinfo) {
        let size = unsafe Int(info.ai_addrlen)
        guard let address = unsafe info.ai_addr, size <= MemoryLayout<sockaddr_storage>.size else {
            return nil
        }
        var storage = sockaddr_storage()
        unsafe withUnsafeMutableBytes(of: &storage) { bytes in
            unsafe bytes.copyMemory(from: UnsafeRawBufferPointer(start: address, count: size))
        }
        self.storage = storage
        self.length = unsafe info.ai_addrlen
    }

    /// Binds a socket to it; returns 0, or -1 with `errno`.
    func bind(_ descriptor: Int32) -> Int32 {
        unsafe withPointer { unsafe systemBind(descriptor, $0, $1) }
    }

    /// Begins to connect a socket to it; returns `errno`, or 0 if it is connected already.
    func connect(_ descriptor: Int32) -> Int32 {
        unsafe withPointer { unsafe systemConnect(descriptor, $0, $1) == 0 ? 0 : errno }
    }

    /// The form that system calls require; the pointer is valid during the call only.
    func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        unsafe withUnsafePointer(to: storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, length)
            }
        }
    }
}

// Inside the type the call's name would refer to the type's own method.
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
