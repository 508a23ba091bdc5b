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
    /// Reads `10.0.0.1:7080`, `node.example:7080` or `[::1]:7080`; nil for any other text. An IPv6
    /// address needs brackets, because `::1:9090` alone is also a valid address without a port.
    package static func parseTCP(_ text: String) -> (host: String, port: UInt16)? {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits)
        else { return nil }
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, host.contains(":") == isBracketed,
            !host.contains(where: { "[] ".contains($0) })
        else { return nil }
        return (String(host), port)
    }
}
