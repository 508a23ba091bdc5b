internal import Sockets

/// The listeners of a running server.
struct Listeners: Sendable {
    let main: Listener<ServerLoop>
    /// Nil without an operations address.
    var operations: Listener<ServerLoop>?

    var addresses: ServerAddresses {
        ServerAddresses(
            main: main.boundAddress.urlText, operations: operations?.boundAddress.urlText)
    }
}

/// The addresses of a running server: `http://127.0.0.1:8080`, with the actual port, or
/// `unix:/path`.
struct ServerAddresses: Sendable {
    let main: String
    /// Nil without an operations address.
    let operations: String?
}

extension ListenAddress {
    fileprivate var urlText: String {
        switch self {
        case .tcp(let host, let port):
            "http://\(host.contains(":") ? "[\(host)]" : host):\(port)"
        case .unix(let path, _): "unix:\(path)"
        }
    }
}
