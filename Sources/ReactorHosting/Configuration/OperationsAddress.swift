internal import Sockets

/// An address of its own for probes, metrics and administration (ADR-0031).
public enum OperationsAddress: Sendable, Equatable {
    /// TCP. `host` is an IPv4 or IPv6 address without brackets, or a name; port 0 lets the system
    /// choose, and the start line shows the number.
    case tcp(host: String, port: UInt16)
    /// A Unix socket at this path.
    case unix(path: String)
}

extension OperationsAddress: CustomStringConvertible {
    /// `127.0.0.1:9090`, `[::1]:9090` or `unix:/run/operations.sock`, the value of `--ops-listen`.
    public var description: String { "\(listenAddress)" }

    /// Nil for any other text. An IPv6 address needs its brackets: `::1:9090` is an address too.
    init?(_ text: String) {
        if text.hasPrefix("unix:") {
            guard text.utf8.count > 5 else { return nil }
            self = .unix(path: String(text.dropFirst(5)))
            return
        }
        guard let address = LinkAddress(text) else { return nil }
        self = .tcp(host: address.host, port: address.port)
    }

    var listenAddress: ListenAddress {
        switch self {
        case .tcp(let host, let port): .tcp(host: host, port: port)
        case .unix(let path): .unix(path: path)
        }
    }
}

extension Configuration {
    /// Begins a ``host`` that is a Unix socket.
    static let unixPrefix = "unix:"

    /// The path of the Unix socket that ``host`` names; nil for TCP.
    var unixPath: String? {
        host.hasPrefix(Self.unixPrefix) ? String(host.dropFirst(Self.unixPrefix.count)) : nil
    }

    var publicAddress: ListenAddress {
        unixPath.map { .unix(path: $0) } ?? .tcp(host: host, port: port)
    }

    /// The address on this machine at which a server with this configuration responds to probes.
    var probeAddress: ListenAddress {
        let anyAddress = ["0.0.0.0": "127.0.0.1", "::": "::1"]
        let address = operationsAddress?.listenAddress ?? publicAddress
        guard case .tcp(let host, let port) = address else { return address }
        return .tcp(host: anyAddress[host] ?? host, port: port)
    }

    /// The sentence for an operations address that the clients' listener has; nil if they differ.
    ///
    /// Why: a second socket at a Unix path would replace the first one, which is not listening yet.
    var operationsRefusal: String? {
        guard let address = operationsAddress?.listenAddress, address == publicAddress,
            address != .tcp(host: host, port: 0)
        else { return nil }
        return "--ops-listen is \(address), the address of the clients' listener: "
            + "it needs its own address"
    }
}
