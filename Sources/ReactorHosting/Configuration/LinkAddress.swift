internal import Sockets

/// A TCP address for the links of a node (ADR-0050).
public struct LinkAddress: Sendable, Equatable {
    /// An IPv4 or IPv6 address without brackets, or a name.
    public var host: String
    /// 0 lets the system choose.
    public var port: UInt16

    /// An address.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}

extension LinkAddress: CustomStringConvertible {
    /// `10.0.0.1:7080` or `[::1]:7080`, the value of `--link`.
    public var description: String { "\(listenAddress)" }

    /// Nil for any other text. An IPv6 address needs its brackets: `::1:9090` is an address too.
    init?(_ text: String) {
        guard let (host, port) = ListenAddress.parseTCP(text) else { return nil }
        self.init(host: host, port: port)
    }

    var listenAddress: ListenAddress { .tcp(host: host, port: port) }
}
