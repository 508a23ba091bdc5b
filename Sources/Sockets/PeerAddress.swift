#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The address of an accepted connection's peer.
///
/// An IPv4 peer of a dual-stack listener is an IPv4 peer here, never `::ffff:…`.
package enum PeerAddress: Hashable, Sendable, CustomStringConvertible {
    /// Address in host byte order.
    case ipv4(UInt32, port: UInt16)
    /// Two big-endian halves; `scope` is the interface of a link-local address, else 0.
    case ipv6(high: UInt64, low: UInt64, scope: UInt32, port: UInt16)
    /// Connected through a Unix socket; such peers have no address.
    case local

    /// `192.0.2.1:80`, `[2001:db8::1]:80` or `local`.
    package var description: String {
        switch self {
        case .ipv4(_, let port): "\(host):\(port)"
        case .ipv6(_, _, _, let port): "[\(host)]:\(port)"
        case .local: host
        }
    }

    /// The address without its port: `192.0.2.1`, `2001:db8::1`, `fe80::1%2`, `local`.
    package var host: String {
        switch self {
        case .ipv4(let address, _):
            (0..<4).map { String(address >> (24 - 8 * $0) & 0xFF) }.joined(separator: ".")
        case .ipv6(let high, let low, let scope, _):
            Self.ipv6Text(high, low) + (scope == 0 ? "" : "%\(scope)")
        case .local:
            "local"
        }
    }

    var port: UInt16 {
        switch self {
        case .ipv4(_, let port), .ipv6(_, _, _, let port): port
        case .local: 0
        }
    }

    /// Whether only this machine can reach the address: 127.0.0.0/8 (RFC 1122 §3.2.1.3), `::1`
    /// (RFC 4291 §2.5.3), or a Unix socket.
    var isLoopback: Bool {
        switch self {
        case .ipv4(let address, _): address >> 24 == 127
        case .ipv6(let high, let low, _, _): high == 0 && low == 1
        case .local: true
        }
    }

    /// Reads the address from the result of `accept` or `getsockname`.
    init(_ storage: sockaddr_storage) {
        var storage = storage
        switch Int32(storage.ss_family) {
        case AF_INET:
            let address = unsafe withUnsafeBytes(of: &storage) {
                unsafe $0.load(as: sockaddr_in.self)
            }
            self = .ipv4(
                UInt32(bigEndian: address.sin_addr.s_addr),
                port: UInt16(bigEndian: address.sin_port))
        case AF_INET6:
            let address = unsafe withUnsafeBytes(of: &storage) {
                unsafe $0.load(as: sockaddr_in6.self)
            }
            self.init(address)
        default:
            self = .local
        }
    }

    init(_ address: sockaddr_in6) {
        var bytes = address.sin6_addr
        let (high, low) = unsafe withUnsafeBytes(of: &bytes) { bytes in
            unsafe (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        let port = UInt16(bigEndian: address.sin6_port)
        self.init(high: high, low: low, scope: address.sin6_scope_id, port: port)
    }

    package init(high: UInt64, low: UInt64, scope: UInt32 = 0, port: UInt16) {
        // RFC 4291 §2.5.5.2: ::ffff:a.b.c.d is an IPv4 node.
        if high == 0, low >> 32 == 0xFFFF {
            self = .ipv4(UInt32(truncatingIfNeeded: low), port: port)
        } else {
            self = .ipv6(high: high, low: low, scope: scope, port: port)
        }
    }

    private static func ipv6Text(_ high: UInt64, _ low: UInt64) -> String {
        var address = (high.bigEndian, low.bigEndian)
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress,
                let text = unsafe inet_ntop(AF_INET6, &address, start, 64)
            else { return "" }
            return unsafe String(cString: text)
        }
    }
}
