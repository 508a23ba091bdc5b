// The address to connect to, and the many local addresses to connect from.
#if os(Linux)
    import CEpoll
    import Glibc

    /// A resolved socket address.
    struct Address: Sendable {
        private var storage: sockaddr_storage
        private var length: socklen_t

        /// The number of connections from one local address before the next address is used: the
        /// kernel has about 28 000 ephemeral ports for each (`net.ipv4.ip_local_port_range`).
        static let connectionsPerSource = 20_000

        /// Resolves a name or a numeric address.
        init(host: String, port: UInt16) throws(BenchError) {
            var hints = unsafe addrinfo()
            unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var list: UnsafeMutablePointer<addrinfo>? = nil
            let code = unsafe getaddrinfo(host, String(port), &hints, &list)
            guard code == 0, let first = unsafe list else {
                throw .unresolvable(host: host)
            }
            defer { unsafe freeaddrinfo(list) }
            storage = sockaddr_storage()
            length = unsafe first.pointee.ai_addrlen
            unsafe withUnsafeMutableBytes(of: &storage) { target in
                let source = unsafe UnsafeRawBufferPointer(
                    start: first.pointee.ai_addr, count: Int(first.pointee.ai_addrlen))
                unsafe target.copyMemory(from: source)
            }
        }

        /// `AF_INET` or `AF_INET6`.
        var family: Int32 { Int32(storage.ss_family) }

        /// Whether the address lies in 127.0.0.0/8, where any source address may be bound.
        var isLoopback: Bool {
            guard family == AF_INET else { return false }
            return unsafe withUnsafeBytes(of: storage) { bytes in unsafe bytes[4] == 127 }
        }

        /// Starts to connect `descriptor`; returns 0 or the error number (`EINPROGRESS` included).
        func connect(_ descriptor: Int32) -> Int32 {
            unsafe withUnsafePointer(to: storage) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe Glibc.connect(descriptor, $0, length) == 0 ? 0 : errno
                }
            }
        }

        /// Binds `descriptor` to 127.0.0.(2 + `index`) and leaves the choice of the port to
        /// `connect`.
        static func bindLoopback(_ descriptor: Int32, index: Int) throws(BenchError) {
            // IP_BIND_ADDRESS_NO_PORT = 24 (linux/in.h, which the Glibc module does not expose):
            // without it `bind` picks a port that no other connection of the host can share.
            var on: Int32 = 1
            unsafe setsockopt(descriptor, Int32(IPPROTO_IP), 24, &on, 4)
            var source = sockaddr_in()
            source.sin_family = sa_family_t(AF_INET)
            source.sin_addr.s_addr = (0x7F00_0002 + UInt32(index)).bigEndian
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = unsafe withUnsafePointer(to: source) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(descriptor, $0, size)
                }
            }
            guard code == 0 else { throw .system(operation: "bind", code: errno) }
        }
    }
#endif
