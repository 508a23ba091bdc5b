internal import Wire

/// The host names by which clients may address a server without authentication.
///
/// Why: a web page can let its own host name point to this machine (DNS rebinding). To the browser,
/// the server then has the page's origin, so its scripts may read every response. The browser sends
/// the page's name in `Host`, which is never an IP address then.
struct AllowedHosts: Sendable {
    private let names: [[UInt8]]
    private let permitsAll: Bool

    /// - Parameter names: In lower case; `*` for every name.
    init(_ names: [String]) {
        self.names = (["localhost"] + names).map { Array($0.utf8) }
        permitsAll = names.contains("*")
    }

    /// Whether it is for an IP address, for one of the names, or for no host: browsers name one.
    func permits(_ head: borrowing RequestHead) -> Bool {
        guard !permitsAll, var host = head.host, !host.isEmpty, !head.isAddress(host) else {
            return true
        }
        // A final dot does not change the name.
        if head.bytes[host.upperBound - 1] == UInt8(ascii: ".") { host.removeLast() }
        return names.contains { head.matches(host, ignoringCase: $0) }
    }

    static func problem(_ head: RequestHead) -> Problem {
        let name = head.host.map(head.text) ?? ""
        return Problem(
            421, "unknown_host",
            "this server does not have the host name \(name); --allow-host gives it more names")
    }
}
