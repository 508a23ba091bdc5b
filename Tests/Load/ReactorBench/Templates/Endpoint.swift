/// The address of a server: the part of a URL that a run needs.
struct Endpoint: Equatable {
    var host: String
    var port: UInt16
    /// The prefix of every path, without its last slash; mostly empty.
    var prefix: String

    /// Reads `http://host[:port][/prefix]`; nil for anything else, https included.
    init?(_ url: String) {
        guard url.hasPrefix("http://") else { return nil }
        let rest = url.dropFirst(7)
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        var prefix = String(rest[slash...])
        while prefix.hasSuffix("/") { prefix.removeLast() }
        self.prefix = prefix
        let authority = rest[..<slash]
        let hostText: Substring
        var portText: Substring?
        if authority.hasPrefix("["), let close = authority.firstIndex(of: "]") {
            hostText = authority[authority.index(after: authority.startIndex)..<close]
            let tail = authority[authority.index(after: close)...]
            guard tail.isEmpty || tail.hasPrefix(":") else { return nil }
            portText = tail.isEmpty ? nil : tail.dropFirst()
        } else if let colon = authority.lastIndex(of: ":") {
            hostText = authority[..<colon]
            portText = authority[authority.index(after: colon)...]
        } else {
            hostText = authority
        }
        guard !hostText.isEmpty, let port = portText.map({ UInt16($0) }) ?? 80, port > 0 else {
            return nil
        }
        host = String(hostText)
        self.port = port
    }

    /// The value of the `Host` field.
    var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
