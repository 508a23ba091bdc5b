internal import Clustering
internal import Sockets

struct Listeners: Sendable {
    let main: Listener<ServerLoop>
    var operations: Listener<ServerLoop>?
    /// Nil if the server is no node of a cluster.
    var links: Listener<LinkHandshakes>?

    /// Sets the kernel's time-out for connections that are accepted from now on: the kernel closes
    /// a connection whose peer acknowledges nothing for this long.
    func giveUp(after time: Duration) async {
        await main.giveUp(after: time)
        await operations?.giveUp(after: time)
        await links?.giveUp(after: time)
    }

    func addresses(_ console: ConsoleAccess) -> ServerAddresses {
        let address = main.boundAddress
        var page: String?
        switch (console, address) {
        case (.nobody, _): break
        case (_, .tcp): page = "\(address.urlText)/console"
        case (_, .unix): page = "/console"
        }
        return ServerAddresses(
            main: address.urlText, console: page, operations: operations?.boundAddress.urlText,
            links: links.map { "\($0.boundAddress)" })
    }
}

/// The addresses of a running server: `http://127.0.0.1:8080`, or `unix:/path`.
struct ServerAddresses: Sendable {
    let main: String
    /// The console's address, or its path on a Unix socket; nil if nobody gets it.
    let console: String?
    let operations: String?
    /// Without a scheme; nil if the server is no node of a cluster.
    let links: String?
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
