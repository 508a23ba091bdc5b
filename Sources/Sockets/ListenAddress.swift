/// The address at which a server listens.
package enum ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// TCP. `host` is an IPv4 or IPv6 address (without brackets) or a name; `::` accepts IPv4 as
    /// well. Of a name the first usable address counts, IPv4 first. Port 0 picks a free port.
    case tcp(host: String, port: UInt16)
    /// A Unix socket at `path` (at most 107 bytes, 103 on Darwin), with these permission bits.
    /// Permission to write is permission to connect: 0o660 by default, the owner and its group.
    case unix(path: String, mode: UInt16 = 0o660)

    /// `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/x.sock`.
    package var description: String {
        switch self {
        case .tcp(let host, let port):
            host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path, _):
            "unix:\(path)"
        }
    }
}
